"""Every exception of Telegram's SDK becomes one of our errors, and none of them tells the token."""

import inspect
import logging
from datetime import timedelta

import httpx
import pytest
from telegram import error as sdk

from adapters.errors import AdapterError, Rejected, Transient, Unauthorized, Unknown
from adapters.telegram.client import FAILURES, failure
from adapters.telegram.masking import TokenMask
from adapters.telegram.refusals import reason_of

TOKEN = "7001:SECRET-0123456789"
PARSER_FAILED = sdk.TelegramError("Invalid server response")

SDK_ERRORS = [kind for _, kind in inspect.getmembers(sdk, inspect.isclass) if issubclass(kind, sdk.TelegramError)]


def translated(error: Exception, *, cause: Exception | None = None, repeatable: bool = False) -> AdapterError:
    error.__cause__ = cause
    return failure(error, TokenMask(TOKEN), repeatable=repeatable)


@pytest.mark.parametrize("kind", SDK_ERRORS)
def test_every_exception_of_the_sdk_is_in_the_map(kind: type[sdk.TelegramError]) -> None:
    assert kind in FAILURES


OURS = [
    (sdk.RetryAfter(27), Transient),
    (sdk.ChatMigrated(-1005), Rejected),
    (sdk.InvalidToken(), Unauthorized),
    (sdk.EndPointNotFound("no such method"), Rejected),
    (sdk.Forbidden("Forbidden: bot was blocked by the user"), Rejected),
    (sdk.Conflict("Conflict: terminated by other getUpdates request"), Transient),
    (sdk.BadRequest("Bad Request: message text is empty"), Rejected),
    (sdk.NetworkError("Bad Gateway"), Transient),
    (sdk.PassportDecryptionError("?"), Unknown),
    (sdk.TelegramError("Invalid server response"), Unknown),
    (httpx.HTTPStatusError("502", request=httpx.Request("GET", "http://x"), response=httpx.Response(502)), Transient),
    (KeyError("result"), Unknown),
]


@pytest.mark.parametrize(("error", "expected"), OURS)
def test_an_exception_becomes_the_leaf_that_delivery_acts_on(error: Exception, expected: type[AdapterError]) -> None:
    assert type(translated(error)) is expected


@pytest.mark.parametrize("wait", [27, timedelta(seconds=27)])
def test_a_flood_says_how_long_to_wait(wait: int | timedelta) -> None:
    found = translated(sdk.RetryAfter(wait))

    assert isinstance(found, Transient)
    assert found.retry_after_seconds == 27


NOT_SENT = [
    httpx.ConnectError("refused"),
    httpx.ConnectTimeout("slow"),
    httpx.PoolTimeout("full"),
    httpx.ProxyError(""),
]
IN_DOUBT = [
    httpx.ReadTimeout("slow"),
    httpx.WriteTimeout("slow"),
    httpx.ReadError("reset"),
    httpx.WriteError("reset"),
    httpx.RemoteProtocolError("disconnected"),
]


@pytest.mark.parametrize("cause", NOT_SENT)
@pytest.mark.parametrize("kind", [sdk.NetworkError, sdk.TimedOut])
def test_what_never_left_may_be_sent_again(kind: type[sdk.NetworkError], cause: Exception) -> None:
    assert type(translated(kind("…"), cause=cause)) is Transient


@pytest.mark.parametrize("cause", IN_DOUBT)
@pytest.mark.parametrize("kind", [sdk.NetworkError, sdk.TimedOut])
def test_what_left_without_an_answer_is_unknown(kind: type[sdk.NetworkError], cause: Exception) -> None:
    assert type(translated(kind("…"), cause=cause)) is Unknown


@pytest.mark.parametrize("cause", IN_DOUBT)
def test_doubt_about_what_can_be_asked_again_is_none(cause: Exception) -> None:
    assert type(translated(sdk.TimedOut(), cause=cause, repeatable=True)) is Transient


@pytest.mark.parametrize("kind", [sdk.InvalidToken, sdk.Forbidden, sdk.BadRequest, sdk.Conflict, sdk.NetworkError])
def test_an_error_page_of_a_proxy_revokes_nothing(kind: type[sdk.TelegramError]) -> None:
    page = kind("Not Found (404). Parsing the server response b'<html>' failed")

    assert type(translated(page, cause=PARSER_FAILED)) is Transient


REASONS = [
    ("Bad Request: message thread not found", "thread_gone"),
    ("Bad Request: TOPIC_DELETED", "thread_gone"),
    ("Bad Request: message to be replied not found", "reply_gone"),
    ("Bad Request: message to edit not found", "edit_gone"),
    ("Bad Request: message can't be edited", "edit_gone"),
    ("Bad Request: message to delete not found", "edit_gone"),
    ("Bad Request: message is too long", "too_long"),
    ("Bad Request: message caption is too long", "too_long"),
    ("Bad Request: can't parse entities: entity is outside of the text", "format"),
    ("Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 4", "format"),
    ("Bad Request: chat not found", "chat_gone"),
    ("Bad Request: not enough rights to send text messages to the chat", "forbidden"),
    ("Bad Request: CHAT_WRITE_FORBIDDEN", "forbidden"),
    ("Bad Request: message text is empty", "other"),
]


@pytest.mark.parametrize(("description", "reason"), REASONS)
def test_a_refusal_says_what_has_to_change(description: str, reason: str) -> None:
    found = translated(sdk.BadRequest(description))

    assert isinstance(found, Rejected)
    assert found.reason == reason == reason_of(description)


def test_another_poller_and_a_webhook_are_told_apart() -> None:
    webhook = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete it first"

    assert "webhook" in str(translated(sdk.Conflict(webhook)))
    assert "Another program" in str(translated(sdk.Conflict("Conflict: terminated by other getUpdates request")))


@pytest.mark.parametrize("kind", [sdk.TelegramError, sdk.BadRequest, sdk.NetworkError, sdk.Forbidden, ValueError])
def test_no_error_text_holds_the_token(kind: type[Exception]) -> None:
    found = translated(kind(f"cannot POST /bot{TOKEN}/sendMessage"))

    assert TOKEN not in str(found)
    assert "***" in str(found)


def test_no_log_record_of_the_http_client_holds_the_token(caplog: pytest.LogCaptureFixture) -> None:
    mask = TokenMask(TOKEN)
    caplog.set_level(logging.DEBUG)

    mask.attach()
    logging.getLogger("httpx").info("HTTP Request: %s %s", "POST", f"https://example.org/bot{TOKEN}/getMe")
    mask.detach()

    assert caplog.messages == ["HTTP Request: POST https://example.org/bot***/getMe"]
    assert TOKEN not in caplog.text
