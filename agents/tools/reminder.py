"""The tool for reminders: it keeps, lists and cancels what this conversation is to be reminded of."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agents.base import Tool
from agents.errors import ToolFailed
from agents.tools.base import ReminderDoor, ToolContext, as_json, count, text, tool

NONE = "There are no reminders here."

_ACTIONS = ("add", "list", "cancel")


async def _reminder(context: ToolContext, given: Mapping[str, Any]) -> str:
    door = context.reminders
    if door is None:
        raise ToolFailed("Reminders cannot be kept here.")
    match given["action"]:
        case "add":
            return await _add(door, given)
        case "list":
            planned = await door.planned()
            return as_json(
                {"reminders": [asdict(reminder) for reminder in planned]} | ({} if planned else {"note": NONE})
            )
        case "cancel":
            if "id" not in given:
                raise ToolFailed("reminder needs 'id' to cancel one: the number that list gives.")
            return as_json({"cancelled": asdict(await door.cancel(given["id"]))})
    raise ToolFailed(f"reminder knows the actions {', '.join(_ACTIONS)}; not {given['action']!r}.")


async def _add(door: ReminderDoor, given: Mapping[str, Any]) -> str:
    at, every = given.get("at", "").strip(), given.get("every", "").strip()
    if not given.get("text", "").strip():
        raise ToolFailed("reminder needs 'text' to add one: what to remind of, in words that still make sense then.")
    if not (at or every):
        raise ToolFailed("reminder needs 'at' or 'every' to add one: when to remind.")
    return as_json({"added": asdict(await door.add(given["text"], at=at, every=every))})


REMINDER_TOOLS: dict[str, Tool] = {
    "reminder": tool(
        "reminder",
        "Keep, list or cancel reminders of this conversation. A reminder that is due starts a turn here, in which you "
        "remind people of its text. Add one whenever somebody asks to be reminded, or to be told something later.",
        {
            "action": {"type": "string", "enum": list(_ACTIONS)},
            "text": text("What to remind of, in words that still make sense when it is due"),
            "at": text("When: 2026-01-27T09:00 in the user's time zone, or in words, like “in 20 minutes”"),
            "every": text("How it repeats: day, weekday, monday, 2 weeks, month, year, 30 minutes; empty for once"),
            "id": count("Which one to cancel"),
        },
        _reminder,
        required=["action"],
    ),
}
