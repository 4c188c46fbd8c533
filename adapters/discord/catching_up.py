"""Which channels have messages that we did not hear, and from where on: what a start and a new session read. Pure."""

from collections.abc import Mapping, Sequence

from adapters.seen import Seen


def gaps(seen: Sequence[Seen], newest: Mapping[str, int], *, horizon: int) -> dict[str, int]:
    """Return the channels to read, each with the id after which its messages are unheard.

    `newest` has the id of the last message of every channel of our servers, 0 for none. A channel that nothing was heard
    from yet is unheard since the newest message that the account has heard anywhere; an account that has heard nothing is
    new and owes no answers. Of other known places (private chats, archived threads) Discord does not say whether there is
    anything new. Nothing is read from before the id `horizon`.
    """
    heard = {place.thread or place.chat_id: int(place.message_id) for place in seen if place.message_id.isdecimal()}
    if not heard:
        return {}
    last = max(heard.values())
    after = {channel: heard.get(channel, last) for channel, there in newest.items() if there > heard.get(channel, last)}
    after |= {channel: there for channel, there in heard.items() if channel not in newest}
    return {channel: max(there, horizon) for channel, there in after.items() if newest.get(channel, horizon) >= horizon}
