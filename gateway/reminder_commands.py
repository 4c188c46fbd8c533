"""The command /remind: keep a reminder, list and cancel them."""

from gateway.commands import Call, Command, NotDone
from gateway.reminders import Asker, NotReminded, Reminders, in_words
from gateway.store.reminders import Reminder
from gateway.when import NotATime, parse_when

SHOWN_CHARACTERS = 80

HELP = (
    "Write when, and then what: `/remind in 20 minutes tea`, `/remind tomorrow 9:00 call mum`, "
    "`/remind every monday 8:00 take out the bins`. `/remind list` shows what is to come, and `/remind cancel NUMBER` "
    "takes one away."
)


class ReminderCommands:
    """`/remind WHEN TEXT`, `/remind list` and `/remind cancel NUMBER`, for the conversation in which they are written."""

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders
        self._clock = reminders.clock

    @property
    def commands(self) -> dict[str, Command]:
        """The command, by its name."""
        usage = "[WHEN TEXT | list | cancel NUMBER]"
        return {"remind": Command("remind", usage, "remind you of something later", "chat", self._run)}

    async def _run(self, call: Call) -> str:
        asker = Asker(call.message, call.route)
        verb, _, rest = call.arguments.partition(" ")
        try:
            match verb.lower(), rest.strip():
                case ("", _) | ("help", ""):
                    return HELP
                case "list", "":
                    return await self._list(asker)
                case "cancel", number if number.lstrip("#").isdecimal():
                    return await self._cancel(asker, int(number.lstrip("#")))
                case "cancel", "":
                    raise NotDone("Say which one: `/remind cancel NUMBER`, with a number that `/remind list` shows.")
            return await self._add(asker, call)
        except (NotATime, NotReminded) as problem:
            raise NotDone(str(problem)) from problem

    async def _add(self, asker: Asker, call: Call) -> str:
        when = parse_when(call.arguments, now=self._clock.now(), zone=self._clock.zone)
        reminder = await self._reminders.add(asker, when.text, when, asked_by=call.seq or None)
        return (
            f"I will remind you {self._when(reminder)} ({self._clock.zone.key}): {reminder.asked.text}\n\n"
            f"`/remind cancel {reminder.id}` takes it away."
        )

    async def _list(self, asker: Asker) -> str:
        reminders = await self._reminders.of(asker)
        if not reminders:
            return "There are no reminders here. Set one like this: `/remind tomorrow 9:00 call mum`."
        lines = [f"- {r.id}: {self._when(r)}: {_shown(r.asked.text)}{_elsewhere(r, asker)}" for r in reminders]
        return "\n".join(["To come (`/remind cancel NUMBER` takes one away):", "", *lines])

    async def _cancel(self, asker: Asker, number: int) -> str:
        reminder = await self._reminders.cancel(asker, number)
        return f"I will not remind you of this any more: {_shown(reminder.asked.text)}"

    def _when(self, reminder: Reminder) -> str:
        return in_words(reminder, self._clock)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"


def _elsewhere(reminder: Reminder, asker: Asker) -> str:
    """Say where a reminder comes, if that is another chat than this one."""
    asked, here = reminder.asked, asker.message.chat
    if (asked.chat.platform, asked.chat.account, asked.chat.id) == (here.platform, here.account, here.id):
        return ""
    return f" ({asked.chat.platform}, {asked.kind})"
