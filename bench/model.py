"""The Messages API server in its own process, with what it says of its answers: when they were asked for, when whole."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, get_args

import httpx

from tests.contract.processes import end, environment

Manner = Literal["at once", "after 2 s", "in 3 s"]

_WORDS = "Here is an answer of about twenty words, streamed word by word as a model does it, and it was written {}."
ANSWERS: Mapping[Manner, str] = {manner: _WORDS.format(manner) for manner in get_args(Manner)}
_TIMES: Mapping[Manner, Mapping[str, float]] = {
    "at once": {},
    "after 2 s": {"delay_seconds": 2.0},
    "in 3 s": {"pace_seconds": 3.0 / len(_WORDS.split())},
}

_NUMBER = re.compile(r"#(\d+)")


@dataclass(frozen=True, slots=True)
class Served:
    """An answer of the model, to the message that has `#number` in it: asked for, and whole. Times in Unix seconds."""

    number: int
    asked_at: float
    whole_at: float

    @property
    def seconds(self) -> float:
        """What the model took."""
        return self.whole_at - self.asked_at


class Model:
    """The server's controls. A message that names a manner is answered in that manner, with the text of `ANSWERS`."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid
        self._http = httpx.AsyncClient(base_url=url, timeout=60, trust_env=False)
        self._last = 0

    async def script(self) -> None:
        """Say what is answered in which manner."""
        for manner, text in ANSWERS.items():
            answer = {"text": text, "when": manner, "times": None, **_TIMES[manner]}
            (await self._http.post("/_script", json=answer)).raise_for_status()

    async def served(self) -> list[Served]:
        """Return the answers since one last asked."""
        found = (await self._http.get("/_served", params={"after": self._last})).json()
        self._last = max((one["number"] for one in found), default=self._last)
        marked = ((_NUMBER.findall(one["text"]), one) for one in found)
        return [Served(int(numbers[-1]), one["at"], one["until"]) for numbers, one in marked if numbers]

    async def close(self) -> None:
        """Release the connection."""
        await self._http.aclose()


@asynccontextmanager
async def model_server() -> AsyncIterator[Model]:
    """Run the Messages API server."""
    command = (sys.executable, "-m", "tests.emulators.messages_server", "--no-caching")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment())
    assert process.stdout is not None
    found = re.search(rb"http://[\d.:]+", await process.stdout.readline())
    assert found is not None
    model = Model(found.group().decode(), process.pid)
    try:
        await model.script()
        yield model
    finally:
        await model.close()
        await end(process)
