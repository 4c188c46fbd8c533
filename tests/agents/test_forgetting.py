"""Which parts of past conversations speak of something, and what is left once they are taken out."""

from datetime import UTC, datetime

import pytest

from agents.base import Block, text_block
from agents.entries import Compaction, Entry, MessageRecord, Record, Redaction, redacted
from agents.forgetting import said_about
from memory.mentions import Mentions

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


def entries(*records: Record) -> list[Entry]:
    return [Entry(str(n), str(n - 1) if n > 1 else None, NOON, record) for n, record in enumerate(records, 1)]


def user(*blocks: Block) -> MessageRecord:
    return MessageRecord("user", blocks)


def forgotten(history: list[Entry], words: str) -> list[Entry]:
    """The entries after everything about `words` was taken out, as they are read from then on."""
    found = [redaction for said in said_about(history, Mentions(words)) for redaction in said.redactions]
    return list(redacted([*history, *(Entry(f"r{n}", None, NOON, one) for n, one in enumerate(found))]))


def test_a_line_is_taken_out_and_the_others_stay() -> None:
    history = entries(user(text_block("I like tea.\nMy dentist is Dr. Moll.\nBye")))

    [said] = said_about(history, Mentions("dentist"))

    assert said.lines == ("My dentist is Dr. Moll.",)
    record = forgotten(history, "dentist")[0].record
    assert isinstance(record, MessageRecord)
    assert record.content[0]["text"] == "I like tea.\n[removed]\nBye"


def test_tool_calls_results_and_thinking_that_speak_of_it_go_as_a_whole() -> None:
    call = {"type": "tool_use", "id": "a", "name": "append", "input": {"text": "dentist on Monday"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [text_block("found: dentist")]}
    thought = {"type": "thinking", "thinking": "the dentist again", "signature": "s"}
    history = entries(MessageRecord("assistant", (thought, call)), user(result))

    after = [entry.record for entry in forgotten(history, "dentist")[:2]]

    assert "dentist" not in str(after)
    assert isinstance(after[0], MessageRecord)
    assert [block["type"] for block in after[0].content] == ["tool_use"]


def test_a_summary_of_what_came_before_is_looked_through_as_well() -> None:
    history = entries(Compaction("- tea\n- dentist Moll", None, 10, 5))

    record = forgotten(history, "moll")[0].record

    assert isinstance(record, Compaction)
    assert record.summary == "- tea\n[removed]"


def test_what_is_taken_out_already_is_not_found_again_and_later_lines_are_cut_where_they_stand() -> None:
    history = entries(user(text_block("The dentist, a long line about teeth\nThe plumber\nEnd")))
    [first] = said_about(history, Mentions("dentist"))
    history += [Entry("9", "1", NOON, redaction) for redaction in first.redactions]

    assert said_about(history, Mentions("dentist")) == []
    [second] = said_about(history, Mentions("plumber"))
    history += [Entry("10", "9", NOON, redaction) for redaction in second.redactions]

    record = redacted(history)[0].record
    assert isinstance(record, MessageRecord)
    assert record.content[0]["text"] == "[removed]\n[removed]\nEnd"


@pytest.mark.parametrize("kind", ["image", "document"])
def test_an_image_or_a_document_whose_name_has_the_words_is_taken_out(kind: str) -> None:
    shown: Block = {"type": kind, "source": {"type": "shelf", "path": "inbox/mara at the lake.jpg", "sha256": "0"}}
    history = entries(user(text_block("look"), shown))
    [found] = said_about(history, Mentions("mara"))

    assert found.lines == ("inbox/mara at the lake.jpg",)
    history += [Entry("9", "1", NOON, redaction) for redaction in found.redactions]
    record = redacted(history)[0].record
    assert isinstance(record, MessageRecord)
    assert record.content == (text_block("look"), text_block("[removed]"))


def test_a_message_without_the_words_is_left_alone() -> None:
    history = entries(user(text_block("tea"), {"type": "image", "source": {}}), Redaction("7"))

    assert said_about(history, Mentions("dentist")) == []
