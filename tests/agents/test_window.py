"""Fitting a conversation into the window: whole turns go, the newest stays."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from agents.base import Block, Message, text_block, text_of
from agents.entries import Entry, MessageRecord, Note
from agents.window import LEFT_OUT, Cut, cut, message_tokens, shorten


def words(text: str) -> int:
    return len(text.split())


def user(text: str) -> Message:
    return Message("user", (text_block(text),))


def assistant(text: str, *calls: Block) -> Message:
    return Message("assistant", (text_block(text), *calls))


def called(id: str) -> Block:
    return {"type": "tool_use", "id": id, "name": "read", "input": {"path": "notes.md"}}


def result(id: str, text: str) -> Message:
    return Message("user", ({"type": "tool_result", "tool_use_id": id, "content": [text_block(text)]},))


def entries(*messages: Message) -> list[Entry]:
    now = datetime(2026, 1, 26, tzinfo=UTC)
    records = [MessageRecord(message.role, message.content) for message in messages]
    return [Entry(str(number), None, now, record) for number, record in enumerate(records, start=1)]


def size(*messages: Message) -> int:
    return sum(message_tokens(message, words) for message in messages)


OLD = (user("old question"), assistant("old answer"))
TOOLS = (user("look it up"), assistant("", called("c1")), result("c1", "found it"), assistant("here it is"))
NEW = (user("new question"),)


def test_what_fits_is_left_as_it_is() -> None:
    messages = (*OLD, *TOOLS, *NEW)

    assert shorten(messages, budget_tokens=size(*messages), count=words) == messages
    assert cut(entries(*messages), budget_tokens=size(*messages), count=words) is None


def test_the_oldest_whole_turns_are_left_out_with_a_note() -> None:
    kept = shorten((*OLD, *TOOLS, *NEW), budget_tokens=size(*TOOLS, *NEW), count=words)

    assert [text_of(message.content) for message in kept] == [
        f"{LEFT_OUT}look it up",
        "",
        "",
        "here it is",
        "new question",
    ]


def test_a_tool_call_is_not_parted_from_its_result() -> None:
    for budget in range(size(*OLD, *TOOLS, *NEW)):
        kept = shorten((*OLD, *TOOLS, *NEW), budget_tokens=budget, count=words)
        blocks = [block for message in kept for block in message.content]
        assert [b["id"] for b in blocks if b["type"] == "tool_use"] == [
            b["tool_use_id"] for b in blocks if b["type"] == "tool_result"
        ]


def test_the_newest_turn_stays_even_if_it_is_too_large_and_its_long_results_are_cut() -> None:
    huge = (user("read it"), assistant("", called("c1")), result("c1", "a " * 5_000))

    kept = shorten((*OLD, *huge), budget_tokens=100, count=words)

    text = str(kept[-1].content[0]["content"][0]["text"])
    assert len(kept) == 3
    assert text.startswith("a a")
    assert text.endswith("a ")
    assert "characters left out" in text
    assert len(text) < 300


def test_an_image_counts_as_much_as_it_costs() -> None:
    image: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 100_000}}

    assert 1_000 < message_tokens(Message("user", (image,)), words) < 2_000


def test_the_cut_names_the_entry_at_which_the_conversation_begins_from_now_on() -> None:
    told = entries(*OLD, *TOOLS, *NEW)
    note = Entry("n", None, told[0].time, Note("The turn was stopped."))

    assert cut([*told[:2], note, *told[2:]], budget_tokens=size(*TOOLS, *NEW), count=words) == Cut(
        "3", size(*OLD, *TOOLS, *NEW), size(*TOOLS, *NEW)
    )


def test_nothing_is_cut_where_there_is_one_turn_only() -> None:
    assert cut(entries(*TOOLS), budget_tokens=1, count=words) is None
    assert cut([], budget_tokens=1, count=words) is None


@given(
    turns=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    budget=st.integers(1, 400),
)
def test_what_is_kept_is_the_longest_end_that_fits(turns: list[int], budget: int) -> None:
    messages = [message for n in turns for message in (user("w " * n), assistant("w " * n))]

    found = cut(entries(*messages), budget_tokens=budget, count=words)

    ends = [messages[start:] for start in range(0, len(messages), 2)]
    fitting = [end for end in ends if size(*end) <= budget] or [ends[-1]]
    if found is None:
        assert len(fitting[0]) == len(messages)
    else:
        assert found == Cut(str(len(messages) - len(fitting[0]) + 1), size(*messages), size(*fitting[0]))
