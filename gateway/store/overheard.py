"""What groups say among themselves, and which threads are ours; each function runs inside a transaction of the store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.base import Chat, Inbound
from gateway.store.inbox_rows import decode

if TYPE_CHECKING:
    from memory.sqlite import Row, Transaction


def overheard(tx: "Transaction", seqs: Sequence[int], most: int) -> list[Inbound]:
    """Return the newest messages that the agent may be told with these rows; see `Inbox.overheard`."""
    found: dict[int, str] = {}
    for seq in seqs:
        place = tx.one("inbox_place", seq=seq)
        if place is not None and place["origin"] == "chat" and not place["confirmed"]:
            found |= _before(tx, seq, place, most)
    newest = sorted(found)[-most:] if most else []
    return [decode(found[seq]) for seq in newest]


def _before(tx: "Transaction", seq: int, place: "Row", most: int) -> dict[int, str]:
    """Return what came between a row and the last one before it that was told, by its number in the inbox."""
    account = {"platform": place["platform"], "account": place["account"]}
    # A message that opens its thread stands where its chat goes on, and answers what was said there.
    thread = None if place["thread"] == place["message_id"] else place["thread"]
    names = {place["chat"], *(row["chat"] for row in tx.all("alias_names", **account, chat=place["chat"]))}
    turn = {"session": place["session"], "turn": place["turn"]}
    if any(tx.one("inbox_told_later", **account, chat=name, seq=seq, **turn) for name in names):
        return {}
    told = [tx.one("inbox_told_before", **account, chat=name, seq=seq, thread=thread) for name in names]
    since = max((row["seq"] for row in told if row is not None), default=0)
    return {
        row["seq"]: row["message"]
        for name in names
        for row in tx.all("inbox_overheard", **account, chat=name, seq=seq, since=since, thread=thread, most=most)
    }


def our_threads(tx: "Transaction", threads: Sequence[Chat]) -> frozenset[Chat]:
    """Return those threads that hang on a message which was meant for us, or which we sent."""

    def is_ours(chat: Chat) -> bool:
        place = {"platform": chat.platform, "account": chat.account, "chat": chat.id, "thread": chat.thread}
        return tx.one("inbox_thread_is_ours", **place) is not None

    return frozenset(chat for chat in threads if is_ours(chat))
