"""`scrubjay run`, killed without warning at a named point of a message's life: python -m … POINT --home HOME."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from adapters.base import DeadLetter, Migration
from gateway.app import open_gateway
from gateway.config import load_config
from gateway.inbox import Arrival, Outcome, Part, Receipt
from gateway.outbox import Parcel
from gateway.store import Store

POINTS = ("after the commit", "after the reply is committed", "between two parts", "before the mark")


def kill_myself() -> NoReturn:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def store_that_kills(point: str) -> type[Store]:
    """Return the real store, which does its work and ends the process at the point."""

    class KillingStore(Store):
        async def accept(
            self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
        ) -> list[Receipt]:
            receipts = await super().accept(arrivals, migrations=migrations, dead=dead)
            if point == "after the commit" and receipts:
                kill_myself()
            return receipts

        async def finish_turn(self, turn: str, outcome: Outcome, parts: Sequence[Part]) -> None:
            await super().finish_turn(turn, outcome, parts)
            if point == "after the reply is committed":
                kill_myself()

        async def sent(self, parcel: Parcel, platform_id: str) -> None:
            if point == "before the mark":
                kill_myself()
            await super().sent(parcel, platform_id)
            if point == "between two parts":
                kill_myself()

    return KillingStore


async def main(point: str, home: Path) -> None:
    """Serve the home until the point is reached."""
    config = load_config(home / "scrubjay.yaml", environment=os.environ, home=home)
    async with open_gateway(config, store=store_that_kills(point).open):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[3])))
