"""Embeddings of any server that speaks OpenAI's `POST /embeddings`: hosted ones, Ollama, vLLM, LM Studio, llama.cpp."""

import asyncio
import json
import re
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from memory.clock import Clock, within
from memory.embedders.base import Kind
from memory.embedders.batches import BatchSize, batches
from memory.embedders.http_answers import Refused, Server, ServerFault, endpoint, failure, masked, vectors
from memory.embedders.http_retry import attempts
from memory.errors import EmbedderError, EmbedderUnavailable, EmbedderUnusable, TextRefused
from memory.opening import Opening
from memory.paths import well_formed

if TYPE_CHECKING:
    import httpx2

    from memory.embedders.base import Vectors

T = TypeVar("T")

LONGEST_CHARACTERS = 24_000  # about 8,000 tokens, the limit of the common models
SHORTEST_CHARACTERS = 200  # a text that is refused at this length is not refused for it
PROBE = "hello"


@dataclass(frozen=True, slots=True)
class _Http:
    """The HTTP client with its connections, and what each of its exceptions means."""

    client: "httpx2.AsyncClient"
    meanings: Mapping[type[BaseException], Callable[[str, str], EmbedderError]]
    foreign: tuple[type[BaseException], ...]


class HttpEmbedder:
    """An embedder behind HTTP; implements `memory.embedders.base.Embedder`.

    A request holds `model` and `input`, and `dimensions` if given: every other field is refused by some server. Models
    of the e5 family get `query: ` or `passage: ` before each text, as they were trained; others get the text alone.
    Texts are cut at 24,000 characters, and shorter where the server refuses a text only for its length. What may pass
    is tried again: four times and up to 60 seconds each for passages, twice within 10 seconds altogether for a query,
    which does not wait for passages either. No sentence, log line or repr holds the key or a text.
    """

    provider = "http"

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None,
        *,
        clock: Clock,
        dimensions: int | None = None,
        connect_seconds: float = 5.0,
        passage_seconds: float = 60.0,
        query_seconds: float = 10.0,
    ) -> None:
        self._url, where = endpoint(base_url)
        self._key = (api_key or "").strip()
        self._server = Server(where, model, has_key=bool(self._key))
        self._clock = clock
        self._asked_dimension = dimensions
        self._dimension: int | None = None
        self._connect_seconds = connect_seconds
        self._passage_seconds = passage_seconds
        self._query_seconds = query_seconds
        self._prefixes = _prefixes(model)
        self._turns: Mapping[Kind, asyncio.Lock] = {"query": asyncio.Lock(), "passage": asyncio.Lock()}
        self._opening = Opening(self._open, name=f"open embedder {model}")
        self._closed = False

    def __repr__(self) -> str:
        return f"<HttpEmbedder {self.model!r} at {self._server.where}>"

    @property
    def model(self) -> str:
        """The model's name, as its server knows it."""
        return self._server.model

    @property
    def identity(self) -> str:
        """Everything that decides the numbers, as far as we know it: host and path, model, dimension, prefixes."""
        parts = [self.provider, self._server.where, self.model, str(self._asked_dimension or "own")]
        return "|".join([*parts, "prefixed"] if any(self._prefixes.values()) else parts)

    @property
    def dimension(self) -> int | None:
        """The length of the vectors: the one asked for, or learnt from the first answer; None before it."""
        return self._asked_dimension or self._dimension

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        """Return a unit vector for each text, float32, shape (len(texts), dimension); raises `EmbedderError` leaves."""
        work = self._in_turn(texts, kind)
        return await (self._within(self._query_seconds, work) if kind == "query" else work)

    async def close(self) -> None:
        """Release the connections; may be called twice."""
        self._closed = True
        await self._opening.close(lambda http: http.client.aclose())

    async def _in_turn(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        async with self._turns[kind]:
            self._refuse_to_start(texts)
            await self._opening.get()
            import numpy as np

            prefix = self._prefixes[kind]
            ready = [prefix + well_formed(text)[:LONGEST_CHARACTERS] for text in texts]
            rows = [await self._batch(batch, kind) for batch in batches(ready, BatchSize())]
            return np.concatenate(rows) if rows else np.zeros((0, self.dimension or 0), dtype=np.float32)

    def _refuse_to_start(self, texts: Sequence[str]) -> None:
        if self._closed:
            raise EmbedderUnavailable(f"The connection to the embedding server at {self._server.where} is closed.")
        if self._url is None:
            raise _bad_address(self._server.where, "")
        if not (self._key.isascii() and self._key.isprintable()):
            raise EmbedderUnusable(
                "The embedding server's key has characters that no key has; check memory.embedder.api_key."
            )
        if any(not text.strip() for text in texts):
            raise TextRefused("An empty text has no meaning to embed.")

    async def _batch(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        """Return the rows of one request; a refusal is believed only if a harmless text goes through."""
        try:
            return await self._patiently(texts, kind)
        except (TextRefused, ServerFault) as error:
            refused = error
        if isinstance(refused, TextRefused) and len(texts) > 1 and self._dimension is not None:
            raise refused  # the half that is refused down to its last text will tell
        await self._prove_usable(kind)
        if len(texts) > 1:
            raise TextRefused(f"The embedding server at {self._server.where} refused these texts, or their number.")
        return await self._shortened(texts[0], kind, refused)

    async def _prove_usable(self, kind: Kind) -> None:
        """Embed a plain word; raises `EmbedderUnusable` with the server's own words if that is refused as well."""
        try:
            await self._patiently([PROBE], kind)
        except TextRefused as error:
            said = masked(error.said, self._key) if isinstance(error, Refused) else ""
            raise EmbedderUnusable(
                f"{error} It is so with every text{f' (“{said}”)' if said else ''}; check the base_url, model and "
                "api_key of memory.embedder."
            ) from None

    async def _shortened(self, text: str, kind: Kind, refused: EmbedderError) -> "Vectors":
        """Return the row of the longest half, quarter … of a text that its server accepts; raises `TextRefused`."""
        while len(text) > SHORTEST_CHARACTERS:
            text = text[: max(len(text) // 2, SHORTEST_CHARACTERS)]
            try:
                return await self._patiently([text], kind)
            except (TextRefused, ServerFault) as error:
                refused = error
        raise TextRefused(str(refused)) from None

    async def _patiently(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        return await attempts(kind, self._clock.sleep)(self._ask, texts)

    async def _ask(self, texts: Sequence[str]) -> "Vectors":
        """Send one request and return its rows."""
        status, headers, body = await self._within(self._passage_seconds, self._exchange(texts))
        if not 200 <= status < 300:
            raise failure(self._server, status, headers, body, now=self._clock.now())
        rows = await asyncio.to_thread(vectors, self._server, body, len(texts), dimension=self.dimension)
        self._dimension = rows.shape[1]
        return rows

    async def _exchange(self, texts: Sequence[str]) -> tuple[int, Mapping[str, str], bytes]:
        http = await self._opening.get()
        assert self._url is not None
        fields: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if self._asked_dimension is not None:
            fields["dimensions"] = self._asked_dimension
        headers = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {self._key}"} if self._key else {}),
        }
        try:
            answer = await http.client.post(self._url, content=json.dumps(fields).encode(), headers=headers)
        except http.foreign as error:
            meaning = next((http.meanings[base] for base in type(error).__mro__ if base in http.meanings), _unreachable)
            # Its text may hold the address with a password, or a header: neither goes into a traceback.
            raise meaning(self._server.where, name_of(error)) from None
        return answer.status_code, answer.headers, answer.content

    async def _within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns, or raise `EmbedderUnavailable` when it takes longer on the clock."""
        try:
            return await within(self._clock, seconds, work)
        except TimeoutError:
            raise EmbedderUnavailable(
                f"The embedding server at {self._server.where} did not answer within {seconds:g} seconds."
            ) from None

    def _open(self) -> _Http:
        """Import the client and numpy, and read certificates: all take their time, so a thread does it."""
        import httpx2

        try:
            import numpy  # noqa: F401 - here, so that the event loop finds it loaded
        except ImportError:
            raise EmbedderUnusable("Vectors need numpy; install scrubjay with its extra “local”.") from None
        meanings = foreign_meanings()
        timeout = httpx2.Timeout(None, connect=self._connect_seconds)
        try:
            client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False)
        except (ImportError, ValueError, OSError, httpx2.InvalidURL):
            raise EmbedderUnusable(
                "No connection to the embedding server can be set up with the proxies or certificates that the "
                "environment names; check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."
            ) from None
        return _Http(client, meanings, tuple(meanings))


def foreign_meanings() -> dict[type[BaseException], Callable[[str, str], EmbedderError]]:
    """Return what each exception of the HTTP client means, made from our server's place and the exception's name.

    One that is not named means what its nearest base means.
    """
    import httpx2

    return {
        httpx2.HTTPError: _unreachable,
        httpx2.StreamError: _unreachable,
        httpx2.CookieConflict: _unreachable,
        httpx2.SSEError: _unreachable,
        OSError: _unreachable,
        httpx2.UnsupportedProtocol: _bad_address,
        httpx2.InvalidURL: _bad_address,
    }


def name_of(error: BaseException) -> str:
    """Return what to call a foreign exception: its type, or the certificate if that is at the bottom of it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its certificate is not trusted here"
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def _unreachable(where: str, name: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"The embedding server at {where} cannot be reached ({name}); check that it runs, and memory.embedder.base_url."
    )


def _bad_address(where: str, name: str) -> EmbedderUnusable:
    return EmbedderUnusable(
        f"No embedding server can be asked at {where}: memory.embedder.base_url must be an http or https address."
    )


def _prefixes(model: str) -> Mapping[Kind, str]:
    """Return what stands before a text of each kind. The instruction-tuned kin of e5 wants other words: it gets none."""
    name = model.casefold()
    if re.search(r"(?<![a-z0-9])e5(?![a-z0-9])", name) and "instruct" not in name:
        return {"query": "query: ", "passage": "passage: "}
    return {"query": "", "passage": ""}
