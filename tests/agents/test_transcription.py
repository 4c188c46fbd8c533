"""Voice messages over a socket: what is sent, what is tried again, what is said of failures, and nothing of the key."""

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from agents.errors import NotTranscribed, TranscriberUnavailable
from agents.providers.transcription import LONGEST_TEXT_CHARS, HttpTranscriber, foreign_exceptions
from agents.testing import ScriptedTranscriber
from agents.transcription import Transcriber, ending_of
from memory.testing import FakeClock
from tests.emulators.transcription_server import Reply, TranscriptionServer

KEY = "odd-key-of-ours-42"
VOICE = b"OggS\0\x02" + bytes(range(256))


class BriskClock(FakeClock):
    """Skips and notes the waits between attempts; the deadline, a minute and more, waits for `advance`."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if seconds >= 60:
            await super().sleep(seconds)
            return
        self.waits.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[TranscriptionServer]:
    async with TranscriptionServer(api_key=KEY) as server:
        yield server


@pytest.fixture
def clock() -> BriskClock:
    return BriskClock()


@asynccontextmanager
async def transcriber_at(
    base_url: str, clock: FakeClock, api_key: str | None = KEY, **options: Any
) -> AsyncIterator[HttpTranscriber]:
    transcriber = HttpTranscriber(base_url, "whisper-1", api_key, clock=clock, **options)
    try:
        yield transcriber
    finally:
        await transcriber.close()


@pytest.fixture
async def transcriber(server: TranscriptionServer, clock: BriskClock) -> AsyncIterator[HttpTranscriber]:
    async with transcriber_at(server.base_url, clock) as transcriber:
        yield transcriber


async def failure(transcriber: Transcriber) -> NotTranscribed:
    with pytest.raises(NotTranscribed) as caught:
        await transcriber.transcribe(VOICE)
    return caught.value


async def test_a_recording_is_written_down(server: TranscriptionServer, transcriber: HttpTranscriber) -> None:
    server.says = "  Köpfe, 頭 \n"

    assert await transcriber.transcribe(VOICE) == "Köpfe, 頭"

    [asked] = server.requests
    assert (asked.name, asked.recording, asked.fields) == ("recording.ogg", VOICE, {"model": "whisper-1"})


async def test_the_language_is_said_where_it_is_set(server: TranscriptionServer, clock: BriskClock) -> None:
    async with transcriber_at(server.base_url, clock, language="de") as transcriber:
        await transcriber.transcribe(VOICE)

    assert server.requests[0].fields == {"model": "whisper-1", "language": "de"}


async def test_a_server_of_ones_own_needs_no_key(clock: BriskClock) -> None:
    async with TranscriptionServer() as server, transcriber_at(server.base_url + "/", clock, None) as transcriber:
        assert await transcriber.transcribe(VOICE) == "buy milk"

    assert "authorization" not in server.requests[0].headers


async def test_connections_serve_again(server: TranscriptionServer, transcriber: HttpTranscriber) -> None:
    for _ in range(3):
        await transcriber.transcribe(VOICE)

    assert server.connections == 1


@pytest.mark.parametrize(
    ("recording", "ending"),
    [
        (b"OggS\0\x02", "ogg"),
        (b"\0\0\0\x1cftypM4A ", "m4a"),
        (b"RIFF\0\0\0\0WAVEfmt ", "wav"),
        (b"fLaC\0", "flac"),
        (b"\x1a\x45\xdf\xa3", "webm"),
        (b"ID3\x04", "mp3"),
        (b"\xff\xfb\x90", "mp3"),
        (b"RIFF\0\0\0\0WEBP", "ogg"),
        (b"\xff", "ogg"),
        (b"", "ogg"),
    ],
)
def test_a_recording_is_named_after_its_format(recording: bytes, ending: str) -> None:
    assert ending_of(recording) == ending


@pytest.mark.parametrize(
    "reply",
    [Reply(500), Reply(503, raw="<html>"), Reply(429), Reply(408), Reply(drop=True)],
    ids=lambda r: str(r.status),
)
async def test_what_may_pass_is_tried_again(
    server: TranscriptionServer, transcriber: HttpTranscriber, clock: BriskClock, reply: Reply
) -> None:
    server.script(reply, reply)

    assert await transcriber.transcribe(VOICE) == "buy milk"
    assert len(server.requests) == 3
    assert [0 < seconds < 5 for seconds in clock.waits] == [True, True]


async def test_a_server_is_not_asked_before_its_own_time(
    server: TranscriptionServer, transcriber: HttpTranscriber, clock: BriskClock
) -> None:
    server.script(Reply(429, headers={"retry-after": "17"}))

    assert await transcriber.transcribe(VOICE) == "buy milk"
    assert clock.waits == [17]


async def test_after_four_attempts_it_is_given_up(server: TranscriptionServer, transcriber: HttpTranscriber) -> None:
    server.script(*[Reply(503)] * 9)

    error = await failure(transcriber)

    assert len(server.requests) == 4
    assert isinstance(error, TranscriberUnavailable)
    assert error.reason == "the transcriber cannot be reached at the moment"


async def test_nobody_waits_longer_than_was_set(
    server: TranscriptionServer, transcriber: HttpTranscriber, clock: BriskClock
) -> None:
    server.script(Reply(hold=True))
    asking = asyncio.create_task(failure(transcriber))
    await server.holding()
    clock.advance(60)

    error = await asking

    assert isinstance(error, TranscriberUnavailable)
    assert "within 60 seconds" in str(error)


@pytest.mark.parametrize(
    ("reply", "detail", "reason"),
    [
        (Reply(400, "Audio file is corrupted."), "HTTP 400: Audio file is corrupted.", "could not make anything of it"),
        (Reply(413, raw="too large"), "HTTP 413", "could not make anything of it"),
        (
            Reply(401, f"Incorrect API key provided: {KEY}."),
            "provided: ***.; check media.transcriber.api_key",
            "set up",
        ),
        (Reply(403), "check media.transcriber.api_key", "set up"),
        (Reply(404, "No such model."), "check media.transcriber.base_url and model", "set up"),
        (Reply(302, headers={"location": "/v2"}), "check media.transcriber.base_url and model", "set up"),
        (Reply(raw="<html>hello</html>"), "is no transcriber", "set up"),
        (Reply(raw='{"text": 7}'), "is no transcriber", "set up"),
        (Reply(raw='["text"]'), "is no transcriber", "set up"),
    ],
    ids=range(9),
)
async def test_what_will_not_pass_is_said_at_once_to_the_owner_exactly_and_to_others_plainly(
    server: TranscriptionServer, transcriber: HttpTranscriber, reply: Reply, detail: str, reason: str
) -> None:
    server.script(reply)

    error = await failure(transcriber)

    assert len(server.requests) == 1
    assert not isinstance(error, TranscriberUnavailable)
    assert detail in str(error)
    assert reason in error.reason
    assert "127.0.0.1" not in error.reason


@pytest.mark.parametrize("base_url", ["", "whisper.local/v1", "ftp://whisper.local", "http://"])
async def test_what_is_no_address_is_not_asked(base_url: str, clock: BriskClock) -> None:
    async with transcriber_at(base_url, clock) as transcriber:
        assert "media.transcriber.base_url" in str(await failure(transcriber))


async def test_nobody_there_counts_as_out_of_reach(clock: BriskClock) -> None:
    async with TranscriptionServer() as server:
        base_url = server.base_url
    async with transcriber_at(base_url, clock) as transcriber:
        error = await failure(transcriber)

    assert isinstance(error, TranscriberUnavailable)
    assert "cannot be reached (ConnectError)" in str(error)


@pytest.mark.parametrize("api_key", ["schlüssel", "two\nlines", "a\x00b"])
async def test_a_key_that_cannot_be_one_is_never_sent(
    server: TranscriptionServer, clock: BriskClock, api_key: str
) -> None:
    async with transcriber_at(server.base_url, clock, api_key) as transcriber:
        error = await failure(transcriber)

    assert server.requests == []
    assert "media.transcriber.api_key" in str(error)
    assert api_key not in str(error)


async def test_the_key_is_in_no_log_line_error_traceback_or_repr(
    server: TranscriptionServer, transcriber: HttpTranscriber, clock: BriskClock, caplog: pytest.LogCaptureFixture
) -> None:
    base_url = server.base_url.replace("127", f"ana:{KEY}@127")
    server.script(Reply(401, f"No such key: {KEY}"), Reply(raw=KEY), *[Reply(drop=True)] * 4)
    with caplog.at_level(logging.DEBUG, "agents"):
        async with transcriber_at(base_url, clock) as wordy:
            errors = [await failure(wordy) for _ in range(3)]
        text = await transcriber.transcribe(VOICE)

    logged = str([record.__dict__ for record in caplog.records])
    told = [logged, repr(wordy), *("".join(traceback.format_exception(error)) for error in errors)]
    assert [KEY in one for one in told] == [False] * 5
    assert text not in logged
    assert "'action': 'transcribed'" in logged


async def test_a_text_is_whole_unicode_and_of_bounded_length(
    server: TranscriptionServer, transcriber: HttpTranscriber
) -> None:
    server.script(Reply(raw='{"text": "half \\ud83d"}'), Reply(raw='{"text": "' + "a " * LONGEST_TEXT_CHARS + '"}'))

    assert await transcriber.transcribe(VOICE) == "half \ufffd"
    assert len(await transcriber.transcribe(VOICE)) == LONGEST_TEXT_CHARS


def test_every_exception_of_the_client_is_known() -> None:
    known = foreign_exceptions()
    theirs = {
        value
        for value in vars(httpx2).values()
        if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning)
    }

    assert theirs
    assert [kind for kind in theirs if not issubclass(kind, known)] == []


async def test_a_closed_transcriber_that_was_never_used_closes(clock: BriskClock) -> None:
    async with transcriber_at("http://127.0.0.1:9/v1", clock):
        pass


async def test_the_double_hears_by_its_script() -> None:
    double: Transcriber = ScriptedTranscriber("hello", TranscriberUnavailable("down"))

    assert await double.transcribe(VOICE) == "hello"
    assert isinstance(await failure(double), TranscriberUnavailable)
    assert await double.transcribe(VOICE) == ""
    await double.close()
