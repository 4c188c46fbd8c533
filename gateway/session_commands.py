"""The commands of a session's life: /new, /reset and /compact."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from adapters.base import Inbound
from gateway.commands import Call, Command, NotDone
from gateway.contexts import Compacted
from gateway.lanes import Lanes, Stoppable
from gateway.router import Route

log = logging.getLogger(__name__)

_OPENING = re.compile(r"/(?:new|reset)(?:\s+|\Z)", re.IGNORECASE)


Compact = Callable[[Route, str], Awaitable[Compacted | None]]


def session_commands(lanes: Lanes, compact: Compact) -> dict[str, Command]:
    """Return the commands, by name.

    A new session is confirmed at once and begins when its lane comes to it; so does a compaction, which reports when it is
    done.
    """

    async def begin(call: Call) -> str:
        busy = lanes.running(call.route.session)
        later = " The answer that I am still working on belongs to the one before." if busy else ""
        return f"A new conversation begins.{later}"

    async def sum_up(call: Call) -> str:
        return await _in_lane(lanes, call, compact)

    commands = (
        Command("new", "[message]", "begin a new conversation, perhaps with this message", "chat", begin, opens="new"),
        Command("reset", "[message]", "the same as /new", "chat", begin, opens="reset"),
        Command("compact", "[what to keep]", "sum up the older part of this conversation", "chat", sum_up),
    )
    return {command.name: command for command in commands}


async def _in_lane(lanes: Lanes, call: Call, compact: Compact) -> str:
    """Sum up a session in its lane, so that no turn runs meanwhile; messages wait behind it, and `/stop` ends it."""
    done: asyncio.Future[Compacted | None] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        try:
            found = await compact(call.route, call.arguments)
        except OSError as problem:
            log.exception("a conversation was not summed up", extra={"action": "not_compacted"})
            tell(done.set_exception, NotDone(f"I could not write it down: {problem.strerror or problem}."))
        except Exception as fault:  # whoever asked is told; what a lane does between two turns must not end the gateway
            tell(done.set_exception, fault)
        else:
            tell(done.set_result, found)

    def tell(how: Callable[[Any], None], what: object) -> None:
        if not done.done():  # whoever asked may be gone
            how(what)

    stopped = NotDone("Stopped. What I had not summed up yet stays as it was; nothing is lost.")
    lanes.barrier(call.route.session, work, stops=Stoppable(call.seq, lambda: tell(done.set_exception, stopped)))
    found = await done
    if found is None:
        raise NotDone("There is nothing to sum up yet: this conversation is short.")
    told = f"Summed up: {found.before_tokens:,} tokens before, {found.after_tokens:,} now."
    if found.failed is not None:
        told += " The model could not sum up, so I left the oldest part out and kept what mattered most by its words."
    return f"{told} All that was said can still be searched."


def first_words(message: Inbound) -> Inbound:
    """Return a message that opened a session as what it says besides: its text without the command."""
    words = _OPENING.sub("", message.clean.strip(), count=1)
    return replace(message, text=words, clean=words)
