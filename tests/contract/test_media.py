"""Photos, documents and voice messages through the whole gateway, between a Telegram server and a Messages API server."""

from typing import Any

import pytest

from agents.images import measure
from tests.agents.media_files import pdf, photo
from tests.contract.processes import World
from tests.contract.shown import shown
from tests.emulators.messages.answers import Answer, ToolCall
from tests.emulators.telegram_server import PRIVATE
from tests.emulators.transcription_server import TranscriptionServer

pytestmark = pytest.mark.contract


async def upload(world: World, data: bytes, **facts: Any) -> dict[str, Any]:
    """Give Telegram a file as a user does, and return what a message says of it."""
    file_id = await world.telegram.put_file(data)
    return {"file_id": file_id, "file_unique_id": file_id, "file_size": len(data), **facts}


async def test_a_photo_and_a_document_stay_in_the_conversation_and_a_picture_goes_out_as_a_photo(
    world: World,
) -> None:
    report, large = pdf(2), photo(3000, 2000, orientation=6)
    world.messages.script(Answer(text="A report."), when="what is in it")
    world.messages.script(Answer(text="A garden."), when="and what is this")
    world.messages.script(
        Answer(tool_calls=(ToolCall("send_file", {"path": "inbox/garden.jpg"}),)), when="send it back"
    )
    world.messages.script(Answer(text="Here it is."))

    async with world.running():
        document = await upload(world, report, file_name="report.pdf", mime_type="application/pdf")
        await world.telegram.say(document=document, caption="what is in it?")
        await world.telegram.sent(n=1, chat=PRIVATE["id"])
        garden = await upload(world, large, file_name="garden.jpg", mime_type="image/jpeg")
        await world.telegram.say(document=garden, caption="and what is this?")
        await world.telegram.sent(n=2, chat=PRIVATE["id"])
        await world.telegram.say("send it back")
        sent = await world.telegram.sent(n=4, chat=PRIVATE["id"])

    assert world.messages.complaints == []
    assert [message.text for message in sent] == ["A report.", "A garden.", "Here it is.", ""]
    assert sent[3].file is not None
    assert (sent[3].file["kind"], sent[3].file["file_size"]) == ("photo", len(large))
    bodies = world.messages.bodies
    assert [shown(body, "document") for body in bodies] == [[report]] * 4
    [seen] = shown(bodies[1], "image")
    assert measure(seen) == ("image/jpeg", 1045, 1568)
    assert [shown(body, "image") for body in bodies] == [[], [seen], [seen], [seen]]


async def test_a_voice_message_is_written_down_by_the_configured_server(world: World) -> None:
    world.messages.script(Answer(text="Milk is on the list."), when="buy milk")
    async with TranscriptionServer(api_key="key-of-the-transcriber") as transcriber:
        settings = f'base_url: "{transcriber.base_url}", model: whisper-1, api_key: key-of-the-transcriber'
        world.configure(f"media: {{transcriber: {{{settings}}}}}")
        async with world.running():
            voice = await upload(world, b"OggS\0\x02 the recording", mime_type="audio/ogg", duration=2)
            await world.telegram.say(voice=voice)
            [answer] = await world.telegram.sent(n=1, chat=PRIVATE["id"])

    assert answer.text == "Milk is on the list."
    assert transcriber.requests[0].recording == b"OggS\0\x02 the recording"
    assert world.messages.complaints == []
