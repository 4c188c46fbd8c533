"""llmock as a process: a server that others wrote, for the ways in which a call of a model fails."""

import json
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

_RUNNING = re.compile(rb"running on (http://127\.0\.0\.1:\d+)")


class LlmockProcess:
    """Runs llmock on a free port of 127.0.0.1 while entered."""

    def __init__(self) -> None:
        self._root = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = [str(Path(sys.executable).with_name("llmock")), "serve", "-h", "127.0.0.1", "-p", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = self._process.stdout
        assert output is not None
        said = []
        for line in output:
            said.append(line)
            if found := _RUNNING.search(line):
                self._root = found[1].decode()
                threading.Thread(target=_forget, args=(output,), daemon=True).start()
                return self
        raise RuntimeError(f"llmock did not start: {b''.join(said).decode()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    @property
    def base_url(self) -> str:
        """The address to give to a client of the Messages API."""
        return f"{self._root}/anthropic"

    def script(self, *behaviours: Mapping[str, Any]) -> None:
        """Forget everything so far and let the next requests meet these behaviours, each once."""
        self._post("reset", {})
        self._post("scenario", {"behaviors": [*behaviours]})

    def seen(self) -> int:
        """Return how many requests came since the last script."""
        with urllib.request.urlopen(f"{self._root}/_llmock/requests") as answer:
            seen = json.load(answer)
        return len(seen["requests"] if isinstance(seen, dict) else seen)

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        request = urllib.request.Request(f"{self._root}/_llmock/{path}", data=json.dumps(body).encode(), method="POST")
        urllib.request.urlopen(request).close()


def _forget(output: IO[bytes]) -> None:
    """Read what the process writes until it ends, so that it never waits for us."""
    with output, open("/dev/null", "wb") as nowhere:
        shutil.copyfileobj(output, nowhere)
