"""Who a Telegram text speaks to: our mention, our command or another bot's, found by UTF-16 offsets. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.payloads import Payload, without
from adapters.telegram.utf16 import code_points, positions


@dataclass(frozen=True, slots=True)
class Me:
    """Our own bot: its user id, and its username without the @."""

    id: int
    username: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as far as it concerns us: without our mention, and whether it names us or another bot.

    `command` says that it starts with a command that names no other bot, `other_bot` that it names one anywhere.
    """

    clean: str
    mentioned: bool = False
    command: bool = False
    foreign_command: bool = False
    other_bot: bool = False


def read_mentions(text: str, entities: Sequence[Payload], me: Me) -> Reading:
    """Return `text` as we should read it; entities that do not fit the text are passed over."""
    mentioned = command = foreign = other = False
    ours: list[tuple[int, int]] = []
    for kind, start, end, entity in _placed(text, entities):
        if kind == "bot_command":
            name, _, bot = text[start:end].partition("@")
            if bot and _same(bot, me):
                ours.append((start + len(name), end))
                mentioned = True
            other = other or (bool(bot) and not _same(bot, me))
            if not text[:start].strip():
                command = not bot or _same(bot, me)
                foreign = not command
        elif _names_us(kind, text[start:end], entity, me):
            ours.append((start, end))
            mentioned = True
        else:
            other = other or _names_a_bot(kind, text[start:end], entity)
    return Reading(without(text, ours), mentioned, command, foreign, other)


def _placed(text: str, entities: Sequence[Payload]) -> Iterator[tuple[str, int, int, Payload]]:
    points = code_points(text) if entities else {}
    for entity in entities:
        if place := positions(points, entity["offset"], entity["length"]):
            yield entity["type"], *place, entity


def _names_us(kind: str, words: str, entity: Payload, me: Me) -> bool:
    if kind == "text_mention":
        return bool(entity["user"]["id"] == me.id)
    return kind == "mention" and _same(words.removeprefix("@"), me)


def _names_a_bot(kind: str, words: str, entity: Payload) -> bool:
    """Tell whether an entity names a bot; Telegram has them end their usernames with `bot`."""
    if kind == "text_mention":
        return bool(entity["user"].get("is_bot"))
    return kind == "mention" and words.casefold().endswith("bot")


def _same(username: str, me: Me) -> bool:
    return username.casefold() == me.username.casefold()
