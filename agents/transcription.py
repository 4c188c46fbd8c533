"""Recordings and what they say: the port of a transcriber, and which kind of file a recording is. Pure."""

from typing import Protocol


class Transcriber(Protocol):
    """Writes down what is said in recordings. Raises `NotTranscribed` leaves only."""

    async def transcribe(self, recording: bytes) -> str:
        """Return what is said, "" where nothing is; waits and asks again where that may help."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def ending_of(recording: bytes) -> str:
    """Return the ending of a name for a recording, by its first bytes: servers tell formats apart by it."""
    if recording[4:8] == b"ftyp":
        return "m4a"
    if recording.startswith(b"RIFF") and recording[8:12] == b"WAVE":
        return "wav"
    for beginning, ending in ((b"OggS", "ogg"), (b"fLaC", "flac"), (b"\x1a\x45\xdf\xa3", "webm"), (b"ID3", "mp3")):
        if recording.startswith(beginning):
            return ending
    is_mpeg = len(recording) > 1 and recording[0] == 0xFF and recording[1] & 0xE0 == 0xE0
    return "mp3" if is_mpeg else "ogg"  # which most voice messages are
