"""Reception: events come in, are judged and routed, committed, and handed to a command or a lane."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Literal

from adapters.base import Chat, DeadLetter, Event, Inbound, Migration
from gateway.access import Verdict
from gateway.accounts import Find
from gateway.admission import Admission, Admitted
from gateway.beginnings import Beginnings
from gateway.commands import Answer, Call, Commands, refused
from gateway.delivery import Delivery
from gateway.inbox import Arrival, Held, Inbox, Owners, Part, Receipt, Resumed
from gateway.lanes import Lanes, Waiting
from gateway.late_edits import LateEdits
from gateway.outbox import Place, place_of
from gateway.pairing import Pairing
from gateway.records import dealt_with, whence
from gateway.sessions import Sessions
from gateway.store import Cause
from gateway.tasks import Spawn
from gateway.unfinished import Unfinished, may_grow
from memory.clock import Clock

log = logging.getLogger(__name__)

REMEMBERED_ALBUMS = 64  # the pictures of one album arrive within moments of one another


class Reception:
    """The one way in: chats, reminders and lines in the terminal all come through `receive`."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        admission: Admission,
        pairing: Pairing,
        commands: Commands,
        lanes: Lanes,
        unfinished: Unfinished,
        delivery: Delivery,
        sessions: Sessions,
        find: Find,
        spawn: Spawn,
        clock: Clock,
        first_message: Callable[[], None],
    ) -> None:
        self._inbox = inbox
        self._admission = admission
        self._pairing = pairing
        self._commands = commands
        self._lanes = lanes
        self._unfinished = unfinished
        self._delivery = delivery
        self._sessions = sessions
        self._find = find
        self._spawn = spawn
        self._clock = clock
        self._first_message = first_message
        self._late_edits = LateEdits(sessions, spawn, clock, changed=inbox.changed)
        self._told_places: set[Place] = set()
        self._in_threads = asyncio.Lock()
        self._beginnings = Beginnings(lanes.is_free, commands.is_command)
        self._addressed_albums: deque[tuple[Chat, str | None]] = deque(maxlen=REMEMBERED_ALBUMS)

    async def receive(self, events: Sequence[Event]) -> None:
        """Commit events, then let their consequences begin; implements `adapters.base.Receive`.

        Both go on when the caller is cancelled meanwhile: the platform offers again what is committed already, and then
        it is a duplicate without consequences.
        """
        failures: list[Exception] = []
        await asyncio.shield(self._spawn(self._take_in(events, failures), "take in events"))
        for failure in failures:
            raise failure

    async def _take_in(self, events: Sequence[Event], failures: list[Exception]) -> None:
        """Commit events; what fails is put into `failures`, for whoever still waits: the platform offers them again."""
        try:
            await self._commit(events)
        except Exception as failure:
            failures.append(failure)

    async def _commit(self, events: Sequence[Event]) -> None:
        migrations = [self._admission.follow(event) for event in events if isinstance(event, Migration)]
        messages = self._albums_whole([event for event in events if isinstance(event, Inbound)])
        dead = [event for event in events if isinstance(event, DeadLetter)]
        for letter in dead:
            extra = {"action": "dead_letter", "account": f"{letter.platform}/{letter.account}"}
            log.error("an event could not be read: %s", letter.error, extra=extra)
        # To ask whose a thread is takes a moment, in which what comes next in it must not overtake.
        async with self._in_threads if any(map(_continues_thread, messages)) else nullcontext():
            messages = await self._in_our_threads(messages)
            told = set(self._told_places)
            judged = [self._judge(message, told) for message in messages]
            with self._beginnings.of(judged) as arrivals:
                receipts = await self._inbox.accept(arrivals, migrations=migrations, dead=dead)
                dropped = [item for receipt in receipts for item in self._go_on(receipt)]
        self._say_dropped(dropped)

    async def take_up(self, *, younger_than_seconds: float) -> Resumed:
        """Go on with what the last process accepted and did not finish.

        What came to accounts that this process does not connect waits for one that does.
        """
        taken = await self._inbox.take_up(
            younger_than_seconds=younger_than_seconds,
            owners=self._admission.all_owners(),
            notice=lambda count, chat: self._too_old(count, chat, hours=younger_than_seconds / 3_600),
        )
        turned_away: list[int] = []
        resumed: Counter[str] = Counter()
        dropped: list[Waiting] = []
        for held in taken.open:  # all at once: the rows of a turn have to be there when its lane begins
            found = self._admission.of(held.message)
            if found.verdict.decision != "admit":  # the rules were changed meanwhile
                turned_away.append(held.seq)
            elif self._is_served(held.message.chat):
                resumed[held.session] += 1
                dropped += self._let_in(held, found)
        self._say_dropped(dropped)
        if turned_away:
            await self._inbox.close_rows(turned_away, "dropped")
        if taken.told is not None:
            self._delivery.wake(place_of(taken.told))
        return Resumed(resumed.total(), len(resumed), taken.dropped)

    def admitted(self, message: Inbound) -> Arrival | None:
        """Return a message that we raise ourselves with its session; see `gateway.unprompted.Entrance`."""
        found = self._admission.of(message)
        return Arrival(message, found.route.session, admitted=True) if found.verdict.decision == "admit" else None

    def owners(self, agents: frozenset[str]) -> Owners:
        """Return the owners, with every private conversation that they can have with these agents."""
        return self._admission.owners(agents)

    def enter(self, receipts: Sequence[Receipt]) -> None:
        """Hand messages that are committed to their lanes; see `gateway.unprompted.Entrance`."""
        self._say_dropped([item for receipt in receipts for item in self._go_on(receipt)])

    def _too_old(self, count: int, chat: Chat | None, *, hours: float) -> Part:
        """Return what an owner is told about messages that nobody answers any more; who never wrote, in the terminal."""
        messages, them = ("1 message", "it") if count == 1 else (f"{count} messages", "them")
        text = (
            f"While I was not running, {messages} waited for more than {hours:g} hours, so I left {them} unanswered. "
            "Whoever still needs an answer has to ask again."
        )
        return Part(chat or Chat("terminal", self._admission.default_agent, "local"), text, purpose="notice")

    def _albums_whole(self, messages: Sequence[Inbound]) -> list[Inbound]:
        """An album that is addressed to us in one of its captions is addressed to us with all its pictures."""
        for message in messages:
            if message.album is not None and message.addressed:
                self._addressed_albums.append((message.chat, message.album))
        known = set(self._addressed_albums)
        return [replace(m, addressed=True) if (m.chat, m.album) in known else m for m in messages]

    async def _in_our_threads(self, messages: Sequence[Inbound]) -> list[Inbound]:
        """What people write in a thread that hangs on a message to us, or of ours, is addressed to us."""
        doubtful = [m for m in messages if _continues_thread(m) and _may_be_ours(m)]
        if not doubtful:
            return list(messages)
        ours = await self._inbox.our_threads(list({message.chat for message in doubtful}))
        return [replace(m, addressed=True) if m in doubtful and m.chat in ours else m for m in messages]

    def _is_served(self, chat: Chat) -> bool:
        return self._find(chat.platform, chat.account) is not None

    def _judge(self, message: Inbound, told: set[Place]) -> Arrival:
        """Decide about one message. A refusal is told a chat once: `told` has those that know, and takes this one in."""
        found = self._admission.arriving(message)
        verdict, session = found.verdict, found.route.session
        if not _has_content(message):
            verdict = Verdict("ignore", "nothing is in it") if verdict.decision == "admit" else verdict
            verdict = replace(verdict, heard=False)
        if message.pressed is not None and not self._commands.is_command(message):  # a button that means nothing now
            verdict = Verdict("ignore", "no command of ours was pressed")
        if verdict.decision == "admit":
            return Arrival(message, session, admitted=True)
        self._log_refusal(message, verdict)
        if verdict.decision == "pair":
            request = self._pairing.request(message.chat, owners=self._admission.all_owners())
            return Arrival(message, session, admitted=False, pairing=request)
        place = place_of(message.chat)
        if verdict.decision != "tell" or place in told:
            return Arrival(message, session, admitted=False, heard=verdict.heard)
        told.add(place)
        return Arrival(message, session, admitted=False, told=(Part(message.chat, verdict.reason, purpose="notice"),))

    @staticmethod
    def _log_refusal(message: Inbound, verdict: Verdict) -> None:
        """Log it with the ids that an owner needs to change it; what a group says among itself is no event."""
        level = logging.INFO if message.addressed else logging.DEBUG
        log.log(level, "not admitted: %s", verdict.reason, extra={"action": "not_admitted"} | whence([message]))

    def _go_on(self, receipt: Receipt) -> list[Waiting]:
        """Let what follows from a receipt begin; return the messages that are dropped because of it."""
        arrival = receipt.arrival
        message = arrival.message
        if receipt.kind == "new":
            self._first_message()
            held = Held(receipt.seq, arrival.session, None, 0, message, receipt.arrived)
            begun = arrival.turn if receipt.begun else None
            return self._let_in(held, self._admission.of(message), begun=begun)
        if receipt.kind == "reworded":
            self._unfinished.reworded(receipt.seq, message)
        elif receipt.kind == "withdrawn":
            self._lanes.withdraw(receipt.seq)
        elif receipt.kind == "reworded_late" and arrival.admitted:  # what strangers write stays out of transcripts
            self._late_edits.note(Waiting(receipt.seq, message, self._admission.of(message).route, receipt.arrived))
        elif receipt.told:
            self._told_places |= {place_of(part.chat) for part in arrival.told}
            for chat in filter(self._is_served, receipt.told):
                self._delivery.wake(place_of(chat))
        return []

    def _let_in(self, held: Held, found: Admitted, *, begun: str | None = None) -> list[Waiting]:
        """Hand a message over; what another bot may still be writing waits until it is whole, and delays nobody meanwhile."""
        if held.turn is None and may_grow(held.message):
            self._unfinished.hold(Waiting(held.seq, held.message, found.route, held.arrived), self._whole)
            return []
        return self._hand_over(held, found, begun=begun)

    def _whole(self, item: Waiting) -> None:
        held = Held(item.seq, item.route.session, None, 0, item.message, item.arrived)
        self._say_dropped(self._hand_over(held, self._admission.of(item.message)))

    def _hand_over(self, held: Held, found: Admitted, *, begun: str | None = None) -> list[Waiting]:
        """Let a command be answered, or put a message into its lane; return the messages that are dropped because of it."""
        message = held.message
        chosen, standing = found.route, found.standing
        item = Waiting(held.seq, message, chosen, held.arrived, held.turn, begun)
        is_said = held.turn is None and message.origin == "chat"  # a turn goes on; a reminder is no command
        call = self._commands.call(message, chosen, standing, seq=held.seq) if is_said else None
        if call is None:
            return self._lanes.put(item)
        if call.command.opens and refused(call.command, message, standing) is None:
            return self._open(call, call.command.opens, held, item)
        self._spawn(self._command(held, call), f"command /{call.command.name}")
        return []

    async def _command(self, held: Held, call: Call) -> None:
        message = call.message
        if message.pressed is not None and refused(call.command, message, call.standing) is None:
            await self._delivery.settle(message.chat, message.pressed)  # before the command, which may forget the text
        answer = await self._commands.answer(call)
        parts = self._parts(call.message, answer, ends=True)
        await self._inbox.close_rows([held.seq], "replied", parts)
        self._answered(call, held, answer, len(parts))

    def _answered(self, call: Call, held: Held, answer: Answer, parts: int) -> None:
        """Let the answer to a command go, and log that it was given."""
        self._delivery.wake(place_of(call.message.chat))
        told = dealt_with([call.message], call.route, arrived=held.arrived, now=self._clock.now(), parts=parts)
        extra = {"action": "command", "command": call.command.name, "refused": answer.refused} | told
        log.info("command answered", extra=extra)

    def _open(self, call: Call, cause: Cause, held: Held, item: Waiting) -> list[Waiting]:
        """Confirm a new session at once, and begin it where its lane comes to it: what came before belongs to the old one.

        The row stays open until then, so that another process begins the session if this one does not come to it.
        """
        speaks = not held.withheld and bool(call.arguments or call.message.attachments)
        confirmed = asyncio.Event()
        work = partial(self._begin, call, cause, confirmed, speaks=speaks)
        if not self._lanes.barrier(call.route.session, work, then=item if speaks else None):
            return [item]
        self._spawn(self._confirm(call, held, confirmed, speaks=speaks), f"command /{call.command.name}")
        return []

    async def _confirm(self, call: Call, held: Held, confirmed: asyncio.Event, *, speaks: bool) -> None:
        if not held.confirmed:
            answer = await self._commands.answer(call)
            parts = self._parts(call.message, answer, ends=not speaks)
            await self._inbox.confirm(held.seq, parts)
            self._answered(call, held, answer, len(parts))
        confirmed.set()

    async def _begin(self, call: Call, cause: Cause, confirmed: asyncio.Event, *, speaks: bool) -> None:
        await confirmed.wait()
        await self._sessions.begin(call.route, cause, opened_by=call.seq, closes=not speaks)

    def _parts(self, message: Inbound, answer: Answer, *, ends: bool) -> list[Part]:
        """Make the parts of a command's answer; what was refused is a notice, so that a script can tell the two apart.

        `ends`: nothing else answers the message, so that its chat shows the end once they are out.
        """
        chat = message.chat
        adapter = self._find(chat.platform, chat.account)
        texts = adapter.parts(answer.text) if adapter else [answer.text]
        purpose: Literal["notice", "command"] = "notice" if answer.refused else "command"
        names_question = message.kind == "group" or chat.platform == "terminal"  # where others write as well
        reply_to = (message.pressed or message.id) if names_question else None
        *first, last = [Part(chat, text, purpose=purpose, reply_to=reply_to) for text in texts]
        return [*first, replace(last, answers=(message.id,) if ends else (), choices=answer.choices)]

    def _say_dropped(self, dropped: Sequence[Waiting]) -> None:
        if dropped:
            self._spawn(self._drop(dropped), "say what was dropped")

    async def _drop(self, dropped: Sequence[Waiting]) -> None:
        by_chat: dict[Chat, list[Waiting]] = {}
        for item in dropped:
            by_chat.setdefault(item.message.chat, []).append(item)
        for chat, items in by_chat.items():
            what, it = ("this message", "it") if len(items) == 1 else (f"{len(items)} messages", "them")
            text = f"Too many messages came at once, so I left {what} out. Please send {it} again later."
            ids = tuple(item.message.id for item in items)
            part = Part(chat, text, purpose="notice", reply_to=ids[-1], answers=ids)
            await self._inbox.close_rows([item.seq for item in items], "dropped", [part])
            self._delivery.wake(place_of(chat))


def _has_content(message: Inbound) -> bool:
    """Tell whether there is anything to answer; a bare mention that replies to something is about that."""
    return bool(message.clean.strip() or message.attachments or message.reply_to)


def _continues_thread(message: Inbound) -> bool:
    """Tell whether a message is in a thread of a group that another message has opened."""
    return message.kind == "group" and message.chat.thread not in (None, message.id)


def _may_be_ours(message: Inbound) -> bool:
    """Tell whether a message could be meant for us although it does not say so; bots have to mention us anywhere."""
    return not (message.addressed or message.for_other_bot or message.sender.is_bot)
