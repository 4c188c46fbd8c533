"""An OpenAI-compatible transcription server on loopback: strict about its form and its formats, as the real ones are."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP

from tests.emulators.http_server import HttpRequest, HttpServer, write_response

FORMATS = frozenset({"flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request gets instead of its text: an error as OpenAI words it, a body of its own, or nothing at all."""

    status: int = 200
    message: str = ""
    raw: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False
    drop: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came: path with query, headers with lower-case names, the form's fields, and the file."""

    target: str
    headers: dict[str, str]
    fields: dict[str, str]
    name: str
    recording: bytes


class TranscriptionServer(HttpServer):
    """Serves `POST /v1/audio/transcriptions` on 127.0.0.1 while entered; hears `says`. Scripted replies come first."""

    def __init__(self, *, model: str = "whisper-1", api_key: str | None = None, says: str = "buy milk") -> None:
        super().__init__()
        self.requests: list[Asked] = []
        self.model = model
        self.api_key = api_key
        self.says = says
        self._replies: list[Reply] = []

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def script(self, *replies: Reply) -> None:
        """Let the next requests get these replies, each once."""
        self._replies += replies

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        """Answer with a text, a refusal, or what was scripted."""
        self.requests.append(asked := _read(request))
        reply = self._replies.pop(0) if self._replies else self._complaint(request, asked) or Reply()
        if reply.hold:
            await self.hold()
        if reply.drop:
            return False
        body = reply.raw if reply.raw is not None else json.dumps(self._answer(reply))
        await write_response(writer, reply.status, body.encode(), reason="Said", headers=dict(reply.headers))
        return True

    def _complaint(self, request: HttpRequest, asked: Asked) -> Reply | None:
        """Return the refusal of a request that a real server would refuse."""
        key = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self.api_key is not None and key != self.api_key:
            return Reply(401, f"Incorrect API key provided: {key}.")
        if (request.method, asked.target) != ("POST", "/v1/audio/transcriptions"):
            return Reply(404, raw='{"detail":"Not Found"}')
        if asked.fields.get("model") != self.model:
            return Reply(404, f"The model `{asked.fields.get('model')}` does not exist.")
        if unknown := asked.fields.keys() - {"model", "language"}:
            return Reply(400, f"Unrecognized request argument supplied: {min(unknown)}")
        if asked.name.rpartition(".")[2] not in FORMATS:
            return Reply(400, f"Invalid file format. Supported formats: {sorted(FORMATS)}")
        return None if asked.recording else Reply(400, "Audio file is too short. Minimum audio length is 0.1 seconds.")

    def _answer(self, reply: Reply) -> dict[str, object]:
        if reply.status == 200:
            return {"text": self.says, "usage": {"type": "duration", "seconds": 3}}
        return {"error": {"message": reply.message, "type": "invalid_request_error", "param": None, "code": None}}


def _read(request: HttpRequest) -> Asked:
    """Take a form apart, as it says in its content type where its parts end."""
    head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    form = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + request.raw)
    fields: dict[str, str] = {}
    name, recording = "", b""
    for part in form.iter_parts():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        field_name = part.get_param("name", header="content-disposition")
        if field_name == "file":
            name, recording = part.get_filename() or "", content
        else:
            fields[str(field_name)] = content.decode()
    return Asked(request.target, request.headers, fields, name, recording)
