"""The proxies that the environment names, asked for once a host: the HTTP client would ask in a thread at every request."""

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_BENEATH = {"wss": "https", "ws": "http"}  # a socket begins as a request, and takes its way


class Proxies:
    """Which proxy leads to which host, as every program of this machine is told: by variables, or by its settings."""

    def __init__(
        self,
        *,
        proxies: Callable[[], Mapping[str, str]] = getproxies,
        is_direct: Callable[[str], bool | int] = proxy_bypass,
    ) -> None:
        self._proxies = proxies
        self._is_direct = is_direct
        self._known: dict[tuple[str, str], str | None] = {}

    async def to(self, url: str) -> str | None:
        """Return the address of the proxy on the way to a URL, with what opens it; None where there is none."""
        place = urlsplit(url)
        key = _BENEATH.get(place.scheme, place.scheme), place.hostname or ""
        if key not in self._known:
            self._known[key] = await asyncio.to_thread(self._found, *key)  # it may ask the system, or a name server
        return self._known[key]

    def forget(self) -> None:
        """Ask again from now on: a machine can be moved to another network."""
        self._known.clear()

    def _found(self, scheme: str, host: str) -> str | None:
        found = None if self._is_direct(host) else self._proxies().get(scheme)
        return None if found is None or found.startswith("https:") else found  # one that speaks TLS cannot be used
