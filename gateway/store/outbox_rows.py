"""Outbox rows to and from values; each function runs inside a transaction of the store."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.base import Chat, Choice, Outbound, OutFile
from gateway.inbox import Part
from gateway.outbox import Parcel, Place
from gateway.store.values import Failure, chat_of

if TYPE_CHECKING:
    from memory.sqlite import Row, Transaction


def add(tx: "Transaction", parts: Sequence[Part], now: float) -> None:
    """Insert parts, in order."""
    for part in parts:
        tx.run(
            "outbox_insert",
            platform=part.chat.platform,
            account=part.chat.account,
            chat=part.chat.id,
            thread=part.chat.thread,
            reply_to=part.reply_to,
            purpose=part.purpose,
            text=part.text,
            file_name=part.file_name,
            file_path=part.file_path,
            answers=json.dumps(part.answers),
            choices=encoded(part.choices),
            now=now,
        )


def failure(row: "Row") -> Failure:
    """Return the part that a row says could not be sent."""
    return Failure(row["platform"], row["account"], row["chat"], row["thread"], row["error"] or "")


def take(tx: "Transaction", place: Place) -> Parcel | None:
    """Return the oldest ready part of a chat, marked as being sent."""
    row = tx.one("outbox_next", platform=place.platform, account=place.account, chat=place.chat)
    if row is None:
        return None
    tx.run("outbox_sending", seq=row["seq"])
    return _parcel(row)


def settle(tx: "Transaction", chat: Chat, platform_id: str) -> Parcel | None:
    """Take the choices off a message that was sent with some, and return it; None for any other."""
    place = {"platform": chat.platform, "account": chat.account, "chat": chat.id}
    row = tx.one("outbox_settle", **place, platform_id=platform_id)
    return None if row is None else _parcel(row)


def encoded(choices: Sequence[Choice]) -> str:
    """Return choices as a row has them."""
    return json.dumps([[choice.label, choice.text] for choice in choices], ensure_ascii=False)


def _parcel(row: "Row") -> Parcel:
    chat = chat_of(row)
    file = OutFile(row["file_name"], row["file_path"]) if row["file_path"] else None
    message = Outbound(
        chat=chat,
        text=row["text"] or "",
        key=f"scrubjay-{row['seq']}",
        reply_to=row["reply_to"],
        file=file,
        purpose=row["purpose"],
        plain=bool(row["plain"]),
        choices=tuple(Choice(label, text) for label, text in json.loads(row["choices"])),
    )
    return Parcel(
        seq=row["seq"],
        message=message,
        answers=tuple(json.loads(row["answers"])),
        attempts=row["attempts"],
        created_at=row["created_at"],
        doubtful=bool(row["doubtful"]),
        edits=row["platform_id"],
        removes=bool(row["removes"]),
        begun=bool(row["begun"]),
    )


def again(tx: "Transaction", parcel: Parcel, not_before: float, error: str) -> None:
    """Make a part ready again, as its value now says."""
    message = parcel.message
    tx.run(
        "outbox_again",
        seq=parcel.seq,
        not_before=not_before,
        plain=message.plain,
        thread=message.chat.thread,
        reply_to=message.reply_to,
        doubtful=parcel.doubtful,
        begun=parcel.begun,
        choices=encoded(message.choices),
        error=error,
    )


def recover(tx: "Transaction", *, hold: bool, since: float) -> int:
    """Let parts go that were found half-way, and without `hold` those that are held; return how many there were."""
    tx.run("outbox_repeat_edits")
    interrupted = tx.run("outbox_repeat_interrupted")
    return interrupted if hold else interrupted + tx.run("outbox_release_held", since=since)


def resplit(tx: "Transaction", parcel: Parcel, texts: Sequence[str]) -> None:
    """Put smaller parts where one was, before everything that follows it, be that the rest of an earlier splitting."""
    count = len(texts)
    place = tx.one("outbox_room", seq=parcel.seq)
    room = place["room"] if place else 1.0
    last = {"answers": json.dumps(parcel.answers), "choices": encoded(parcel.message.choices)}
    others = {"answers": "[]", "choices": "[]"}
    tx.run("outbox_retext", seq=parcel.seq, text=texts[0], **(last if count == 1 else others))
    for number, text in enumerate(texts[1:], start=1):
        ends = last if number == count - 1 else others
        tx.run("outbox_insert_after", like=parcel.seq, offset=room * number / count, text=text, **ends)
