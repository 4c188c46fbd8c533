"""Every exception of Discord's SDK becomes one of our errors, by what Discord said where it said something."""

import inspect
from typing import Any

import aiohttp
import discord
import pytest
from discord import errors as sdk

from adapters.discord import refusals
from adapters.discord.client import FAILURES, failure
from adapters.errors import AdapterError, Rejected, Transient, Unauthorized, Unknown

SDK_ERRORS = [kind for _, kind in inspect.getmembers(sdk, inspect.isclass) if issubclass(kind, sdk.DiscordException)]
WITHOUT_REQUESTS = (sdk.ClientException, sdk.InvalidData, sdk.InteractionResponded, sdk.MissingApplicationID)


@pytest.mark.parametrize("kind", SDK_ERRORS)
def test_every_exception_of_the_sdk_is_in_the_map(kind: type[Exception]) -> None:
    nearest = next(parent for parent in kind.__mro__ if parent in FAILURES)

    assert nearest is kind or (nearest is sdk.DiscordException and issubclass(kind, WITHOUT_REQUESTS))


class Answer:
    """As much of a response as the SDK's exceptions look at."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.reason = "reason"


def http(kind: type[sdk.HTTPException], status: int, code: int = 0) -> sdk.HTTPException:
    return kind(Answer(status), {"code": code, "message": "no"})  # type: ignore[arg-type]


class Socket:
    """As much of a socket as the SDK's exception looks at."""

    close_code = 4009


def closed(code: int | None) -> sdk.ConnectionClosed:
    return sdk.ConnectionClosed(Socket(), shard_id=None, code=code)  # type: ignore[arg-type]


KEY = aiohttp.client_reqrep.ConnectionKey("discord.invalid", 443, True, True, None, None, None, None)

OURS: list[tuple[Exception, type[AdapterError]]] = [
    (sdk.RateLimited(27), Transient),
    (http(sdk.Forbidden, 403, 50013), Rejected),
    (http(sdk.NotFound, 404, 10003), Rejected),
    (http(sdk.DiscordServerError, 503), Transient),
    (http(sdk.HTTPException, 400, 50006), Rejected),
    (http(sdk.HTTPException, 401), Unauthorized),
    (sdk.LoginFailure("Improper token has been passed."), Unauthorized),
    (closed(4004), Unauthorized),
    (closed(4009), Transient),
    (closed(None), Transient),
    (sdk.GatewayNotFound(), Transient),  # type: ignore[no-untyped-call]
    (sdk.PrivilegedIntentsRequired(None), Transient),
    (sdk.InvalidData("odd"), Unknown),
    (sdk.ClientException("?"), Unknown),
    (aiohttp.ClientConnectorError(KEY, OSError(111, "refused")), Transient),
    (aiohttp.ConnectionTimeoutError(), Transient),
    (aiohttp.InvalidURL("nowhere"), Transient),
    (aiohttp.ServerDisconnectedError(), Unknown),
    (aiohttp.ClientOSError(104, "reset"), Unknown),
    (aiohttp.SocketTimeoutError(), Unknown),
    (aiohttp.ClientPayloadError(), Unknown),
    (TimeoutError(), Unknown),
    (KeyError("id"), Unknown),
]


@pytest.mark.parametrize(("error", "expected"), OURS)
def test_an_exception_becomes_the_leaf_that_delivery_acts_on(error: Exception, expected: type[AdapterError]) -> None:
    assert type(failure(error)) is expected


@pytest.mark.parametrize("error", [TimeoutError(), aiohttp.ServerDisconnectedError(), KeyError("id")])
def test_doubt_about_what_can_be_asked_again_is_none(error: Exception) -> None:
    assert type(failure(error, repeatable=True)) is Transient


def test_an_error_of_ours_stays_what_it_is() -> None:
    error = Rejected("too large", reason="too_long")

    assert failure(error) is error


def form(field: str, code: str) -> dict[str, Any]:
    return {
        "code": 50035,
        "message": "Invalid Form Body",
        "errors": {field: {"_errors": [{"code": code, "message": "…"}]}},
    }


REASONS: list[tuple[int, Any, refusals.Purpose, str]] = [
    (404, {"code": 10003, "message": "Unknown Channel"}, "send", "chat_gone"),
    (404, {"code": 10003, "message": "Unknown Channel"}, "send_to_thread", "thread_gone"),
    (404, {"code": 10003, "message": "Unknown Channel"}, "edit", "edit_gone"),
    (404, {"code": 10008, "message": "Unknown Message"}, "send", "reply_gone"),
    (404, {"code": 10008, "message": "Unknown Message"}, "edit", "edit_gone"),
    (404, {"code": 10062, "message": "Unknown interaction"}, "other", "other"),
    (400, form("content", "BASE_TYPE_MAX_LENGTH"), "send", "too_long"),
    (400, form("message_reference", "REPLIES_UNKNOWN_MESSAGE"), "send", "reply_gone"),
    (400, form("embeds", "BASE_TYPE_BAD_LENGTH"), "send", "other"),
    (400, {"code": 50006, "message": "Cannot send an empty message"}, "send", "other"),
    (400, {"code": 50008, "message": "Cannot send messages in a non-text channel"}, "send", "forbidden"),
    (400, {"code": 50083, "message": "Thread is archived"}, "send_to_thread", "forbidden"),
    (400, {"code": 50083, "message": "Thread is archived"}, "edit", "other"),
    (403, {"code": 160002, "message": "Cannot reply without permission to read message history"}, "send", "reply_gone"),
    (400, {"code": 160005, "message": "Thread is locked"}, "send_to_thread", "forbidden"),
    (400, {"code": 200000, "message": "Message was blocked by automatic moderation"}, "send", "forbidden"),
    (403, {"code": 50001, "message": "Missing Access"}, "send", "forbidden"),
    (403, {"code": 50007, "message": "Cannot send messages to this user"}, "send", "forbidden"),
    (403, {"code": 50005, "message": "Cannot edit a message authored by another user"}, "edit", "edit_gone"),
    (403, {"code": 99999, "message": "Something new"}, "send", "forbidden"),
    (413, {"code": 40005, "message": "Request entity too large"}, "send", "too_long"),
    (401, {"code": 50027, "message": "Invalid Webhook Token"}, "other", "other"),
    (400, {"code": 50035, "message": "Invalid Form Body", "errors": ["odd"]}, "send", "other"),
    (400, {"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors": "odd"}}}, "send", "other"),
    (
        400,
        {"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors": ["odd"]}}},
        "send",
        "other",
    ),
]


@pytest.mark.parametrize(("status", "answer", "purpose", "reason"), REASONS)
def test_a_refusal_says_what_has_to_change(status: int, answer: Any, purpose: refusals.Purpose, reason: str) -> None:
    found = refusals.refusal(status, answer, purpose=purpose)

    assert isinstance(found, Rejected)
    assert found.reason == reason


ELSE: list[tuple[int, Any, type[AdapterError]]] = [
    (401, {"code": 0, "message": "401: Unauthorized"}, Unauthorized),
    (404, {"code": 0, "message": "404: Not Found"}, Transient),
    (403, "<html>Attention Required! | Cloudflare</html>", Transient),
    (502, "<html>Bad Gateway</html>", Transient),
    (500, {"code": 0, "message": "500: Internal Server Error"}, Transient),
    (404, ["odd"], Transient),
    (403, {"code": "ERR_ACCESS_DENIED", "message": "a proxy"}, Transient),
    (400, {"code": ["odd"]}, Transient),
    (429, {"code": 0, "retry_after": "soon"}, Transient),
]


@pytest.mark.parametrize(("status", "answer", "expected"), ELSE)
def test_what_is_no_refusal_of_a_request_is_not_taken_for_one(
    status: int, answer: Any, expected: type[AdapterError]
) -> None:
    assert type(refusals.refusal(status, answer)) is expected


def test_a_flood_says_how_long_to_wait_where_discord_does() -> None:
    told = refusals.refusal(429, {"retry_after": 0.7, "global": False}, retry_after=1.0)
    banned = refusals.refusal(429, "<html>", retry_after=600.0)
    silent = refusals.refusal(429, "<html>")

    assert [error.retry_after_seconds for error in (told, banned, silent) if isinstance(error, Transient)] == [
        0.7,
        600.0,
        None,
    ]


def test_the_sdk_is_the_one_that_these_tests_know() -> None:
    assert discord.version_info[:2] == (2, 7)


@pytest.mark.parametrize(
    ("status", "answer", "retry_after", "seconds"),
    [
        (429, {"retry_after": 2.5, "global": True}, 3.0, 2.5),
        (429, {"retry_after": 2.5, "global": False}, 3.0, None),
        (429, "<html>You are being rate limited</html>", 3600.0, 3600.0),
        (429, "<html>You are being rate limited</html>", None, refusals.SILENCE_SECONDS),
        (403, "<html>Access denied</html>", 60.0, None),
    ],
)
def test_the_whole_bot_keeps_still_where_discord_or_what_stands_before_it_shuts_it_out(
    status: int, answer: Any, retry_after: float | None, seconds: float | None
) -> None:
    assert refusals.silence_for_all(status, answer, retry_after=retry_after) == seconds
