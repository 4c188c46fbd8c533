"""Forgetting: what speaks of something is found everywhere, shown, and taken out of files, history and stored messages."""

import json
import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agents.forgetting import Said, said_about, strings_in
from agents.session_files import stamps, stored
from gateway.agent import Agent
from gateway.router import Route
from gateway.sessions import Sessions, Threads
from gateway.store.traces import Trace, Traces
from memory.errors import DatabaseError, FileProblem, PathRefused
from memory.files import ShelfFiles
from memory.mentions import Mentions
from memory.roots import takes_folder
from memory.shelves import Audience, shelf_of
from memory.sqlite import compact

log = logging.getLogger(__name__)

_OTHER_BYTES = 1_000_000  # of a file that is no note: larger ones are data, which nobody says things in


@dataclass(frozen=True, slots=True)
class InFile:
    """Lines of one file that are to go, as they stand there; `path` is workspace-relative."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InSession:
    """What is to be taken out of one past or present conversation."""

    session: str
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that speaks of `words`, as far as an audience may see it.

    `reminders` are their texts, `traces` counts messages that the store still has. `not_ours` are files that we never
    change, `names` those whose own name has the words.
    """

    words: str
    audience: Audience
    session: str | None
    files: tuple[InFile, ...] = ()
    sessions: tuple[InSession, ...] = ()
    reminders: tuple[str, ...] = ()
    traces: int = 0
    not_ours: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True when there is nothing that could be taken out."""
        return not (self.files or self.sessions or self.reminders or self.traces)


@dataclass(frozen=True, slots=True)
class Done:
    """What was taken out: lines of files, messages of conversations, reminders, texts of stored messages.

    `failed` names files that could not be changed, `unseen` those with lines of it that the plan has not; `left` says in
    our own words where copies remain.
    """

    lines: int
    messages: int
    reminders: int
    traces: int
    failed: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Forgetting:
    """Finds and removes. The owner's private chat reaches everything of an agent, any other its own shelf alone.

    `begun_again` cuts off the running turns that it is asked about, and lets them begin again when the block is done.
    """

    def __init__(
        self,
        *,
        state: Path,
        database: Path,
        sessions: Sessions,
        traces: Traces,
        threads: Threads,
        begun_again: Callable[[Callable[[Route], bool]], AbstractAsyncContextManager[bool]],
    ) -> None:
        self._state = state
        self._database = database
        self._sessions = sessions
        self._traces = traces
        self._threads = threads
        self._begun_again = begun_again

    async def plan(self, agent: Agent, audience: Audience, words: str, *, session: str) -> Plan:
        """Return what would go. `session` is the key of the conversation that asks: others than the owner have that only."""
        mentions = Mentions(words)
        whose = None if audience.is_owner else session
        files = await self._threads(_in_files, agent, audience, mentions)
        sessions = await self._threads(_in_sessions, self._folder(agent), audience, mentions)
        reminders, messages = await self._found_traces(agent, whose, mentions)
        return Plan(
            words,
            audience,
            whose,
            tuple(files.ours),
            tuple(sessions),
            tuple(reminder.text for reminder in reminders),
            len(messages),
            tuple(files.not_ours),
            tuple(files.names),
        )

    async def carry_out(self, plan: Plan, agent: Agent) -> Done:
        """Take out what the plan names, as far as it is still there; what fails is named, and the rest goes all the same.

        Of conversations goes what was said since the plan as well; of files only the lines that were shown. A turn that has
        read of it and is still running begins again without it.
        """
        now = await self._said_by_now(plan, agent)
        async with self._begun_again(lambda route: self._has_read(route, now, agent)) as cut:
            return await self._take_out(await self._said_by_now(now, agent) if cut else now, agent)

    async def _said_by_now(self, plan: Plan, agent: Agent) -> Plan:
        mentions = Mentions(plan.words)
        sessions = await self._threads(_in_sessions, self._folder(agent), plan.audience, mentions)
        return replace(plan, sessions=tuple(sessions))

    def _has_read(self, route: Route, plan: Plan, agent: Agent) -> bool:
        """Tell whether a conversation, or a file that it may see, speaks of what goes."""
        if route.agent != agent.id or plan.session not in (None, route.session):
            return False
        row = self._sessions.known(route.session)
        sees = any(route.audience.is_owner or shelf_of(found.path) == route.audience.shelf for found in plan.files)
        return sees or row is None or any(found.session == row.id for found in plan.sessions)

    async def _take_out(self, plan: Plan, agent: Agent) -> Done:
        lines, failed = 0, []
        for found in plan.files:
            files = ShelfFiles(agent.workspace, Audience(shelf_of(found.path)))
            try:
                lines += await self._threads(files.remove_lines, found.path, found.lines)
            except (FileProblem, PathRefused, OSError) as problem:
                log.warning("a file could not be changed: %s", problem, extra={"action": "not_forgotten"})
                failed.append(found.path)
            if agent.memory is not None:
                agent.memory.touch(found.path)
        files_now = await self._threads(_in_files, agent, plan.audience, Mentions(plan.words))
        unseen = tuple(found.path for found in files_now.ours if found.path not in failed)
        messages = 0
        for session in plan.sessions:
            redactions = [redaction for said in session.said for redaction in said.redactions]
            async with self._sessions.by_id(session.session, session.session, agent.id) as opened:
                for redaction in redactions:
                    await opened.append(redaction)
            messages += len(session.said)
        reminders, traces = await self._found_traces(agent, plan.session, Mentions(plan.words))
        await self._traces.blank([*reminders, *traces])
        left = self._left(plan, agent, messages)
        try:
            await self._erase(agent)
        except DatabaseError as problem:
            log.warning("a database was not cleaned: %s", problem, extra={"action": "not_forgotten"})
            left = ("a database that could not be written just now; ask me once more in a while", *left)
        return Done(lines, messages, len(reminders), len(traces), tuple(failed), unseen, left)

    async def _erase(self, agent: Agent) -> None:
        """Leave nothing in the indexes and in the store's file of what is gone. Raises `DatabaseError`."""
        for index in (agent.memory, agent.sessions):
            if index is not None:
                await index.purge()
        await compact(self._database, always=True)

    def _left(self, plan: Plan, agent: Agent, messages: int) -> tuple[str, ...]:
        """Say where copies remain that are not ours to remove; of the machine's folders to the owner alone."""
        left = [f"`{path}` has them in its name; give it another one" for path in plan.names]
        if plan.audience.is_owner:
            folder = self._state / "agents" / agent.id
            if messages:
                left.append(
                    f"the transcripts in `state/agents/{agent.id}/sessions` keep the words, marked as removed; "
                    "delete a file to be rid of it"
                )
            put_aside = [*folder.glob("*.damaged-*"), *folder.glob("sessions/*.torn-*")]
            if any(not path.name.endswith(("-wal", "-shm")) for path in put_aside):
                names = "`*.damaged-*` and `*.torn-*`"
                left.append(
                    f"what was damaged and put aside, {names} in `state/agents/{agent.id}`, may have them; delete it"
                )
            if (self._state / "chat-history").exists():
                left.append("`state/chat-history` has what you typed in the terminal")
            if (agent.workspace / ".git").exists():
                left.append("the workspace is under git, whose history still has them")
            left.append("backups that you made, and what the model's provider keeps")
        elif messages:
            left.append("the records of our conversations, marked as removed; only my owner can open them")
        return (*left, "the chat itself, on its platform: delete the messages there")

    async def _found_traces(
        self, agent: Agent, session: str | None, mentions: Mentions
    ) -> tuple[list[Trace], list[Trace]]:
        """Return the reminders and the stored messages that speak of it."""
        traces = await self._traces.of(agent.id, session)
        found = await self._threads(lambda: [trace for trace in traces if mentions(_text_of(trace))])
        reminders = [trace for trace in found if trace.table == "reminder"]
        return reminders, [trace for trace in found if trace.table != "reminder"]

    def _folder(self, agent: Agent) -> Path:
        return self._state / "agents" / agent.id / "sessions"


@dataclass(frozen=True, slots=True)
class _Files:
    """Where the words are on disk: in lines that are ours to remove, in files that are not, in names of files."""

    ours: list[InFile]
    not_ours: list[str]
    names: list[str]


def _in_files(agent: Agent, audience: Audience, mentions: Mentions) -> _Files:
    """Look through the notes that an audience may see, and through its other files."""
    found = _Files([], [], [])
    notes = agent.tree.scan().files
    for path, file in notes.items():
        if audience.is_owner or file.shelf == audience.shelf:
            with suppress(FileProblem, PathRefused, OSError):  # gone or unreadable: there is nothing to show of it
                text = agent.tree.read(path)[0].decode("utf-8", "replace")
                lines = tuple(dict.fromkeys(mention.text for mention in mentions(text)))
                if lines and path.startswith("/"):
                    found.not_ours.append(path)
                elif lines:
                    found.ours.append(InFile(path, lines))
                if mentions(path):
                    found.names.append(path)
    others = _other_files(ShelfFiles(agent.workspace, audience), notes)
    found.not_ours.extend(path for path, text in others if mentions(text))
    return found


def _other_files(files: ShelfFiles, notes: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of what can be read besides notes: shared files, lists, tables, programs."""
    folders = [""]
    while folders:
        with suppress(FileProblem, PathRefused, OSError):
            for entry in files.list(folders.pop()):
                if entry.is_folder:
                    folders += [entry.path] if takes_folder(entry.path.rpartition("/")[2]) else []
                elif entry.path not in notes and entry.size_bytes <= _OTHER_BYTES:
                    with suppress(FileProblem, PathRefused, OSError):
                        yield entry.path, files.read(entry.path)


def _text_of(trace: Trace) -> str:
    """Return what a stored message says; the JSON of one that came in, or could not be read, as its strings."""
    if trace.table in ("inbox", "dead_letter"):
        with suppress(ValueError):
            return "\n".join(strings_in(json.loads(trace.text)))
    return trace.text


def _in_sessions(folder: Path, audience: Audience, mentions: Mentions) -> list[InSession]:
    found: list[InSession] = []
    for session in sorted(stamps(folder)):
        transcript = stored(folder, session)
        if transcript is not None and (audience.is_owner or transcript.shelf == audience.shelf):
            said = said_about(transcript.entries, mentions)
            if said:
                found.append(InSession(session, tuple(said)))
    return found
