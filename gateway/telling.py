"""Telling: messages that arrived, as blocks for the model, with their circumstances and their files."""

from collections.abc import Sequence

from adapters.base import Adapter, Inbound
from agents.base import Block
from agents.prompt import Moment, Quoted, Scene, Speaker, user_content
from gateway import attachments
from gateway.people import People
from gateway.sessions import Threads
from memory.clock import Clock, day_note
from memory.files import ShelfFiles


class Telling:
    """Makes what the model is told of messages; their files are saved first, in the inbox folder of the shelf."""

    def __init__(self, people: People, threads: Threads, clock: Clock) -> None:
        self._people = people
        self._threads = threads
        self._clock = clock

    def day_note(self, scene: Scene) -> str:
        """Return the path of today's note on the shelf of a conversation."""
        return scene.audience.path(day_note(self._clock.now(), self._clock.zone))

    async def content(
        self, messages: Sequence[Inbound], *, scene: Scene, files: ShelfFiles, adapter: Adapter | None
    ) -> tuple[Block, ...]:
        """Return the blocks of messages that are told to the model together, each after its circumstances."""
        blocks: list[Block] = []
        for message in messages:
            saved, notes = await attachments.save(
                message.attachments, adapter=adapter, files=files, threads=self._threads
            )
            sender, quote = message.sender, message.reply_to
            is_owner = self._people.standing(message.chat.platform, sender.id) == "owner"
            moment = Moment(
                now=self._clock.now(),
                day_note=self.day_note(scene),
                sender=Speaker(sender.name, sender.id, is_owner),
                chat_title=message.chat_title,
                forwarded_from=message.forwarded_from,
                quote=Quoted(quote.sender_name, quote.text, quote.from_us) if quote else None,
                files=saved,
                notes=notes,
            )
            blocks += user_content(scene, moment, message.clean)
        return tuple(blocks)


def source_of(message: Inbound) -> str:
    """Name a message in the transcript: message ids are only unique in their chat."""
    chat = message.chat
    return f"{chat.platform}:{chat.account}:{chat.id}:{message.id}"


def place_of_message(message: Inbound) -> str:
    """Say in our own words where a message was written."""
    return f"{message.chat.platform}, {message.kind}"
