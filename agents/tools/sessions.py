"""The tools for past conversations: session_search finds what was said, session_get reads around it; both give JSON."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from agents.base import Tool
from agents.errors import ToolFailed
from agents.past import FINDS, Excerpt, Find, Finds, Line
from agents.session_excerpt import narrowed, shortened
from agents.tools.base import SessionsDoor, ToolContext, as_json, count, text, tool
from agents.tools.pages import RESULT_CHARACTERS
from memory.base import MAX_RESULTS

NOTHING = "Nothing in past conversations has these words; try others."
NO_SESSION = "There is no such conversation; session_search gives the ids of those that there are."
NO_ENTRY = "That conversation has no such message; session_search gives the ids of those that there are."
NO_SESSIONS = "There are no past conversations to search here."

_NEIGHBOURS = 50
_ASKED_CHARACTERS = 20_000
_OTHER_CHARACTERS = 4_000
_FRAME_CHARACTERS = 500  # kept free in a result for what is around the messages
_WHO = {"assistant": "you", "user": "user", None: "tool"}
_YEARS = range(1970, 9_000)  # beyond them calendars and zones come to their ends


async def _search(context: ToolContext, given: Mapping[str, Any]) -> str:
    sessions = _sessions(context)
    if not given["query"].strip():
        raise ToolFailed("There is nothing to search for; give words that were said.")
    since, until = _day(given, "from"), _day(given, "to")
    if since is not None and until is not None and until < since:
        raise ToolFailed("`to` is before `from`; no day is in between.")
    sessions.touch(context.session)
    limit = min(given.get("maxResults", FINDS), MAX_RESULTS)
    found = await sessions.search(
        given["query"], context.audience, limit=limit, since=since, until=until, running=context.session
    )
    return _within_a_result(found, context.audience.shelf)


def _sessions(context: ToolContext) -> SessionsDoor:
    if context.sessions is None:
        raise ToolFailed(NO_SESSIONS)
    return context.sessions


def _day(given: Mapping[str, Any], name: str) -> date | None:
    if name not in given:
        return None
    try:
        day = date.fromisoformat(given[name].strip())
    except ValueError:
        day = date.min
    if day.year not in _YEARS:
        raise ToolFailed(f"session_search needs {name!r} as a date like 2026-01-26.")
    return day


def _within_a_result(found: Finds, shelf: str) -> str:
    """Return finds as JSON, without the last ones where all of them are too long for one result."""
    finds = [_find(find, shelf) for find in found.finds]
    shown = len(finds)
    while len(told := as_json(_told(finds[:shown], found.problem, len(finds) - shown))) > RESULT_CHARACTERS and shown:
        shown -= 1
    return told


def _told(finds: Sequence[Mapping[str, Any]], problem: str | None, left_out: int) -> dict[str, Any]:
    notes = [] if finds or left_out else [NOTHING]
    notes += [problem] if problem else []
    notes += [f"{left_out} more did not fit here; ask more precisely."] if left_out else []
    return {"results": finds, "note": " ".join(notes)} if notes else {"results": finds}


def _find(find: Find, shelf: str) -> dict[str, Any]:
    told = {"session": find.session, "entry": find.entry, "time": _time(find.time)}
    return told | _speaker(find.role, find.name) | _place(find.shelf, shelf) | {"snippet": find.snippet}


def _speaker(role: str | None, name: str | None) -> dict[str, Any]:
    return {"who": _WHO[role]} | ({"name": name} if name else {})


def _place(shelf: str, own: str) -> dict[str, Any]:
    """Return the shelf of a conversation if it is another one than that of whoever asks."""
    return {} if shelf == own else {"shelf": shelf}


def _time(time: datetime) -> str:
    offset = time.strftime("%z")
    return f"{time:%a %Y-%m-%d %H:%M} {offset[:3]}:{offset[3:5]}"


async def _get(context: ToolContext, given: Mapping[str, Any]) -> str:
    session = given["session"]
    around = {name: min(given.get(name, 5), _NEIGHBOURS) for name in ("before", "after")}
    found = await _sessions(context).get(session, context.audience, entry=given.get("entry"), **around)
    if found is None:
        raise ToolFailed(NO_SESSION)
    if not found.lines:
        raise ToolFailed(NO_ENTRY)
    return _excerpt(session, found, context.audience.shelf)


def _excerpt(session: str, found: Excerpt, own: str) -> str:
    """Return an excerpt as JSON: as many messages around the one that was asked for as one result holds."""
    messages = [_message(line, asked=n == found.at) for n, line in enumerate(found.lines)]
    room = RESULT_CHARACTERS - _FRAME_CHARACTERS
    fits = [False] * len(messages)
    for n in sorted(range(len(messages)), key=lambda n: (abs(n - found.at), n)):
        room -= len(as_json(messages[n])) + 2
        if room < 0:
            break
        fits[n] = True
    found = narrowed(found, fits)
    shown = [message for message, fit in zip(messages, fits, strict=True) if fit]
    note = [f"Earlier ones: entry {found.earlier}."] if found.earlier is not None else []
    note += [f"Later ones: entry {found.later}."] if found.later is not None else []
    told = {"session": session} | _place(found.shelf, own) | {"messages": shown}
    return as_json(told | ({"note": " ".join(note)} if note else {}))


def _message(line: Line, *, asked: bool) -> dict[str, Any]:
    most = _ASKED_CHARACTERS if asked else _OTHER_CHARACTERS
    told = {"entry": line.entry, "time": _time(line.time)} | _speaker(line.role, line.name)
    while len(as_json(message := told | {"text": shortened(line.text, most)})) > 2 * _ASKED_CHARACTERS:
        most //= 2  # in JSON some characters take six
    return message


SESSION_TOOLS: dict[str, Tool] = {
    "session_search": tool(
        "session_search",
        "Search past conversations, and older parts of this one, for words that were said. Do it when memory_search "
        "does not have it.",
        {"query": text(), "maxResults": count(), "from": text("First day, YYYY-MM-DD"), "to": text("Last day")},
        _search,
        required=["query"],
    ),
    "session_get": tool(
        "session_get",
        "Read the messages around one that session_search found.",
        {"session": text(), "entry": text(), "before": count("How many, 5 by default"), "after": count()},
        _get,
        required=["session"],
    ),
}
