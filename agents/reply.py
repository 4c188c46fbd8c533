"""What a turn says in the end: the texts of its answers, without the silent ones, and what has to be added. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.base import text_of
from agents.entries import MessageRecord
from agents.errors import EmptyAnswer
from agents.silent import is_silent

CUT_SHORT = "_(The answer was cut at its length limit.)_"
DECLINED = "The model declined to answer this."


@dataclass(frozen=True, slots=True)
class Said:
    """The text of one message of the model, without blanks around it, and why the model stopped there."""

    text: str
    stop_reason: str


def said_in(records: Iterable[MessageRecord]) -> list[list[Said]]:
    """Return what the model said in the records of one turn: a list for each question, in order.

    A question is what people wrote; the results of tools, and what was handed over together with them, begin no new one.
    """
    said: list[list[Said]] = [[]]
    for record in records:
        if record.role == "assistant":
            said[-1].append(Said(text_of(record.content).strip(), record.stop_reason or ""))
        elif said[-1] and not any(block.get("type") == "tool_result" for block in record.content):
            said.append([])
    return said


def reply_of(said: Sequence[Sequence[Said]]) -> str:
    """Return the reply in Markdown, empty when the model wants to be silent; `EmptyAnswer` when it said nothing at all."""
    spoken = [text for answer in said for text in _spoken(answer)]
    if not spoken and not (said and said[-1] and is_silent(said[-1][-1].text)):
        raise EmptyAnswer
    return "\n\n".join(spoken)


def words_of(said: Sequence[Sequence[Said]]) -> list[str]:
    """Return every text that is one, for a turn that was broken off."""
    return [one.text for answer in said for one in answer if one.text and not is_silent(one.text)]


def _spoken(answer: Sequence[Said]) -> list[str]:
    """Return what was said to one question; nothing when the last word is the silent one."""
    if not answer or is_silent(answer[-1].text):
        return []
    spoken = words_of([answer])
    last = answer[-1]
    if last.stop_reason == "max_tokens":
        spoken.append(CUT_SHORT)
    if last.stop_reason == "refusal" and not last.text:
        spoken.append(DECLINED)
    return spoken
