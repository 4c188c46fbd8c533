"""Reminders: what somebody asked to be told later, kept, listed, cancelled, and fired when it is due."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from adapters.base import Inbound
from agents.errors import ToolFailed
from agents.tools import Planned
from gateway.router import Route
from gateway.store.reminders import MOST_IN_A_CHAT, Asked, Reminder, ReminderRows, Scope
from gateway.unprompted import Entrance, reminder_message
from gateway.when import NotATime, Recurrence, When, describe, parse_at
from memory.clock import Clock
from memory.paths import well_formed

log = logging.getLogger(__name__)

MOST_CHARACTERS = 2_000
SHORTEST_MINUTES = 5  # between two times of one reminder: each of them asks the model
LATE_SECONDS = 6 * 3_600.0  # how late one that comes again may still come


class NotReminded(Exception):
    """A reminder was not set or not found; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and in which conversation: the message with which they do, and its route."""

    message: Inbound
    route: Route


class Reminders:
    """Keeps reminders, and is the alarm that fires them; see `gateway.schedule.Alarm`.

    `entrance` is asked late, because what is built on reminders comes before it. `serves` tells whether this process can
    reach an account: what it cannot reach waits for one that can. `owners` gives the platform and id of every owner.
    `changed` is called when the next time may be another one.
    """

    def __init__(
        self,
        rows: ReminderRows,
        entrance: Callable[[], Entrance],
        clock: Clock,
        *,
        serves: Callable[[str, str], bool],
        owners: Callable[[], Sequence[tuple[str, str]]],
        changed: Callable[[], None],
    ) -> None:
        self._rows = rows
        self._entrance = entrance
        self.clock = clock
        self._serves = serves
        self._owners = owners
        self._changed = changed

    async def add(self, asker: Asker, text: str, when: When, *, asked_by: int | None = None) -> Reminder:
        """Keep a reminder for the chat in which it was asked for; `NotReminded` says what is wrong with it.

        `asked_by` is the inbox row of the command that asks: repeated after a restart, it gets what it has set already.
        """
        text = well_formed(text).strip()
        if not text:
            raise NotReminded("Say what I shall remind you of.")
        if len(text) > MOST_CHARACTERS:
            raise NotReminded(f"A reminder has at most {MOST_CHARACTERS:,} characters; this one has {len(text):,}.")
        rule = when.recurrence
        if rule is not None and rule.unit == "minute" and rule.every < SHORTEST_MINUTES:
            raise NotReminded(f"I can remind you every {SHORTEST_MINUTES} minutes, but not more often.")
        message, route = asker.message, asker.route
        asked = Asked(
            agent=route.agent,
            session=route.session,
            chat=message.chat,
            kind=message.kind,
            sender=message.sender,
            text=text,
            due=when.due.replace(microsecond=0),
            rule=None if rule is None else rule.to_text(),
            late_seconds=None if rule is None else LATE_SECONDS,
            guild=message.guild,
            chat_title=message.chat_title,
        )
        reminder = await self._rows.add(asked, asked_by=asked_by)
        if reminder is None:
            raise NotReminded(f"There are {MOST_IN_A_CHAT} reminders in this chat already; cancel one first.")
        self._changed()
        return reminder

    async def of(self, asker: Asker) -> list[Reminder]:
        """Return the reminders of a conversation, the next one first; owners see all of theirs in private."""
        return await self._rows.of(self._scope(asker))

    async def cancel(self, asker: Asker, number: int) -> Reminder:
        """Take away a reminder that `of` lists, and return it; `NotReminded` when there is none of that number."""
        reminder = await self._rows.cancel(number, self._scope(asker))
        if reminder is None:
            raise NotReminded(f"There is no reminder {number} here.")
        self._changed()
        return reminder

    def _scope(self, asker: Asker) -> Scope:
        route = asker.route
        return Scope(route.agent, route.session, self._owners() if route.audience.is_owner else ())

    async def next(self, after: datetime) -> datetime | None:
        """Return when the next reminder is due that this process can deliver, perhaps in the past."""
        times = await self._rows.next_due()
        return min((due for account, due in times.items() if self._serves(*account)), default=None)

    async def ring(self) -> None:
        """Fire what is due; one that cannot be fired holds up no other."""
        failures = []
        for reminder in await self._rows.due():
            chat = reminder.asked.chat
            if self._serves(chat.platform, chat.account):
                try:
                    await self._fire(reminder)
                except Exception as failure:
                    failures.append(failure)
        if failures:
            raise ExceptionGroup("reminders were not fired", failures)

    async def _fire(self, reminder: Reminder) -> None:
        """Hand a due reminder to its lane, unless it is too late or its sender may not speak there any more."""
        now, asked = self.clock.now(), reminder.asked
        following = self._following(reminder, now)
        too_late = asked.late_seconds is not None and now - asked.due > timedelta(seconds=asked.late_seconds)
        if too_late:
            log.info("a reminder was missed", extra=_extra(reminder, "reminder_missed"))
            await self._rows.pass_over(reminder, following)
            return
        arrival = self._entrance().admitted(reminder_message(reminder))
        if arrival is None:
            log.warning(
                "a reminder is dropped: who asked may not speak there", extra=_extra(reminder, "reminder_dropped")
            )
            await self._rows.pass_over(reminder, None)
            return
        receipt = await self._rows.fire(reminder, arrival, following)
        if receipt is not None and receipt.kind == "new":
            log.info("a reminder is due", extra=_extra(reminder, "reminder_fired"))
            self._entrance().enter([receipt])

    def _following(self, reminder: Reminder, now: datetime) -> datetime | None:
        """Return when a reminder comes again after now: times that were missed meanwhile are not made up for."""
        if reminder.asked.rule is None:
            return None
        try:
            return Recurrence.from_text(reminder.asked.rule).next_after(now, self.clock.zone)
        except OverflowError:  # the end of the calendar
            return None


class Door:
    """The reminders of one conversation as its agent's tool uses them; see `agents.tools.ReminderDoor`."""

    def __init__(self, reminders: Reminders, asker: Asker) -> None:
        self._reminders = reminders
        self._asker = asker

    async def add(self, text: str, *, at: str, every: str) -> Planned:
        """Keep a reminder for the chat that asked."""
        clock = self._reminders.clock
        try:
            when = parse_at(at, repeat=every, now=clock.now(), zone=clock.zone)
            return self._planned(await self._reminders.add(self._asker, text, when))
        except (NotATime, NotReminded) as problem:
            raise ToolFailed(str(problem)) from problem

    async def planned(self) -> list[Planned]:
        """Return the reminders that are still to come."""
        return [self._planned(reminder) for reminder in await self._reminders.of(self._asker)]

    async def cancel(self, number: int) -> Planned:
        """Take a reminder away and return it."""
        try:
            return self._planned(await self._reminders.cancel(self._asker, number))
        except NotReminded as problem:
            raise ToolFailed(str(problem)) from problem

    def _planned(self, reminder: Reminder) -> Planned:
        return Planned(reminder.id, reminder.asked.text, in_words(reminder, self._reminders.clock))


def in_words(reminder: Reminder, clock: Clock) -> str:
    """Return when a reminder comes, in the user's time: `tomorrow at 09:00`, `every Monday at 09:00, next on Monday …`."""
    due = describe(reminder.asked.due, zone=clock.zone, now=clock.now())
    if reminder.asked.rule is None:
        return due
    rule = describe(Recurrence.from_text(reminder.asked.rule), zone=clock.zone, now=clock.now())
    return f"{rule}, next {due}"


def _extra(reminder: Reminder, action: str) -> dict[str, object]:
    return {"action": action, "reminder": reminder.id, "session": reminder.asked.session}
