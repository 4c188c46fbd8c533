"""The connection to Discord: its gateway and its API, through the SDK. The only file with it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import aiohttp
import discord
from discord import errors as sdk
from discord.http import HTTPClient, Route
from yarl import URL

from adapters.discord import calls, files, refusals, translate
from adapters.discord.calls import Call
from adapters.discord.mentions import Me
from adapters.discord.refusals import Purpose
from adapters.discord.rights import Channel, Kind, Server
from adapters.discord.translate import Place
from adapters.errors import AdapterError, Rejected, Transient, Unknown

REQUEST_SECONDS = 30
UPLOAD_SECONDS = 120
GUILDS_SECONDS = 1.0  # without another server being described, after which we take it that there is none

_BYTES = "application/octet-stream"
_READS = discord.Permissions(view_channel=True, read_message_history=True)
# What we read ourselves. The SDK would make objects of these that we have no use for, and stop at what is odd to it.
_OURS = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE")

# The SDK's names for what may change our rights somewhere.
_RIGHTS = frozenset({"guild_join", "guild_remove", "guild_update", "guild_role_update", "guild_role_delete"})
_RIGHTS |= {"guild_channel_create", "guild_channel_update", "guild_channel_delete"}

# The SDK misses what voice would need, aloud, at the first client; we have no voice.
discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False

T = TypeVar("T")


class ContentRefused(Exception):
    """Discord does not let this bot have the content of messages."""


class _Refused(Exception):
    """An answer of Discord that is no success."""

    def __init__(self, status: int, answer: Any, retry_after: float | None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.answer = answer
        self.retry_after = retry_after


async def _refuse(session: aiohttp.ClientSession, context: object, parameters: aiohttp.TraceRequestEndParams) -> None:
    """Raise what Discord refuses before the SDK sees it: it would wait by itself, and try again up to five times."""
    response = parameters.response
    if response.status < 400:
        return
    text = await response.text(errors="replace")
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    header = response.headers.get("Retry-After", "")
    raise _Refused(response.status, answer, float(header) if header.replace(".", "", 1).isdecimal() else None)


class _Http(HTTPClient):
    """The SDK's requests, to other addresses than Discord's where tests give them. It keeps to the limits it is told."""

    def __init__(self, loop: asyncio.AbstractEventLoop, api_url: str | None, gateway_url: str | None) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_end.append(_refuse)
        super().__init__(loop, http_trace=trace)
        self._api_url = (api_url or Route.BASE).rstrip("/")
        self._gateway_url = gateway_url
        self._still_until = 0.0

    async def request(self, route: Route, **arguments: Any) -> Any:
        """Carry out a request. While Discord asks the whole bot for silence, raise that without asking."""
        now = asyncio.get_running_loop().time()
        if now < self._still_until:
            raise refusals.flood(round(self._still_until - now, 3))
        route.url = self._api_url + route.url.removeprefix(Route.BASE)
        try:
            return await super().request(route, **arguments)
        except _Refused as refused:
            if seconds := refusals.silence_for_all(refused.status, refused.answer, retry_after=refused.retry_after):
                self._still_until = asyncio.get_running_loop().time() + seconds
            raise

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """Open the gateway's socket."""
        if self._gateway_url is not None:
            url = str(URL(self._gateway_url).with_query(URL(url).query))
        return await super().ws_connect(url, compress=compress)


class Client(discord.Client):
    """The SDK's client, which keeps the connection and knows our servers. Implements `connection.Connection`."""

    def __init__(
        self, alive: Callable[[], None], reads_content: bool, api_url: str | None, gateway_url: str | None
    ) -> None:
        self.on_event: Callable[[str, Mapping[str, Any]], None] = lambda name, payload: None
        self.on_rights: Callable[[], None] = lambda: None
        self._alive = alive
        self._addresses = (api_url, gateway_url)
        self._raw: str | bytes = ""
        self._described = asyncio.Event()
        self._places: dict[str, Place] = {}
        super().__init__(
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=reads_content),
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            guild_ready_timeout=GUILDS_SECONDS,
            enable_debug_events=True,
        )
        parsers = self._connection.parsers
        for name in _OURS:
            del parsers[name]
        parsers["GUILD_CREATE"] = partial(self._describe, parsers["GUILD_CREATE"])

    def _get_state(self, **options: Any) -> Any:
        self.http = _Http(self.loop, *self._addresses)
        return super()._get_state(**options)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Take what the socket heard, in its order and as it came; the SDK calls this for each event."""
        if event == "socket_raw_receive":
            self._raw = args[0]
            self._alive()
        elif event == "socket_event_type":
            self._take(args[0])
        elif event == "ready":
            self._described.set()
        elif event in _RIGHTS or (event == "member_update" and args[1] == args[1].guild.me):
            self.on_rights()

    def _take(self, name: str) -> None:
        if name == "READY":
            self._described.clear()
            self.on_event(name, {})
        elif name in _OURS:
            self.on_event(name, json.loads(self._raw)["d"])

    def _describe(self, parse: Callable[[Any], None], guild: Any) -> None:
        """Notice the last of our servers; the SDK alone would wait a while in case that there are more."""
        parse(guild)
        if not any(known.unavailable for known in self.guilds):
            self._described.set()

    async def listen(self) -> None:
        """Keep the socket, resuming the session as long as Discord does; raises when it does not any more."""
        try:
            await self.connect(reconnect=False)
        except sdk.ConnectionClosed as closed:
            if closed.code == 4014:
                raise ContentRefused from None
            raise failure(closed) from None
        except Exception as error:
            raise failure(error, repeatable=True) from None
        raise Transient("The connection to Discord ended.")

    @property
    def me(self) -> Me:
        """Who we are; known after login."""
        assert self.user is not None
        return Me(str(self.user.id), self.user.name, str(self.application_id))

    async def ask(self, call: Call, *, purpose: Purpose = "other", repeatable: bool = False) -> Any:
        """Carry out a request; see `connection.Connection`."""
        route = Route(call.method, call.path, **call.parameters)
        arguments: dict[str, Any] = {"params": dict(call.query)} if call.query else {}
        if call.file is not None:
            data = await asyncio.to_thread(files.read, call.file)
            arguments["form"] = [
                {"name": "payload_json", "value": json.dumps(call.json), "content_type": "application/json"},
                {"name": "files[0]", "value": data, "filename": call.file.name, "content_type": _BYTES},
            ]
        elif call.json is not None:
            arguments["json"] = call.json
        seconds = REQUEST_SECONDS if call.file is None else UPLOAD_SECONDS
        work = _read(_within(seconds, self.http.request(route, **arguments)))
        return await asked(work, purpose, repeatable=repeatable)

    async def place(self, channel: str) -> Place:
        """Return where a channel is; see `connection.Connection`."""
        known = self.get_channel(int(channel)) if channel.isdecimal() else None
        if isinstance(known, discord.Thread):
            title = f"#{known.parent} › {known.name}" if known.parent else f"#{known.name}"
            place = Place(str(known.parent_id), str(known.id), title=title)
            return _in_server(place, known.guild)
        if isinstance(known, discord.abc.GuildChannel):
            return _in_server(Place(channel, title=f"#{known.name}"), known.guild)
        if channel not in self._places:
            try:
                found = translate.place_of(await self.ask(calls.channel_call(channel), repeatable=True))
            except Rejected:
                return Place(channel)
            guild = self.get_guild(int(found.guild)) if found.guild else None
            self._places[channel] = _in_server(found, guild) if guild else found
        return self._places[channel]

    async def all_there(self) -> None:
        """Wait for our servers."""
        await self._described.wait()

    def newest(self) -> Mapping[str, int]:
        """Return the last message of each channel and thread that we may read."""
        found: dict[str, int] = {}
        for guild in self._available():
            spoken: list[discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread] = [
                *guild.text_channels,
                *guild.voice_channels,
                *guild.stage_channels,
                *(thread for thread in guild.threads if thread.parent is not None),  # of others nobody knows our rights
            ]
            for channel in spoken:
                if channel.permissions_for(guild.me).is_superset(_READS):
                    found[str(channel.id)] = channel.last_message_id or 0
        return found

    def servers(self) -> list[Server]:
        """Return each of our servers with its channels, and our permissions there."""
        return [_server(guild) for guild in self._available()]

    def _available(self) -> list[discord.Guild]:
        return [guild for guild in self.guilds if not guild.unavailable]


def _server(guild: discord.Guild) -> Server:
    kinds: list[tuple[Kind, Sequence[discord.abc.GuildChannel]]] = [
        ("text", guild.text_channels),
        ("forum", guild.forums),
        ("voice", [*guild.voice_channels, *guild.stage_channels]),
    ]
    channels = [
        Channel(str(channel.id), channel.name, channel.permissions_for(guild.me).value, kind)
        for kind, found in kinds
        for channel in found
    ]
    return Server(str(guild.id), guild.name, guild.me.guild_permissions.value, tuple(channels))


def _in_server(place: Place, guild: discord.Guild) -> Place:
    role = guild.self_role
    title = f"{guild.name} {place.title}" if place.title else guild.name
    return replace(place, guild=str(guild.id), title=title, our_role=str(role.id) if role else None)


async def _within(seconds: float, work: Awaitable[T]) -> T:
    async with asyncio.timeout(seconds):
        return await work


async def _read(request: Awaitable[Any]) -> Any:
    """Await an answer; the SDK gives as text what is no JSON, such as a page of something that stands before Discord."""
    answer = await request
    if isinstance(answer, str) and answer:
        raise refusals.doubtful("an answer that could not be read")
    return answer


async def asked(request: Awaitable[T], purpose: Purpose = "other", *, repeatable: bool = False) -> T:
    """Await a request; the one place where foreign exceptions become ours."""
    try:
        return await request
    except Exception as error:
        raise failure(error, purpose, repeatable=repeatable) from None


def _closed(error: sdk.ConnectionClosed) -> AdapterError:
    if error.code == 4004:
        return refusals.unauthorized()
    return Transient(f"Discord closed the connection (code {error.code}).")


def _http(error: sdk.HTTPException, purpose: Purpose) -> AdapterError:
    return refusals.refusal(error.status, {"code": error.code, "message": error.text}, purpose=purpose)


# By the nearest class. What is not listed here counts as doubtful.
FAILURES: Mapping[type[Exception], Callable[[Any, Purpose], AdapterError]] = {
    AdapterError: lambda error, purpose: error,
    _Refused: lambda error, purpose: refusals.refusal(
        error.status, error.answer, purpose=purpose, retry_after=error.retry_after
    ),
    sdk.RateLimited: lambda error, purpose: refusals.flood(error.retry_after),
    sdk.Forbidden: _http,
    sdk.NotFound: _http,
    sdk.DiscordServerError: _http,
    sdk.HTTPException: _http,
    sdk.LoginFailure: lambda error, purpose: refusals.unauthorized(),
    sdk.ConnectionClosed: lambda error, purpose: _closed(error),
    sdk.GatewayNotFound: lambda error, purpose: refusals.unreachable("no gateway"),
    sdk.PrivilegedIntentsRequired: lambda error, purpose: refusals.unreachable("it refuses what we ask to hear"),
    sdk.DiscordException: lambda error, purpose: refusals.doubtful(type(error).__name__),
    aiohttp.ClientConnectorError: lambda error, purpose: refusals.unreachable(type(error).__name__),
    aiohttp.ConnectionTimeoutError: lambda error, purpose: refusals.unreachable(type(error).__name__),
    aiohttp.InvalidURL: lambda error, purpose: refusals.unreachable(type(error).__name__),
    aiohttp.ClientResponseError: lambda error, purpose: refusals.not_discord(f"HTTP {error.status}"),
    Exception: lambda error, purpose: refusals.doubtful(f"{type(error).__name__}: {error}"),
}


def failure(error: Exception, purpose: Purpose = "other", *, repeatable: bool = False) -> AdapterError:
    """Return what delivery should know of an exception of the SDK or the transport.

    A `repeatable` request leaves no doubt behind: it can be made again.
    """
    found = next(FAILURES[kind] for kind in type(error).__mro__ if kind in FAILURES)(error, purpose)
    if repeatable and isinstance(found, Unknown):
        return refusals.unreachable(str(found))
    return found
