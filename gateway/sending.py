"""Sending: what is asked of a platform for one part: a message of its own, an edit, a removal, in doubt where it is."""

from dataclasses import replace
from datetime import UTC, datetime

from adapters.base import Adapter, Finder, Outbound, Streamer
from adapters.errors import Rejected, Unknown
from gateway.outbox import Outbox, Parcel

DUPLICATE_MARK = "_(This may be a duplicate: I cannot tell whether it arrived.)_"


async def looked_for(adapter: Adapter, parcel: Parcel, outbox: Outbox) -> Parcel:
    """Return a part with what its platform knows of it: where it is, that it was not sent, or as it was when it cannot say.

    What is found is recorded, and becomes what the part is to be by an edit. Raises `adapters.errors`.
    """
    if parcel.edits is not None or not (parcel.doubtful or parcel.removes) or not isinstance(adapter, Finder):
        return parcel
    try:
        found = await adapter.find(parcel.message, since=datetime.fromtimestamp(parcel.created_at, UTC))
    except (Unknown, Rejected):  # it may not look there, perhaps
        return parcel
    if found is not None:
        await outbox.found(parcel, found)
    return replace(parcel, edits=found, doubtful=False)


async def carried_out(adapter: Adapter, parcel: Parcel) -> str:
    """Do with a part what is to be done, and return the platform's id of it. Raises `adapters.errors`."""
    if parcel.edits is None:
        if parcel.removes:
            raise Rejected("nobody can say where the beginning of an answer that came to nothing is")
        return await adapter.send(dressed(parcel))
    if not parcel.begun:
        return parcel.edits  # it was found, and is whole
    if not isinstance(adapter, Streamer):
        raise Rejected("nothing can be edited here any more", reason="edit_gone")
    if parcel.removes:
        await adapter.remove(parcel.message.chat, parcel.edits)
    else:
        await adapter.edit(parcel.message, parcel.edits)
    return parcel.edits


def dressed(parcel: Parcel) -> Outbound:
    """Return the message as it is sent: with the visible mark where it may be a duplicate."""
    message = parcel.message
    if not parcel.doubtful:
        return message
    return replace(message, text=f"{DUPLICATE_MARK}\n\n{message.text}" if message.text else DUPLICATE_MARK)
