"""Inbox rows to and from values; each function runs inside a transaction of the store."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from adapters.base import Chat, Inbound
from gateway.inbox import Arrival, Held, Owners, PairingRequest, Part, Receipt, ReceiptKind, TakenUp
from gateway.store import conversations, outbox_rows
from gateway.store.values import chat_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from memory.sqlite import Row, Transaction

MAX_PENDING_PAIRINGS = 3
OWNER_TOLD_SECONDS = 3_600.0  # between two notices about those who wait to be let in, of all accounts
UNSEEN_SECONDS = 300.0  # how old what a bot writes may be when we first hear of it by an edit


@cache
def _codec() -> "TypeAdapter[Inbound]":
    from pydantic import TypeAdapter

    return TypeAdapter(Inbound)


def encode(message: Inbound) -> str:
    """Return a message as JSON."""
    return _codec().dump_json(message).decode()


def decode(text: str) -> Inbound:
    """Return the message that `encode` wrote."""
    return _codec().validate_json(text)


def held(row: "Row") -> Held:
    """Return the value of an open row."""
    return Held(
        row["seq"],
        row["session"],
        row["turn"],
        row["attempts"],
        decode(row["message"]),
        _instant(row["received_at"]),
        confirmed=row["confirmed"] > 0,
        withheld=row["confirmed"] == 2,
    )


def accept(tx: "Transaction", arrival: Arrival, now: float) -> Receipt:
    """Insert one arrival, or find out what it repeats."""
    message = arrival.message
    if message.edited:
        return _reword(tx, arrival, now)
    state = "closed" if arrival.pairing else "ignored"
    if arrival.admitted:
        state = "running" if arrival.turn else "received"
    row = tx.one(
        "inbox_insert",
        **_key(arrival),
        thread=message.chat.thread,
        session=arrival.session,
        state=state,
        outcome="silent" if arrival.pairing else None,
        turn=arrival.turn,
        now=now,
        message=encode(message),
        origin=message.origin,
        heard=arrival.heard and state == "ignored",
        sender=message.sender.id,
    )
    if row is not None:
        kind: ReceiptKind = "new" if arrival.admitted else "ignored"
        return Receipt(kind, arrival, row["seq"], _instant(now), begun=arrival.turn is not None)
    return _take_up(tx, arrival, now)


def take_up(
    tx: "Transaction", *, since: float, now: float, owners: Owners, notice: Callable[[int, Chat | None], Part]
) -> TakenUp:
    """Drop rows from before `since`, saying so where an owner wrote last; return what is still open.

    A heartbeat is not made up for, and a reminder is never too old.
    """
    tx.run("inbox_drop_heartbeats", now=now)
    conversations.touch(tx, [row["seq"] for row in tx.all("inbox_old", since=since)])
    dropped = tx.run("inbox_drop_old", since=since, now=now)
    told: Chat | None = None
    if dropped:
        newest = tx.one("inbox_newest_chat", **found_by(owners))
        part = notice(dropped, chat_of(newest) if newest else None)
        outbox_rows.add(tx, [part], now)
        told = part.chat
    return TakenUp(tuple(held(row) for row in tx.all("inbox_open", since=since)), dropped, told)


def _key(arrival: Arrival) -> dict[str, object]:
    chat = arrival.message.chat
    return {"platform": chat.platform, "account": chat.account, "chat": chat.id, "message_id": arrival.message.id}


def _take_up(tx: "Transaction", arrival: Arrival, now: float) -> Receipt:
    """An addressed duplicate of an ignored row makes it received, once (Slack sends `message`, then `app_mention`)."""
    row = tx.one("inbox_find", **_key(arrival))
    if row is None:
        return Receipt("duplicate", arrival, 0, _instant(now))
    kind: ReceiptKind = "duplicate"
    if arrival.admitted and row["state"] == "ignored":
        values = {"session": arrival.session, "message": encode(arrival.message)}
        if tx.run("inbox_take_up_ignored", seq=row["seq"], **values):
            kind = "new"
    return Receipt(kind, arrival, row["seq"], _instant(row["received_at"]))


def _reword(tx: "Transaction", arrival: Arrival, now: float) -> Receipt:
    """A new wording replaces the text of a message that still waits; later it is only noted.

    Platforms call it an edit as well when something else about a message changed (a preview, a pin); that is no news.
    """
    row = tx.one("inbox_find", **_key(arrival))
    if row is None:
        if _begins_empty(arrival.message, now):
            return accept(tx, replace(arrival, message=replace(arrival.message, edited=False)), now)
        return Receipt("ignored", arrival, 0, _instant(now))
    arrived = _instant(row["received_at"])
    if row["state"] == "ignored":
        if not arrival.admitted:
            tx.run("inbox_rehear", seq=row["seq"], message=encode(arrival.message), heard=arrival.heard)
        return _take_up(tx, arrival, now)
    if not arrival.admitted:
        values = {"message": encode(arrival.message), "heard": arrival.heard}
        if arrival.message.sender.is_bot and tx.run("inbox_withdraw", seq=row["seq"], **values):
            return Receipt("withdrawn", arrival, row["seq"], arrived)
        return Receipt("ignored", arrival, 0, arrived)
    if tx.run("inbox_reword", seq=row["seq"], message=encode(arrival.message)):
        return Receipt("reworded", arrival, row["seq"], arrived)
    if row["message"] and decode(row["message"]).text == arrival.message.text:
        return Receipt("duplicate", arrival, row["seq"], arrived)
    return Receipt("reworded_late", arrival, row["seq"], arrived)


def _begins_empty(message: Inbound, now: float) -> bool:
    """Tell whether an edit is the first that we hear of a message: what grows may begin with nothing in it."""
    return message.sender.is_bot and now - message.sent_at.timestamp() < UNSEEN_SECONDS


def found_by(owners: Owners) -> dict[str, str]:
    """Return owners as a statement is given them."""
    return {"sessions": json.dumps(owners.sessions), "people": json.dumps(owners.people)}


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def refusal(tx: "Transaction", arrival: Arrival, now: float) -> tuple[Part, ...]:
    """Return what is said about a message that was not admitted, storing the code of a pairing that is new.

    An unknown sender is told a code once, and nothing more while it is good or too many codes wait for the owner.
    """
    request = arrival.pairing
    if request is None:
        return arrival.told
    chat, sender = arrival.message.chat, arrival.message.sender
    place = {"platform": chat.platform, "account": chat.account}
    tx.run("pairings_expire", now=now)
    if tx.one("pairing_of", **place, sender=sender.id, now=now):
        return ()
    pending = tx.one("pairings_pending", **place, now=now)
    if pending is not None and pending["rows"] >= MAX_PENDING_PAIRINGS:
        return ()
    who = {"sender": sender.id, "name": sender.name[:80], "chat": chat.id}
    tx.run("pairing_insert", code=request.code, **place, **who, now=now, expires_at=request.expires_at)
    return (*request.parts, *_for_owner(tx, request, now))


def _for_owner(tx: "Transaction", request: PairingRequest, now: float) -> tuple[Part, ...]:
    """Return what an owner is told about those who wait: seldom, so that strangers cannot fill the owner's chat."""
    newest = tx.one("inbox_last_chat", **found_by(request.owners)) if request.notice else None
    if request.notice is None or newest is None or not tx.run("owner_told", now=now, before=now - OWNER_TOLD_SECONDS):
        return ()
    waiting = tx.all("pairings", now=now)
    return (request.notice(len(waiting), chat_of(newest)),)
