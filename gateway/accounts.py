"""Accounts: each platform connection under a supervisor that ends in a state, never in an exception."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.base import Adapter, MenuEntry, Ready, Receive
from adapters.errors import AdapterError, Transient, Unauthorized
from memory.clock import Clock

log = logging.getLogger(__name__)

Find = Callable[[str, str], Adapter | None]  # the adapter that serves an account, by platform and account name
State = Literal["starting", "connected", "waiting", "revoked"]

FIRST_WAIT_SECONDS = 1.0
LASTING_SECONDS = 60.0  # a connection that ends sooner is no sign that all is well again
LONGEST_WAIT_SECONDS = 90.0  # Discord lets a bot begin a thousand sessions a day, and takes its token away after that


@dataclass(slots=True)
class Account:
    """One connection and how it is. `reason` says why it is not connected; the rest as in `Ready`.

    `failures` are those in a row, and `connected_at` is the clock's monotonic seconds when it last came to be connected.
    """

    adapter: Adapter
    state: State = "starting"
    name: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    unseen: str = ""
    failures: int = 0
    connected_at: float = 0.0

    @property
    def label(self) -> str:
        """The account as people know it: `telegram/personal`."""
        return f"{self.adapter.platform}/{self.adapter.account}"


class Accounts:
    """All accounts of the gateway; a platform that is down delays only itself."""

    def __init__(self, adapters: Iterable[Adapter], clock: Clock, *, on_ready: Callable[[str, str], None]) -> None:
        self._accounts: dict[tuple[str, str], Account] = {(a.platform, a.account): Account(a) for a in adapters}
        self._clock = clock
        self._on_ready = on_ready

    def find(self, platform: str, account: str) -> Adapter | None:
        """Return the adapter that serves an account. In the terminal one adapter serves every agent."""
        key = ("terminal", "local") if platform == "terminal" else (platform, account)
        found = self._accounts.get(key)
        return found.adapter if found else None

    def serves(self, platform: str, account: str) -> bool:
        """Tell whether this process connects an account."""
        return self.find(platform, account) is not None

    @property
    def all(self) -> Sequence[Account]:
        """Every account, in the order of the configuration."""
        return tuple(self._accounts.values())

    async def supervise(self, account: Account, receive: Receive, menu: Sequence[MenuEntry]) -> None:
        """Keep one account connected until it is revoked; returns only then. What is our own fault is raised."""

        def ready(state: Ready) -> None:
            new = [warning for warning in state.warnings if warning not in account.warnings]
            if account.state != "connected":
                account.connected_at = self._clock.monotonic()
            account.state, account.name, account.reason = "connected", state.name, ""
            account.warnings, account.unseen = state.warnings, state.unseen
            log.info("connected", extra={"action": "connected", "account": account.label, "bot": state.name})
            for warning in new:  # what was said before is in the log, and in the status
                log.warning(warning, extra={"action": "account_warning", "account": account.label})
            self._on_ready(account.adapter.platform, account.adapter.account)

        while True:
            try:
                await self._run(account.adapter, receive, ready, menu)
                raise Transient("the connection ended")
            except Unauthorized as error:
                account.state, account.reason = "revoked", str(error)
                log.error(
                    "not connected until started again: %s",
                    error,
                    extra={"action": "revoked", "account": account.label},
                )
                return
            except AdapterError as error:
                wait = self._wait(account, error)
                account.state, account.reason = "waiting", str(error)
                extra = {"action": "waiting", "account": account.label, "next_try_seconds": round(wait, 1)}
                log.warning("not connected: %s", error, extra=extra)
                await self._clock.sleep(wait)

    async def _run(
        self, adapter: Adapter, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]
    ) -> None:
        """Run an adapter until it ends, as it ends; one that hears nothing any more is ended with `Transient`."""
        running = asyncio.create_task(adapter.run(receive, ready, menu), name=f"{adapter.platform}/{adapter.account}")
        watching = asyncio.create_task(self._watch(adapter), name=f"watch {adapter.platform}/{adapter.account}")
        deaf = False
        try:
            await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
            deaf = not running.done()
        finally:
            for task in (running, watching):
                task.cancel()
            await asyncio.wait((running, watching))
        if deaf:
            raise Transient(f"nothing was heard for {adapter.healthy_within_seconds:g} seconds")
        if not running.cancelled():
            running.result()

    async def _watch(self, adapter: Adapter) -> None:
        """Return when an adapter has heard nothing for too long, counted from now; never where silence says nothing."""
        within = adapter.healthy_within_seconds
        if within is None:
            await asyncio.get_running_loop().create_future()
            return
        started = self._clock.monotonic()
        while (left := max(started, adapter.heard_at) + within - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)

    def _wait(self, account: Account, error: AdapterError) -> float:
        """Return how long to wait after a failure: longer each time, until a connection has lasted."""
        if account.state == "connected" and self._clock.monotonic() - account.connected_at >= LASTING_SECONDS:
            account.failures = 0
        account.failures += 1
        asked = error.retry_after_seconds if isinstance(error, Transient) else None
        return max(asked or 0.0, wait_after(account.failures))

    async def close(self) -> None:
        """Release every connection."""
        for account in self._accounts.values():
            await account.adapter.close()


def wait_after(failures: int) -> float:
    """Return how many seconds to wait after so many failures in a row, at least one."""
    return min(FIRST_WAIT_SECONDS * 2.0 ** min(failures - 1, 10), LONGEST_WAIT_SECONDS)
