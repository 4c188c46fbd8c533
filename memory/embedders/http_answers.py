"""What an OpenAI-compatible embedding server answers, read and told apart by what we do about it. No I/O."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory.clock import retry_after
from memory.errors import EmbedderError, EmbedderUnavailable, EmbedderUnusable, TextRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.embedders.base import Vectors

_TRANSIENT = frozenset({408, 409, 425, 429, 499})
_REFUSED = frozenset({400, 413, 414, 422})
_SAID_CHARS = 200
_SECRETS = re.compile(r"sk-[A-Za-z0-9_*-]{8,}|AIza[A-Za-z0-9_-]{8,}|(?<=Bearer )[^\s'\",]+|(?<=://)[^\s/@]+(?=@)")
_MARKUP = re.compile(r"<\s*[!/a-z]", re.IGNORECASE)
# llama.cpp and Ollama blame themselves (500) for texts that are too long or of which the model makes NaN.
_OWN_FAULT = re.compile(
    r"too (large|long|big)\b|context (length|size|window)|(input|sequence) length|batch size|\bNaN\b", re.IGNORECASE
)
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|no credit", re.IGNORECASE)


class Refused(TextRefused):
    """These texts were refused; `said` are the server's words, which may repeat the texts: not for a sentence."""

    def __init__(self, sentence: str, said: str = "") -> None:
        super().__init__(sentence)
        self.said = said


class ServerFault(EmbedderUnavailable):
    """The server blames itself (500): it may pass, or the texts are the trouble although it does not say so."""


@dataclass(frozen=True, slots=True)
class Server:
    """Whom we ask, as far as sentences need it: `where` is its host and path, without user, password and query."""

    where: str
    model: str
    has_key: bool


def endpoint(base_url: str, service: str = "embeddings") -> tuple[str | None, str]:
    """Return the address of a service, and host and path of `base_url` for people and for the identity.

    The address is None where `base_url` is none: no http or https, no host, or a port that does not exist.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None, "its address"
    path = parts.path.rstrip("/").removesuffix(f"/{service}")
    host = f"[{host}]" if host and ":" in host else host
    where = f"{host}{f':{port}' if port is not None else ''}{path}"
    if parts.scheme not in ("http", "https") or not host:
        return None, where if host else "its address"
    return parts._replace(path=f"{path}/{service}", fragment="").geturl(), where


def failure(server: Server, status: int, headers: Mapping[str, str], body: bytes, *, now: datetime) -> EmbedderError:
    """Return the error that an answer other than 200 stands for. Its sentence quotes nothing of the answer."""
    return _failure(server, status, said_in(_decoded(body)), retry_after(headers, now))


def vectors(server: Server, body: bytes, count: int, *, dimension: int | None) -> "Vectors":
    """Return the rows of an answer to `count` texts in their order, float32, unit length.

    Raises `EmbedderUnusable` for what is no list of embeddings, or has another dimension than `dimension`, `Refused`
    when rows are missing or unusable, and what an error inside of the answer stands for.
    """
    import numpy as np

    value = _decoded(body)
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, list):
        raise _error_inside(server, value)
    try:
        numbers = [_numbers(entry) for entry in _in_order(server, data, count)]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _no_embeddings(server) from None
    found = {len(row) for row in numbers}
    if len(found) > 1:
        raise EmbedderUnusable(
            f"The embedding server at {server.where} gave vectors of different lengths in one answer "
            f"({', '.join(map(str, sorted(found)))}); check memory.embedder.model."
        )
    matrix = np.stack(numbers)
    if dimension is not None and matrix.shape[1] not in (0, dimension):
        raise EmbedderUnusable(
            f"The embedding server at {server.where} gave vectors of {matrix.shape[1]} numbers where {dimension} "
            "were expected; check memory.embedder.model, and restart."
        )
    # Scaled first: the squares of very large or small numbers do not fit.
    largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
    if not np.isfinite(largest).all() or not (largest > 0).all():
        raise Refused(f"The embedding server at {server.where} gave no usable numbers (NaN, infinite or all zero).")
    matrix = matrix / largest
    rows: Vectors = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    return rows


def said_in(value: Any) -> str:
    """Return the server's own words in a decoded error: one line, at most 200 characters, no markup, keys as `***`."""
    if isinstance(value, list) and value:
        value = value[0]  # Gemini wraps its errors so
    said: Any = value
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and isinstance(said.get(name), str | dict):
            said = said[name]
    if not isinstance(said, str) or _MARKUP.search(said):
        return ""
    said = " ".join(_SECRETS.sub("***", said).split())
    kind = value.get("error", value) if isinstance(value, dict) else {}
    code = kind.get("code") if isinstance(kind, dict) else None
    said = f"{said} ({code})" if isinstance(code, str) and code.isidentifier() else said
    return said if len(said) <= _SAID_CHARS else f"{said[:_SAID_CHARS]}…"


def masked(text: str, key: str) -> str:
    """Return `text` with the key as `***`."""
    return text.replace(key, "***") if key else text


def _failure(server: Server, status: int, said: str, wait: float | None) -> EmbedderError:
    where = server.where
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(said)):
        return EmbedderUnusable(f"The account at {where} has no credit left; look into it at the provider.")
    if status == 500 and not _OWN_FAULT.search(said):
        return ServerFault(f"The embedding server at {where} has a fault (HTTP 500); its log may say which.")
    if status in _REFUSED or status == 500:
        return Refused(f"The embedding server at {where} refused the text (HTTP {status}).", said)
    if status == 429:
        asked = "" if wait is None else f" for {wait:.0f} seconds"
        return EmbedderUnavailable(f"The embedding server at {where} asks to wait{asked} (HTTP 429).", wait)
    if status in _TRANSIENT or status > 500:
        return EmbedderUnavailable(f"The embedding server at {where} is not available (HTTP {status}).", wait)
    if status in (401, 403):
        what = "does not accept the key" if server.has_key else "asks for a key"
        todo = "check" if server.has_key else "set"
        return EmbedderUnusable(
            f"The embedding server at {where} {what} (HTTP {status}); {todo} memory.embedder.api_key."
        )
    if 300 <= status < 400:
        return EmbedderUnusable(
            f"{where} sends us on to another address (HTTP {status}), which is not followed; put the final address into "
            "memory.embedder.base_url."
        )
    if status == 404 and re.search(r"\bmodels?\b", said, re.IGNORECASE):
        return EmbedderUnusable(
            f"The embedding server at {where} has no model “{server.model}”; check memory.embedder.model."
        )
    return EmbedderUnusable(
        f"Nothing at {where} makes embeddings (HTTP {status}); check memory.embedder.base_url and "
        "memory.embedder.model."
    )


def _error_inside(server: Server, value: Any) -> EmbedderError:
    """Return the error for an answer that says 200 and has no data: some servers put their errors there."""
    error = value.get("error") if isinstance(value, dict) else None
    if error is None:
        return _no_embeddings(server)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 404
    return _failure(server, status, said_in(value), None)


def _no_embeddings(server: Server) -> EmbedderUnusable:
    return EmbedderUnusable(
        f"What answers at {server.where} is no embedding server, or of another kind; check memory.embedder.base_url."
    )


def _in_order(server: Server, data: list[Any], count: int) -> list[dict[str, Any]]:
    """Return the entries in the order of the texts: by their index, which some leave out where it is 0 or everywhere."""
    if len(data) != count or not count:
        raise Refused(f"The embedding server at {server.where} gave {len(data)} vectors for {count} texts.")
    if not all(isinstance(entry, dict) for entry in data):
        raise _no_embeddings(server)
    places = [position if entry.get("index") is None else entry["index"] for position, entry in enumerate(data)]
    if all(place == 0 for place in places):
        return data  # a known fault of a widely used proxy, which keeps the order
    if any(not isinstance(place, int) for place in places) or sorted(places) != list(range(count)):
        raise Refused(f"The embedding server at {server.where} numbered the vectors in a way that fits no texts.")
    return [data[position] for position in sorted(range(count), key=places.__getitem__)]


def _numbers(entry: Mapping[str, Any]) -> "NDArray[np.float64]":
    """Return the embedding of an entry, a list of numbers or little-endian float32 in base64."""
    import numpy as np

    value = entry["embedding"]
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float64)
    if not isinstance(value, list):
        raise TypeError(type(value).__name__)
    row: NDArray[np.float64] = np.array(value, dtype=np.float64)
    if row.ndim != 1:
        raise ValueError(row.ndim)
    return row


def _decoded(body: bytes) -> Any:
    """Return the JSON of a body; None for what is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
