"""The silent reply: nothing of it is ever shown, and nothing else is ever held back for good."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.silent import is_silent, may_become_silent

SILENT = [
    "NO_REPLY",
    " no_reply\n",
    "NO_REPLY.",
    "`NO_REPLY`",
    "**NO_REPLY**",
    "_NO_REPLY_",
    "NO\\_REPLY",
    '"NO_REPLY"',
    "[NO_REPLY]",
    "<NO_REPLY>",
    "🤫 NO_REPLY",
    "NO_REPLY\n\nNO_REPLY",
    "NO_REPLYNO_REPLY",
    "```NO_REPLY```",
    "```\nNO_REPLY\n```",
    "```text\nNO_REPLY\n```",
    "<reply>NO_REPLY</reply>",
    '{"action":"NO_REPLY"}',
    '{ "action" : "no_reply" }',
    '{"action":"NO_REPLY","reason":"nothing \\"new\\" to say"}',
    '{"type":"text","text":"NO_REPLY"}',
    '[{"type":"text","text":"NO_REPLY"}]',
    '{"response":{"action":"NO_REPLY","status":200}}',
    '```json\n{"action": "NO_REPLY"}\n```',
]

SPOKEN = [
    "NO_REPLY means I stay silent.",
    "Use `NO_REPLY` for that.",
    "I have nothing to add.\n\nNO_REPLY",
    "NO_REPLY\nBut this matters.",
    "NO",
    "NOTHING",
    "No reply.",
    "NO_REPLYING",
    "NO_REPLY 2",
    "1. NO_REPLY",
    "",
    " \n",
    "...",
    '{"action":"send","text":"Explain NO_REPLY"}',
    '{"question":"what is it?","token":"NO_REPLY"}',
    "```python\nprint('NO_REPLY')\n```",
    "NO_REPLY" + "!" * 2_000,
]


@pytest.mark.parametrize("text", SILENT)
def test_the_token_alone_is_silent_however_it_is_wrapped(text: str) -> None:
    assert is_silent(text)


@pytest.mark.parametrize("text", SPOKEN)
def test_a_reply_with_words_of_its_own_is_delivered(text: str) -> None:
    assert not is_silent(text)


@pytest.mark.parametrize("text", SILENT)
def test_no_beginning_of_a_silent_reply_may_be_shown(text: str) -> None:
    assert all(may_become_silent(text[:length]) for length in range(len(text) + 1))


@pytest.mark.parametrize(
    ("text", "shown_from"),
    [("Hello", 1), ("Now", 3), ("No, thanks", 3), ("NO_REPLY means", 10), ('{"answer": 1}', 12), ("- item", 3)],
)
def test_a_reply_is_shown_from_its_first_word_that_cannot_be_silent(text: str, shown_from: int) -> None:
    held = [length for length in range(len(text) + 1) if may_become_silent(text[:length])]

    assert held == list(range(shown_from))


def test_a_long_envelope_is_not_held_back_for_ever() -> None:
    assert not may_become_silent('{"reason": "' + "because " * 200)


_decorations = st.text(st.sampled_from("*_~`.! \n\"'()[]<>#-🤫"), max_size=6)


@settings(deadline=None)
@given(before=_decorations, after=_decorations, token=st.sampled_from(["NO_REPLY", "no_reply", "No\\_Reply"]))
def test_any_decoration_is_silent_and_so_held_back_from_its_first_character(
    before: str, after: str, token: str
) -> None:
    text = before + token + after

    assert is_silent(text)
    assert all(may_become_silent(text[:length]) for length in range(len(text) + 1))


@settings(deadline=None)
@given(st.text(st.characters(categories=["L", "N"]), min_size=1), st.text())
def test_a_text_that_begins_with_another_word_is_never_silent(word: str, after: str) -> None:
    assert not is_silent(f"{word} NO_REPLY {after}")


@settings(deadline=None)
@given(st.text())
def test_a_token_followed_by_a_sentence_is_never_silent(after: str) -> None:
    assert not is_silent(f"NO_REPLY means {after}")
