"""Telling: messages that arrived, as blocks for the model, with their circumstances and their files."""

from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta

from adapters.base import Adapter, Inbound
from agents.base import Block, text_block
from agents.overheard import Overheard, overheard_block
from agents.prompt import Moment, Quoted, Scene, Speaker, notes_content, user_content
from agents.workspace import WorkspaceSnapshot, read_notes
from gateway.agent import Agent
from gateway.attachments import Attachments
from gateway.people import People
from gateway.sessions import Threads
from gateway.unprompted import told
from memory.clock import Clock, day_note, user_day
from memory.files import ShelfFiles

MOST_OVERHEARD = 50  # messages of a group that are told with one that is meant for the agent


class Telling:
    """Makes what the model is told of messages; their files are saved first, in the inbox folder of the shelf."""

    def __init__(self, people: People, attachments: Attachments, threads: Threads, clock: Clock) -> None:
        self._people = people
        self._attachments = attachments
        self._threads = threads
        self._clock = clock

    def day_note(self, scene: Scene) -> str:
        """Return the path of today's note on the shelf of a conversation."""
        return scene.audience.path(day_note(self._clock.now(), self._clock.zone))

    async def notes(
        self, scene: Scene, files: ShelfFiles, *, agent: Agent, snapshot: WorkspaceSnapshot
    ) -> tuple[Block, ...]:
        """Return yesterday's and today's notes of a conversation's own shelf as blocks, in the room that files leave."""
        zone = self._clock.zone
        now = self._clock.now()
        noon = datetime.combine(user_day(now, zone) - timedelta(days=1), time(12), zone)  # of a day that has one
        paths = [scene.audience.path(day_note(instant, zone)) for instant in (noon, now)]
        limits = agent.limits.without(snapshot)
        parts = await self._threads(lambda: read_notes(files, paths, cache=agent.cache, limits=limits))
        return notes_content(parts)

    async def content(
        self,
        messages: Sequence[Inbound],
        *,
        scene: Scene,
        files: ShelfFiles,
        adapter: Adapter | None,
        room_tokens: int,
        progress: Callable[[], None],
        overheard: Sequence[Inbound] = (),
    ) -> tuple[Block, ...]:
        """Return the blocks of messages that are told to the model together, each after its circumstances.

        What their group said among itself before (`overheard`) comes first, as data; its files are named and no more.
        Images and documents that would take more than `room_tokens` together are files and no more. `progress` is called
        whenever a file is there.
        """
        blocks = [*overheard_block([self._overheard(message) for message in overheard], scene.zone)]
        for message in messages:
            taken = await self._attachments.take(
                message.attachments, adapter=adapter, files=files, room_tokens=room_tokens, progress=progress
            )
            room_tokens -= taken.shown_tokens
            quote = message.reply_to
            now = self._clock.now()
            unprompted = told(message, now=now, zone=scene.zone)
            moment = Moment(
                now=now,
                day_note=self.day_note(scene),
                sender=self._speaker(message),
                chat_title=message.chat_title,
                forwarded_from=message.forwarded_from,
                quote=Quoted(quote.sender_name, quote.text, quote.from_us) if quote else None,
                files=taken.files,
                notes=(*taken.notes, unprompted.note) if unprompted else taken.notes,
            )
            words = "\n\n".join(text for text in (message.clean, *taken.words) if text.strip())
            blocks += user_content(scene, moment, "" if unprompted else words)
            if unprompted:
                blocks.append(text_block(unprompted.text))
        return tuple(blocks)

    def _overheard(self, message: Inbound) -> Overheard:
        quote = message.reply_to
        files = tuple(file.name or file.kind for file in message.attachments)
        return Overheard(
            self._speaker(message),
            message.sent_at,
            message.text,
            quote.sender_name if quote else None,
            files,
            message.forwarded_from,
        )

    def _speaker(self, message: Inbound) -> Speaker:
        sender = message.sender
        is_owner = not sender.is_bot and self._people.standing(message.chat.platform, sender.id) == "owner"
        return Speaker(sender.name, sender.id, is_owner)


def source_of(message: Inbound) -> str:
    """Name a message in the transcript: message ids are only unique in their chat."""
    chat = message.chat
    return f"{chat.platform}:{chat.account}:{chat.id}:{message.id}"


def place_of_message(message: Inbound) -> str:
    """Say in our own words where a message was written."""
    return f"{message.chat.platform}, {message.kind}"
