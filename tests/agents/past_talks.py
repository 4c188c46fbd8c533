"""Past conversations for tests: real transcripts in a folder, and an index over them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from agents.base import Block, text_block
from agents.entries import Header, MessageRecord, Record, Redaction, Span
from agents.prompt import Moment, Scene, Speaker, user_content
from agents.session_index import SessionIndex
from agents.transcript import Transcript
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock

OWNERS = Audience(OWNER)
ANA = Audience("people/ana")
GROUP = Audience("groups/telegram--100500")


class Talk:
    """One conversation as the gateway writes it down; every message comes a minute after the one before."""

    def __init__(self, transcript: Transcript, clock: FakeClock, audience: Audience) -> None:
        self.transcript = transcript
        self.id = transcript.header.id
        self.path = transcript.path
        self._clock = clock
        self._scene = Scene("main", audience, clock.zone, "telegram, private")

    def write(self, record: Record) -> str:
        """Append an entry and return its id."""
        self._clock.advance(60)
        return self.transcript.append(record, now=self._clock.now()).id

    def user(self, *texts: str, turn: str | None = None, name: str = "Pat", forwarded: str | None = None) -> str:
        """Append a message of people, with the circumstances that the model is told."""
        moment = Moment(self._clock.now(), "memory/2026-01-26.md", Speaker(name, "7"), forwarded_from=forwarded)
        blocks = [block for text in texts for block in user_content(self._scene, moment, text)]
        return self.write(MessageRecord("user", tuple(blocks), sources=("s",), turn=turn))

    def agent(self, text: str, *blocks: Block, turn: str | None = None) -> str:
        """Append an answer."""
        content = (*([text_block(text)] if text else []), *blocks)
        return self.write(MessageRecord("assistant", content, turn=turn, stop_reason="end_turn"))

    def tool(self, output: str, turn: str | None = None) -> str:
        """Append a call and its result; return the entry of the result."""
        self.agent("", {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "argumental.md"}}, turn=turn)
        result = {"type": "tool_result", "tool_use_id": "c1", "content": [text_block(output)]}
        return self.write(MessageRecord("user", (result,), turn=turn))

    def redact(self, entry: str, span: Span | None = None) -> None:
        """Take a message, or a part of it, out."""
        self.write(Redaction(entry, span))


class Past:
    """A folder of conversations, and the index over them, which may be opened again and again."""

    def __init__(self, root: Path, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.folder = root / "sessions"
        self.database = root / "sessions.sqlite"
        self._talks: list[Talk] = []

    def talk(self, session: str = "s1", audience: Audience = OWNERS) -> Talk:
        """Begin a conversation."""
        header = Header(session, f"key of {session}", "main", self.clock.now(), shelf=audience.shelf)
        path = self.folder / f"{session}.jsonl"
        talk = Talk(Transcript.open(path, header=header), self.clock, audience)
        self._talks.append(talk)
        return talk

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SessionIndex]:
        """Open the index."""
        index = await SessionIndex.open(self.database, self.folder, self.clock)
        try:
            yield index
        finally:
            await index.close()

    def close(self) -> None:
        """Close all transcripts."""
        for talk in self._talks:
            talk.transcript.close()

    def days(self, days: float) -> None:
        """Let time pass."""
        self.clock.advance(timedelta(days=days).total_seconds())


async def snippets(index: SessionIndex, query: str, audience: Audience = OWNERS, *, limit: int = 6) -> list[str]:
    """What a search shows, best first."""
    return [find.snippet for find in (await index.search(query, audience, limit=limit)).finds]
