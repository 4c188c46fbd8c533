"""Transcribers behind HTTP: any server that speaks OpenAI's `POST /audio/transcriptions`."""

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.errors import NotTranscribed, TranscriberUnavailable
from agents.retry import attempts
from agents.transcription import ending_of
from memory.clock import Clock, retry_after, within
from memory.embedders.http import name_of
from memory.embedders.http_answers import endpoint, masked, said_in
from memory.opening import Opening
from memory.paths import well_formed

if TYPE_CHECKING:
    import httpx2

LONGEST_TEXT_CHARS = 50_000  # about an hour of speech

_TRANSIENT = frozenset({408, 409, 425, 429, 499})
_REFUSED = frozenset({400, 413, 415, 422})
_UNREADABLE = "the transcriber could not make anything of it"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Http:
    """The HTTP client with its connections, and the exceptions that it lets out."""

    client: "httpx2.AsyncClient"
    foreign: tuple[type[BaseException], ...]


class HttpTranscriber:
    """A transcriber behind HTTP; implements `agents.transcription.Transcriber`.

    A request holds `file` and `model`, and `language` if given; a file is named after its format and not as people called
    it. What may pass is tried again, within `timeout_seconds` altogether. No error, log line or repr holds the key.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None,
        *,
        clock: Clock,
        language: str | None = None,
        timeout_seconds: float = 60.0,
        connect_seconds: float = 5.0,
    ) -> None:
        self._url, self._where = endpoint(base_url, "audio/transcriptions")
        self._model = model
        self._key = (api_key or "").strip()
        self._clock = clock
        self._language = language
        self._timeout_seconds = timeout_seconds
        self._connect_seconds = connect_seconds
        self._opening = Opening(self._open, name="open transcriber")

    def __repr__(self) -> str:
        return f"<HttpTranscriber {self._model!r} at {self._where}>"

    async def transcribe(self, recording: bytes) -> str:
        """Return what is said in a recording; raises `NotTranscribed` leaves."""
        if not (self._key.isascii() and self._key.isprintable()):
            raise NotTranscribed("the key has characters that no key has; check media.transcriber.api_key")
        began = self._clock.monotonic()
        try:
            text = await within(self._clock, self._timeout_seconds, self._patiently(recording))
        except TimeoutError:
            what = f"no answer from {self._where} within {self._timeout_seconds:g} seconds"
            raise TranscriberUnavailable(what) from None
        seconds = round(self._clock.monotonic() - began, 3)
        fields = {"action": "transcribed", "model": self._model, "bytes": len(recording), "seconds": seconds}
        log.info("a recording was transcribed", extra=fields)
        return text

    async def close(self) -> None:
        """Release the connections; waits for an import that is under way."""
        await self._opening.close(lambda http: http.client.aclose())

    async def _patiently(self, recording: bytes) -> str:
        return await attempts(self._clock.sleep)(self._ask, recording)

    async def _ask(self, recording: bytes) -> str:
        """Send one request and return the text of its answer."""
        http = await self._opening.get()
        if self._url is None:
            raise NotTranscribed(f"{self._where} is no address; check media.transcriber.base_url")
        fields = {"model": self._model} | ({"language": self._language} if self._language else {})
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        file = (f"recording.{ending_of(recording)}", recording)
        try:
            answer = await http.client.post(self._url, data=fields, files={"file": file}, headers=headers)
        except http.foreign as error:
            # Its text may hold the address with a password, or a header: neither goes into a traceback.
            raise TranscriberUnavailable(f"{self._where} cannot be reached ({name_of(error)})") from None
        value = _decoded(answer.content)
        if not 200 <= answer.status_code < 300:
            said = masked(said_in(value), self._key)
            raise self._failure(answer.status_code, said, retry_after(answer.headers, self._clock.now()))
        match value:
            case {"text": str(text)}:
                return well_formed(text).strip()[:LONGEST_TEXT_CHARS]
        raise NotTranscribed(f"what answers at {self._where} is no transcriber; check media.transcriber.base_url")

    def _failure(self, status: int, said: str, wait: float | None) -> NotTranscribed:
        detail = f"{self._where} answered HTTP {status}{f': {said}' if said else ''}"
        if status in _TRANSIENT or status >= 500:
            return TranscriberUnavailable(detail, retry_after_seconds=wait)
        if status in _REFUSED:
            return NotTranscribed(detail, reason=_UNREADABLE)
        what = "api_key" if status in (401, 403) else "base_url and model"
        return NotTranscribed(f"{detail}; check media.transcriber.{what}")

    def _open(self) -> _Http:
        """Import the client and read certificates: both take their time, so a thread does it."""
        import httpx2

        timeout = httpx2.Timeout(None, connect=self._connect_seconds)
        try:
            return _Http(httpx2.AsyncClient(timeout=timeout, follow_redirects=False), foreign_exceptions())
        except (ImportError, ValueError, OSError, httpx2.InvalidURL):
            raise NotTranscribed(
                "no connection can be set up with the proxies or certificates that the environment names; check "
                "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
            ) from None


def foreign_exceptions() -> tuple[type[BaseException], ...]:
    """Return what the HTTP client raises where no answer comes."""
    import httpx2

    return (httpx2.HTTPError, httpx2.StreamError, httpx2.CookieConflict, httpx2.SSEError, httpx2.InvalidURL, OSError)


def _decoded(body: bytes) -> object:
    """Return the JSON of a body; None for what is none."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value
