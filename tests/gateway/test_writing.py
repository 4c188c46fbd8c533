"""What a chat may see of a reply that is being written, and when."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Streaming
from agents.base import Message, TextDelta, Usage, text_block
from agents.errors import EmptyAnswer
from agents.reply import Said, reply_of
from agents.tools import TOOLS
from agents.turn import AssistantSaid, Restarted, ToolStarted, TurnEvent, UserSaid
from gateway.writing import FIRST_TEXT_SECONDS, FIRST_TOOL_SECONDS, TOOL_LINES, Pace, Written

RESULT = UserSaid(Message("user", ({"type": "tool_result", "tool_use_id": "1", "content": []},)), ())
QUESTION = UserSaid(Message("user", (text_block("and this?"),)), ("telegram:2",))
GROWING = Streaming("growing", 3.0)
VANISHING = Streaming("vanishing", 1.0, lives_seconds=20.0)


def said(text: str, stop_reason: str = "end_turn") -> AssistantSaid:
    return AssistantSaid(Message("assistant", (text_block(text),)), Usage(), stop_reason)


def after(*events: TurnEvent) -> Written:
    written = Written()
    for event in events:
        written.take(event)
    return written


def test_text_is_shown_as_it_comes() -> None:
    assert after(TextDelta("It "), TextDelta("begins")).text == "It begins"


def test_what_was_said_around_tools_and_to_a_second_question_belongs_to_the_reply() -> None:
    events: list[TurnEvent] = [
        said("I look.", "tool_use"),
        ToolStarted("read"),
        RESULT,
        said("Found."),
        QUESTION,
        TextDelta("And th"),
    ]

    assert after(*events).text == "I look.\n\nFound.\n\nAnd th"


def test_an_answer_that_begins_anew_leaves_what_was_said_before_it() -> None:
    assert after(said("I look."), RESULT, TextDelta("Half an a"), Restarted()).text == "I look."
    assert after(TextDelta("Half an a"), Restarted()).text == ""


@pytest.mark.parametrize("text", ["N", "NO_", "NO_REPLY", "**NO_REPLY", "```\nNO_", '{"reply": "NO_RE'])
def test_what_may_still_turn_out_silent_is_not_shown(text: str) -> None:
    assert after(TextDelta(text)).text == ""


def test_an_answer_whose_last_word_is_silence_shows_nothing_and_others_stay() -> None:
    assert after(said("I look.", "tool_use"), RESULT, said("NO_REPLY")).text == ""
    assert after(said("Found."), QUESTION, said("I look.", "tool_use"), RESULT, said("NO_REPLY")).text == "Found."


def test_what_a_turn_had_said_before_a_restart_stays_in_view() -> None:
    written = Written()
    written.begin([[Said("I look.", "tool_use")]])
    written.take(TextDelta("Found"))

    assert written.text == "I look.\n\nFound"


def test_the_tool_that_works_is_named_below_the_text_until_its_result_is_there() -> None:
    working = after(said("I look.", "tool_use"), ToolStarted("memory_search"))

    assert (working.shown, working.doing) == ("I look.\n\n_searching memory …_", "_searching memory …_")
    working.take(RESULT)
    assert (working.shown, working.doing) == ("I look.", None)
    assert after(ToolStarted("unheard_of")).shown == "_unheard_of …_"


def test_every_tool_has_words_for_people() -> None:
    assert TOOL_LINES.keys() == TOOLS.keys()


texts = st.sampled_from(["Yes.", "NO_REPLY", "", "no reply", "A word", "```\nNO_REPLY\n```"])
steps = st.one_of(texts.map(said), st.just(RESULT), st.just(QUESTION))


@given(st.lists(steps, max_size=8), texts)
@settings(max_examples=150)
def test_when_all_is_said_what_was_shown_is_the_reply(events: list[TurnEvent], last: str) -> None:
    written = after(*events, said(last))

    try:
        reply = reply_of(written._said)
    except EmptyAnswer:
        reply = ""
    assert written.text == reply


# ── when ──


def pace(streaming: Streaming = GROWING, **state: float | str) -> Pace:
    return Pace(streaming, **state)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "wanted", "due_at"),
    [
        (pace(), "…", None),
        (pace(text_since=10.0), "text", 10.0 + FIRST_TEXT_SECONDS),
        (pace(tool_since=10.0), "_reading a file …_", 10.0 + FIRST_TOOL_SECONDS),
        (pace(tool_since=10.0, text_since=11.0), "text", 11.0 + FIRST_TEXT_SECONDS),
        (pace(text_since=10.0, shown="text", shown_at=11.0), "text", None),
        (pace(text_since=10.0, shown="text", shown_at=11.0), "text that goes on", 14.0),
        (pace(text_since=10.0, shown="text", shown_at=11.0, slower=4.0), "text that goes on", 23.0),
        (pace(VANISHING, text_since=10.0, shown="text", shown_at=11.0), "text", 31.0),
        (pace(VANISHING, text_since=10.0, shown="text", shown_at=11.0), "text that goes on", 12.0),
        (pace(shown="text", shown_at=11.0), "…", 14.0),
    ],
)
def test_a_draft_is_due_after_a_second_of_text_or_some_of_work_and_then_at_the_pace(
    state: Pace, wanted: str, due_at: float | None
) -> None:
    assert state.due_at(wanted) == due_at


def test_text_counts_from_when_it_could_be_shown_and_anew_after_a_restart_of_the_answer() -> None:
    state, written = pace(), Written()
    events: list[TurnEvent] = [TextDelta("NO"), TextDelta("thing"), Restarted(), TextDelta("Some")]
    for now, event in enumerate(events):
        written.take(event)
        state.note(event, written, float(now))
        assert state.text_since == [None, 1.0, None, 3.0][now]


def test_work_counts_from_its_first_tool_until_the_model_writes_again() -> None:
    state, written = pace(), Written()
    events: list[TurnEvent] = [ToolStarted("read"), ToolStarted("list"), RESULT]
    for now, event in enumerate(events):
        written.take(event)
        state.note(event, written, float(now))
        assert state.tool_since == [0.0, 0.0, None][now]


def test_each_refusal_for_being_too_quick_makes_the_rest_slower_up_to_a_limit() -> None:
    state = pace()
    found = []
    for _ in range(4):
        state.slow_down()
        found.append(state.seconds)

    assert found == [6.0, 12.0, 24.0, 24.0]
