"""The journal of what an agent wrote to memory: one JSON line for each write, apart from the files that people read."""

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from memory.clock import Clock
from memory.paths import well_formed


class Journal:
    """An append-only JSONL file, made (0600) with the first entry. Synchronous, and safe to share between threads.

    An entry is written and synced before the file that it speaks of changes: then nothing is in memory without its
    origin. After a crash or a failing disk there may be an entry whose change did not happen; the hash tells.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()

    def record(self, *, session: str, messages: Sequence[str], tool: str, path: str, content: bytes) -> None:
        """Append an entry: who caused the write, size and SHA-256 of the file's whole new content; raises OSError."""
        entry = {
            "time": self._clock.now().isoformat(timespec="milliseconds"),
            "session": session,
            "messages": list(messages),
            "tool": tool,
            "path": path,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        line = well_formed(json.dumps(entry, ensure_ascii=False)).encode() + b"\n"
        with self._lock:
            self._append(line)

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with open(file, "r+b", buffering=0) as stream:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line  # a crash cut the last entry short; it must not swallow this one
            while line:
                line = line[stream.write(line) :]
            os.fsync(file)
