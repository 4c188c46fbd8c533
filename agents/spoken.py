"""What a stored message says, and who said it: words told from the frames that Scrubjay put around them. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from agents.base import Block
from agents.entries import REDACTED, MessageRecord
from agents.overheard import GROUP, GROUP_LINE
from agents.silent import is_silent

OWNER = "owner"
AGENT = "agent"
SOMEBODY = "user"  # what was told without its circumstances

_OPENING = re.compile(r'\[\[data ([0-9a-f]{16}) ([^\s\]]+)((?: \w+="[^"\n]*")*)\]\]\n')
_FACT = re.compile(r' (\w+)="([^"\n]*)"')
_SENDER = re.compile(r'"(?P<name>[^"\n]*)" \(id (?P<id>.*), (?P<owner>not your owner|your owner)\)')
_END = re.compile(r"\n\[\[end [0-9a-f]{16}\]\](?=\n|\Z)")
_NAME = re.compile(r'"([^"\n]*)" \(.*\)', re.DOTALL)
_SIZE = re.compile(r" \(\d+ bytes(?:, shown below)?\)$")
_OF_ITS_OWN = frozenset({"memory", "heartbeat", "summary"})  # files and our own words, which nobody said here


@dataclass(frozen=True, slots=True)
class Spoken:
    """One thing that somebody said.

    `speaker` is `owner`, `agent`, `user` where nobody noted who it was, or a quoted name with the platform's id, which
    nobody can choose. `text` is in the speaker's own words, or in those of `forwarded_from`. `quote` is what it replies
    to, or the reminder that fell due; `files` came with it, by their paths. `overheard`: it was said in a group, and not
    to the agent.
    """

    speaker: str
    text: str = ""
    place: str = ""
    quote: str = ""
    forwarded_from: str = ""
    files: tuple[str, ...] = ()
    images: int = 0
    overheard: bool = False

    @property
    def is_agent(self) -> bool:
        """True for the agent's own words."""
        return self.speaker == AGENT

    @property
    def name(self) -> str | None:
        """The name under which a person wrote, None where nobody noted it."""
        named = _NAME.fullmatch(self.speaker)
        return named[1] if named else None


@dataclass(slots=True)
class _Hearing:
    """One thing that is being said, as its blocks are read."""

    speaker: str
    place: str = ""
    quote: str = ""
    forwarded_from: str = ""
    texts: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    images: int = 0

    def finished(self) -> Iterator[Spoken]:
        text = told_once(self.texts)
        if text or self.files or self.images or self.quote:
            files = tuple(self.files)
            yield Spoken(self.speaker, text, self.place, self.quote, self.forwarded_from, files, self.images)


@dataclass(frozen=True, slots=True)
class _Framed:
    label: str
    facts: dict[str, str]
    body: str


def spoken(record: MessageRecord) -> tuple[Spoken, ...]:
    """Return what a message says, in order: several things where messages were handed over together, () for nothing.

    Memory that stands in it, results of tools and silent answers are not said. A frame counts as one of ours only when
    its mark is that of what it holds, or when a part of it was taken out since.
    """
    if record.role == "assistant":
        text = "".join(_text(block) for block in record.content).strip()
        return () if not text or is_silent(text) else (Spoken(AGENT, text),)
    said: list[Spoken] = []
    hearing = _Hearing(SOMEBODY)
    for block in record.content:
        if block.get("type") == "image":
            hearing.images += 1
        for part in _parts(_text(block)):
            if isinstance(part, _Framed) and part.label == "context":
                said += hearing.finished()
                hearing = _circumstances(part.body)
            elif isinstance(part, _Framed) and part.label == GROUP:
                said += (*hearing.finished(), *_overheard(part.body))
                hearing = _Hearing(SOMEBODY)
            else:
                _hear(hearing, part)
    return (*said, *hearing.finished())


def told_once(texts: Sequence[str]) -> str:
    """Return texts as one; of those that were taken out, no more is told than that something was, if nothing else is left."""
    return "\n\n".join([text for text in texts if text.strip() != REDACTED] or texts[:1]).strip()


def _text(block: Block) -> str:
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _hear(hearing: _Hearing, part: _Framed | str) -> None:
    """Add one part of a text to what is being said."""
    if isinstance(part, str):
        hearing.texts.append(part)
    elif part.label == "forwarded":
        hearing.forwarded_from = part.facts.get("written_by", "somebody")
        hearing.texts.append(part.body)
    elif part.label in ("quote", "quote-of-you"):
        who = AGENT if part.label == "quote-of-you" else f'"{part.facts.get("sender", "")}"'
        hearing.quote = f"{who}: {part.body}"
    elif part.label == "reminder":
        hearing.quote = f"reminder: {part.body}"
    elif part.label not in _OF_ITS_OWN:
        hearing.texts.append(part.body)


def _parts(text: str) -> Iterator[_Framed | str]:
    """Yield the frames that a text begins with, then what is left of it."""
    while True:
        if found := _framed(text):
            framed, end = found
            yield framed
        elif not (end := _end_of_remains(text)):
            break
        text = text[end:].lstrip("\n")
    if text.strip():
        yield text


def _framed(text: str) -> tuple[_Framed, int] | None:
    """Return the frame at the beginning of a text, and where it ends; None if there is none, or one that is no frame."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    mark, label, facts = opening.groups()
    closing = f"\n[[end {mark}]]"
    end = text.find(closing, opening.end() - 1)
    if end < 0:  # where the end itself was taken out, there is nothing behind it
        end = len(text) if REDACTED in text else -1
    body = text[opening.end() : end]
    if end < 0 or not (_is_marked(mark, f"{label}{facts}\n{body}") or REDACTED in f"{facts}{body}"):
        return None
    return _Framed(label, dict(_FACT.findall(facts)), body), end + len(closing)


def _is_marked(mark: str, content: str) -> bool:
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[: len(mark)] == mark


def _end_of_remains(text: str) -> int:
    """Return where a frame ends whose beginning was taken out; 0 if the text does not begin with one."""
    end = _END.search(text) if REDACTED in text else None
    return end.end() if end is not None and REDACTED in text[: end.start()] else 0


def _overheard(body: str) -> Iterator[Spoken]:
    """Read a frame that `agents.overheard.overheard_block` made: one message a line."""
    for line in body.split("\n"):
        if found := GROUP_LINE.fullmatch(line):
            whose = OWNER if found["owner"] == "your owner" else f"id {found['id']}"
            yield Spoken(f'"{found["name"]}" ({whose})', found["text"], overheard=True)


def _circumstances(body: str) -> _Hearing:
    """Read a frame that `agents.prompt.context_block` made: who wrote, where, and with which files."""
    lines = [line.partition(": ") for line in body.split("\n")]
    told = {name: value for name, _, value in lines}
    hearing = _Hearing(OWNER, place=told.get("Place", ""))
    if sender := _SENDER.fullmatch(told.get("From", "")):
        is_owner = sender["owner"] == "your owner"
        hearing.speaker = f'"{sender["name"]}" ({OWNER if is_owner else "id " + sender["id"]})'
    hearing.files = [_SIZE.sub("", value) for name, _, value in lines if name == "Attached"]
    return hearing
