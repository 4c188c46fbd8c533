"""Reception: events come in, are judged and routed, committed, and handed to a command or a lane."""

import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.base import Adapter, Chat, DeadLetter, Event, Inbound, Migration
from agents.entries import Note
from gateway.access import Policy, Standing, Verdict, gate
from gateway.commands import Call, Commands
from gateway.delivery import Delivery
from gateway.inbox import Arrival, Inbox, Part, Receipt
from gateway.lanes import Lanes, Waiting
from gateway.outbox import Place, place_of
from gateway.pairing import Pairing
from gateway.people import People
from gateway.router import Route, Routing, address_of, route
from gateway.sessions import Sessions

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[Any, Any, None], str], object]


class Reception:
    """The one way in: chats, reminders and lines in the terminal all come through `receive`."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        policies: Mapping[tuple[str, str], Policy],
        routing: Routing,
        people: People,
        pairing: Pairing,
        commands: Commands,
        lanes: Lanes,
        delivery: Delivery,
        sessions: Sessions,
        aliases: dict[Place, str],
        find: Callable[[str, str], Adapter | None],
        spawn: Spawn,
        first_message: Callable[[], None],
    ) -> None:
        self._inbox = inbox
        self._policies = policies
        self._routing = routing
        self._people = people
        self._pairing = pairing
        self._commands = commands
        self._lanes = lanes
        self._delivery = delivery
        self._sessions = sessions
        self._aliases = aliases
        self._find = find
        self._spawn = spawn
        self._first_message = first_message

    async def receive(self, events: Sequence[Event]) -> None:
        """Commit events, then let their consequences begin; implements `adapters.base.Receive`."""
        migrations = [self._follow(event) for event in events if isinstance(event, Migration)]
        arrivals = [self._judge(event) for event in events if isinstance(event, Inbound)]
        dead = [event for event in events if isinstance(event, DeadLetter)]
        for letter in dead:
            extra = {"action": "dead_letter", "account": f"{letter.platform}/{letter.account}"}
            log.error("an event could not be read: %s", letter.error, extra=extra)
        for receipt in await self._inbox.accept(arrivals, migrations=migrations, dead=dead):
            self._go_on(receipt)

    async def take_up(self, *, younger_than_seconds: float) -> int:
        """Go on with what the last process accepted and did not finish; return how many were too old and dropped."""
        open_, dropped = await self._inbox.take_up(younger_than_seconds=younger_than_seconds)
        for held in open_:
            standing, verdict = self._standing(held.message)
            if verdict.decision == "admit":
                self._hand_over(held.seq, held.message, standing, turn=held.turn)
            else:  # the rules were changed meanwhile
                await self._inbox.close_rows([held.seq], "dropped")
        return dropped

    def explain(self, message: Inbound) -> tuple[Verdict, Route]:
        """Return what would be decided about a message, and why; nothing is stored."""
        standing, verdict = self._standing(message)
        return verdict, self._route(message, standing)

    def _follow(self, migration: Migration) -> Migration:
        """Remember that a chat has a new id; the first one goes on naming its session and its shelf."""
        first = self._first_id(migration.old)
        self._aliases[place_of(migration.new)] = first
        return Migration(replace(migration.old, id=first), migration.new)

    def _first_id(self, chat: Chat) -> str:
        return self._aliases.get(place_of(chat), chat.id)

    def _standing(self, message: Inbound) -> tuple[Standing, Verdict]:
        chat = message.chat
        standing = self._people.standing(chat.platform, message.sender.id)
        if chat.platform == "terminal":
            return standing, Verdict("admit", "the terminal of the machine")
        policy = self._policies.get((chat.platform, chat.account))
        if policy is None:
            return standing, Verdict("ignore", "the account is not configured")
        return standing, gate(message, chat_id=self._first_id(chat), standing=standing, policy=policy)

    def _route(self, message: Inbound, standing: Standing) -> Route:
        shelf_name = self._people.shelf_name(message.chat.platform, message.sender.id)
        address = address_of(message, chat_id=self._first_id(message.chat))
        return route(address, standing=standing, shelf_name=shelf_name, routing=self._routing)

    def _judge(self, message: Inbound) -> Arrival:
        """Decide about one message."""
        standing, verdict = self._standing(message)
        session = self._route(message, standing).session
        if verdict.decision == "admit" and not message.clean.strip() and not message.attachments:
            verdict = Verdict("ignore", "nothing is in it")
        if verdict.decision == "admit":
            return Arrival(message, session, admitted=True)
        extra = {"action": "not_admitted", "account": f"{message.chat.platform}/{message.chat.account}"}
        log.info("not admitted: %s", verdict.reason, extra=extra)
        if verdict.decision == "pair":
            return Arrival(message, session, admitted=False, pairing=self._pairing.request(message.chat))
        told = (Part(message.chat, verdict.reason, purpose="notice"),) if verdict.decision == "tell" else ()
        return Arrival(message, session, admitted=False, told=told)

    def _go_on(self, receipt: Receipt) -> None:
        arrival = receipt.arrival
        message = arrival.message
        if receipt.kind == "new":
            self._first_message()
            self._hand_over(receipt.seq, message, self._standing(message)[0])
        elif receipt.kind == "reworded_late":
            self._spawn(self._note_edit(arrival), "note an edit")
        elif arrival.told or arrival.pairing:
            self._delivery.wake(place_of(message.chat))

    def _hand_over(self, seq: int, message: Inbound, standing: Standing, *, turn: str | None = None) -> None:
        chosen = self._route(message, standing)
        call = None if turn else self._commands.call(message, chosen, standing)
        if call is not None:
            self._spawn(self._command(seq, call), f"command /{call.command.name}")
            return
        dropped = self._lanes.put(Waiting(seq, message, chosen, turn))
        if dropped:
            self._spawn(self._drop(dropped), "say what was dropped")

    async def _command(self, seq: int, call: Call) -> None:
        text = await self._commands.answer(call)
        chat = call.message.chat
        await self._inbox.close_rows([seq], "replied", self._parts(chat, text, call.message.id))
        self._delivery.wake(place_of(chat))

    def _parts(self, chat: Chat, text: str, answers: str) -> list[Part]:
        adapter = self._find(chat.platform, chat.account)
        texts = adapter.parts(text) if adapter else [text]
        last = len(texts) - 1
        return [
            Part(chat, piece, purpose="command", answers=(answers,) if number == last else ())
            for number, piece in enumerate(texts)
        ]

    async def _drop(self, dropped: Sequence[Waiting]) -> None:
        chat = dropped[0].message.chat
        count = "This message" if len(dropped) == 1 else f"These {len(dropped)} messages"
        text = f"{count} came while too many were waiting, so I left {'it' if len(dropped) == 1 else 'them'} out."
        part = Part(chat, text, purpose="notice", answers=tuple(item.message.id for item in dropped))
        reply_to = dropped[-1].message.id
        await self._inbox.close_rows([item.seq for item in dropped], "dropped", [replace(part, reply_to=reply_to)])
        self._delivery.wake(place_of(chat))

    async def _note_edit(self, arrival: Arrival) -> None:
        message = arrival.message
        chosen = self._route(message, self._standing(message)[0])
        async with self._sessions.use(chosen.session, chosen.agent) as session:
            await session.append(Note("A message was edited after it had been answered.", {"text": message.text}))
