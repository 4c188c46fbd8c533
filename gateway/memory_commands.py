"""The command /memory: what is remembered, found and forgotten, for the person whose memory it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex

from adapters.base import Choice
from agents.forgetting import Said
from gateway.agent import Agent
from gateway.commands import Answer, Call, Command, NotDone
from gateway.forgetting import Done, Forgetting, Plan
from gateway.sessions import Threads
from memory.analyser import content_words, terms
from memory.clock import Clock, day_note
from memory.errors import FileProblem, PathRefused
from memory.files import ShelfFiles

SHOWN_CHARACTERS = 1_500
FOUND = 5
QUOTED_LINES = 6
SHOWN_LINES = 12
ASKED_FOR = timedelta(minutes=10)

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)\s*", re.DOTALL)  # tells people how to use the file

_ANSWER = re.compile(r"(\S+?)[.!]*(?: #([0-9a-f]{8}))?")  # one that was pressed names what it answers
_YES = ("yes", "ja", "oui", "sí", "si", "да", "是", "はい", "예")
_NO = ("no", "nein", "non", "нет", "否", "いいえ", "아니요")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A plan that waits for its yes; `mark` stands for it in buttons, which must not hold what is to be forgotten."""

    plan: Plan
    until: datetime
    mark: str


class MemoryCommands:
    """`/memory`, `/memory search` and `/memory forget`; a plan to forget waits ten minutes for its yes."""

    def __init__(self, *, agents: Mapping[str, Agent], forgetting: Forgetting, threads: Threads, clock: Clock) -> None:
        self._agents = agents
        self._forgetting = forgetting
        self._threads = threads
        self._clock = clock
        self._asked: dict[tuple[str, str], _Asked] = {}

    @property
    def commands(self) -> dict[str, Command]:
        """The command, by its name."""
        usage = "[search WORDS | forget WORDS]"
        return {"memory": Command("memory", usage, "what I remember; find or forget something", "chat", self._run)}

    async def _run(self, call: Call) -> str | Answer:
        verb, _, words = call.arguments.partition(" ")
        words = words.strip()
        match verb.lower():
            case "":
                return await self._overview(call)
            case "search" if words:
                return await self._search(call, words)
            case "forget" if (answer := _ANSWER.fullmatch(words)) and (word := answer[1].casefold()) in (*_YES, *_NO):
                return await self._forget(call, is_yes=word in _YES, mark=answer[2])
            case "forget" if words:
                self._asked.pop(self._key(call), None)
                return self._ask(call, await self._plan(call, words))
        raise NotDone(
            "Write `/memory` to see what I keep, `/memory search WORDS` to find something in it, "
            "or `/memory forget WORDS` to take out every line that holds all of these words."
        )

    async def _overview(self, call: Call) -> str:
        agent, audience = self._agents[call.route.agent], call.route.audience
        files = ShelfFiles(agent.workspace, audience)
        today = audience.path(day_note(self._clock.now(), self._clock.zone))
        told = []
        for title, path in (("Long-term memory", audience.path("MEMORY.md")), ("Today", today)):
            text = await self._threads(_text_of, files, path)
            told.append(f"**{title}** (`{path}`)\n\n{_cut(text) if _says_something(text) else '_nothing yet_'}")
        return "\n\n".join(told)

    async def _search(self, call: Call, words: str) -> str:
        memory = self._agents[call.route.agent].memory
        if memory is None:
            raise NotDone("My memory cannot be searched: its index can neither be opened nor made; the log says why.")
        answer = await memory.search(words, call.route.audience, limit=FOUND)
        told = [
            f"`{result.path}`, {_line_range(result.start_line, result.end_line)}\n{_quoted(result.snippet, words)}"
            for result in answer.results
        ]
        if not told:
            told = ["Nothing in my memory matches."]
        elif answer.weak:
            told.insert(0, "Nothing is near that; these may have nothing to do with it.")
        if answer.degraded is not None:
            told.append(f"_{answer.degraded}_")
        return "\n\n".join(told)

    async def _plan(self, call: Call, words: str) -> Plan:
        """Return what would go; raises `NotDone` when that is nothing."""
        if call.route.audience.kind == "group":
            raise NotDone("Forgetting is for private chats; my owner can do it there for this group as well.")
        agent, audience = self._agents[call.route.agent], call.route.audience
        plan = await self._forgetting.plan(agent, audience, words, session=call.route.session)
        if plan.is_empty:
            also = [_not_ours(plan.not_ours)] if plan.not_ours else []
            also += [f"`{path}` has them in its name; give it another one." for path in plan.names]
            raise NotDone(" ".join(["I find no line that holds all of these words.", *also]))
        return plan

    def _ask(self, call: Call, plan: Plan) -> Answer:
        """Show a plan, and let it wait for its yes."""
        now = self._clock.now()
        self._asked = {key: asked for key, asked in self._asked.items() if asked.until > now}
        mark = token_hex(4)
        self._asked[self._key(call)] = _Asked(plan, now + ASKED_FOR, mark)
        choices = (
            Choice("Yes, forget it", f"/memory forget yes #{mark}"),
            Choice("No, keep it", f"/memory forget no #{mark}"),
        )
        return Answer("\n".join(_shown(plan)), choices=choices)

    async def _forget(self, call: Call, *, is_yes: bool, mark: str | None) -> str:
        asked = self._asked.get(self._key(call))
        if asked is not None and mark in (None, asked.mark):
            del self._asked[self._key(call)]
        else:
            asked = None
        if not is_yes:
            return "I keep it: nothing was taken out."
        if asked is None:
            raise NotDone("Nothing waits for your yes. Write `/memory forget` and the words first.")
        if asked.until <= self._clock.now():
            raise NotDone("You asked for that too long ago. Write `/memory forget` with the words again.")
        done = await self._forgetting.carry_out(asked.plan, self._agents[call.route.agent])
        return "\n".join(_told(asked.plan, done))

    @staticmethod
    def _key(call: Call) -> tuple[str, str]:
        """Name who asks, and where: nobody else may say yes."""
        return call.route.session, f"{call.message.chat.platform}:{call.message.sender.id}"


def _says_something(text: str) -> bool:
    """Tell whether a note has more than headings."""
    return any(line.strip() and not line.startswith("#") for line in text.split("\n"))


def _text_of(files: ShelfFiles, path: str) -> str:
    try:
        return _COMMENT.sub("", files.read(path))
    except (FileProblem, PathRefused):
        return ""


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS].rstrip()} …"


def _line_range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _quoted(text: str, words: str) -> str:
    """Return the lines of a find that have one of the words, or its first ones where none has."""
    asked = set(content_words(words))
    lines = [line for line in text.split("\n") if line.strip()]
    telling = [line for line in lines if asked.intersection(terms(line))] or lines
    more = ["> …"] if len(telling) > QUOTED_LINES else []
    return "\n".join([*(f"> {line}" for line in telling[:QUOTED_LINES]), *more])


def _shown(plan: Plan) -> list[str]:
    """Say what would go, and how to agree."""
    lines = [f"These lines hold all of these words ({plan.words}):", ""]
    samples = list(dict.fromkeys(_samples(plan)))
    lines += [f"- {where}: {line}" for where, line in samples[:SHOWN_LINES]]
    if len(samples) > SHOWN_LINES:
        lines.append(f"- and {len(samples) - SHOWN_LINES} more")
    tools = sum(_is_of_tools(said) for session in plan.sessions for said in session.said)
    if tools:
        lines.append(f"- {_count(tools, 'result')} of my tools in our conversations")
    if plan.traces:
        lines.append(f"- {_count(plan.traces, 'message')} that I still keep as sent or received")
    if plan.not_ours:
        lines += ["", _not_ours(plan.not_ours)]
    return [*lines, "", "Write `/memory forget yes` within ten minutes, and I take them out for good."]


def _told(plan: Plan, done: Done) -> list[str]:
    """Say what went, and what is left where."""
    went = [
        f"{_count(done.lines, 'line')} of files",
        f"what {_count(done.messages, 'message')} of our conversations said",
        f"the text of {_count(done.traces, 'stored message')}",
    ]
    if done.reminders:
        went.insert(2, _count(done.reminders, "reminder"))
    *first, last = went
    but = "But for the files named here" if plan.not_ours or done.failed or done.unseen else "From now on"
    told = f"Gone: {', '.join(first)}, and {last}. {but} I will not find or read it again."
    lines = [told, "", "What is left:", ""]
    lines += [f"- `{path}` could not be changed; look at its permissions" for path in done.failed]
    lines += [
        f"- `{path}` still has lines with these words; write `/memory forget` with the words again"
        for path in done.unseen
    ]
    if plan.not_ours:
        lines.append(f"- {_not_ours(plan.not_ours)}")
    lines += [f"- {where}" for where in done.left]
    return lines


def _not_ours(paths: Sequence[str]) -> str:
    named = ", ".join(f"`{path}`" for path in paths[:3])
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{named}{more} {'has' if len(paths) == 1 else 'have'} it too, and I never change such files; edit them yourself."


def _samples(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield where each line is and what it says, what is nearest to people first."""
    yield from ((f"`{found.path}`", _sample(line)) for found in plan.files for line in found.lines)
    yield from (("a reminder", _sample(text)) for text in plan.reminders)
    for session in plan.sessions:
        for said in session.said:
            if not _is_of_tools(said):
                yield f"our conversation of {said.time:%Y-%m-%d}", _sample(said.lines[0])


def _is_of_tools(said: Said) -> bool:
    """Tell whether a tool gave it, as JSON that nobody wants to read."""
    return said.lines[0].startswith("{")


def _sample(line: str) -> str:
    line = " ".join(line.split()).removeprefix("- ")
    return line if len(line) <= 120 else f"{line[:119]}…"


def _count(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
