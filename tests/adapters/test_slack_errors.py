"""Every exception of Slack's SDK and its transport becomes one of our errors, and none of them tells a secret."""

import inspect
import logging
from typing import Any

import aiohttp
import pytest
from aiohttp import client_exceptions as transport
from slack_sdk import errors as sdk
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from adapters.errors import AdapterError, Rejected, Transient, Unauthorized, Unknown
from adapters.masking import SecretMask
from adapters.slack.client import FAILURES, failure
from adapters.slack.refusals import Purpose, reason_of

TOKEN = "xoxb-1234-secret"

SDK_ERRORS = [kind for _, kind in inspect.getmembers(sdk, inspect.isclass) if issubclass(kind, sdk.SlackClientError)]
TRANSPORT_ERRORS = [
    kind
    for _, kind in inspect.getmembers(transport, inspect.isclass)
    if issubclass(kind, Exception) and kind.__module__ == transport.__name__
]


def answer(data: object, status: int = 200, headers: dict[str, str] | None = None) -> sdk.SlackApiError:
    """What the SDK raises for an answer that is no success."""
    response = AsyncSlackResponse(
        client=AsyncWebClient(),
        http_verb="POST",
        api_url="https://slack.com/api/chat.postMessage",
        req_args={},
        data=data,  # type: ignore[arg-type]
        headers=headers or {},
        status_code=status,
    )
    return sdk.SlackApiError("The request to the Slack API failed.", response)  # type: ignore[no-untyped-call]


def refused(code: str, purpose: Purpose = "send", **fields: Any) -> AdapterError:
    return translated(answer({"ok": False, "error": code, **fields}), purpose)


def translated(error: Exception, purpose: Purpose = "send", *, repeatable: bool = False) -> AdapterError:
    return failure(error, SecretMask(TOKEN), purpose, repeatable=repeatable)


@pytest.mark.parametrize("kind", [*SDK_ERRORS, *TRANSPORT_ERRORS])
def test_every_exception_of_the_sdk_and_the_transport_has_a_place_in_the_map(kind: type[Exception]) -> None:
    nearest = next(known for known in kind.__mro__ if known in FAILURES)

    assert nearest is not Exception or not issubclass(kind, (sdk.SlackClientError, aiohttp.ClientError))


CODES = [
    ("ratelimited", Transient),
    ("service_unavailable", Transient),
    ("request_timeout", Transient),
    ("fatal_error", Unknown),
    ("internal_error", Unknown),
    ("invalid_auth", Unauthorized),
    ("account_inactive", Unauthorized),
    ("token_revoked", Unauthorized),
    ("not_authed", Unauthorized),
    ("channel_not_found", Rejected),
    ("something_new", Rejected),
]


@pytest.mark.parametrize(("code", "kind"), CODES)
def test_a_code_becomes_the_leaf_that_delivery_acts_on(code: str, kind: type[AdapterError]) -> None:
    assert type(refused(code)) is kind


REASONS = [
    ("thread_not_found", "thread_gone"),
    ("cannot_reply_to_message", "thread_gone"),
    ("msg_too_long", "too_long"),
    ("msg_blocks_too_long", "too_long"),
    ("invalid_blocks", "format"),
    ("invalid_blocks_format", "format"),
    ("channel_not_found", "chat_gone"),
    ("is_archived", "chat_gone"),
    ("not_in_channel", "forbidden"),
    ("missing_scope", "forbidden"),
    ("restricted_action_read_only_channel", "forbidden"),
    ("message_not_found", "other"),
    ("no_text", "other"),
]


@pytest.mark.parametrize(("code", "reason"), REASONS)
def test_a_refusal_says_what_has_to_change(code: str, reason: str) -> None:
    found = refused(code)

    assert isinstance(found, Rejected)
    assert found.reason == reason == reason_of(code)


@pytest.mark.parametrize(
    "code", ["message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed"]
)
def test_of_an_edit_a_missing_message_says_that_there_is_nothing_to_edit(code: str) -> None:
    found = refused(code, "edit")

    assert isinstance(found, Rejected)
    assert found.reason == "edit_gone"


def test_a_flood_says_how_long_to_wait() -> None:
    found = translated(answer({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": "27"}))

    assert isinstance(found, Transient)
    assert found.retry_after_seconds == 27


def test_a_scope_that_is_missing_is_named() -> None:
    assert "files:write" in str(refused("missing_scope", needed="files:write", provided="chat:write"))


@pytest.mark.parametrize("code", ["invalid_auth", "missing_scope", "not_allowed_token_type"])
def test_an_app_token_that_opens_no_socket_ends_the_account_with_what_to_do(code: str) -> None:
    found = refused(code, "connect")

    assert isinstance(found, Unauthorized)
    assert "connections:write" in str(found)


STATUSES = [
    (500, Transient),
    (502, Transient),
    (503, Transient),
    (404, Transient),
    (413, Rejected),
    (429, Transient),
    (200, Unknown),
]


@pytest.mark.parametrize(("status", "kind"), STATUSES)
def test_an_answer_without_a_code_is_judged_by_its_status(status: int, kind: type[AdapterError]) -> None:
    assert type(translated(answer({}, status))) is kind


REQUEST = aiohttp.RequestInfo(URL("https://slack.com"), "POST", {}, URL("https://slack.com"))  # type: ignore[arg-type]
KEY = aiohttp.client_reqrep.ConnectionKey("slack.com", 443, True, True, None, None, None)
NOT_SENT = [
    aiohttp.ClientConnectorError(KEY, OSError(111, "refused")),
    aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "no name")),
    aiohttp.ClientProxyConnectionError(KEY, OSError(111, "refused")),
    aiohttp.ClientHttpProxyError(REQUEST, (), status=407),
    aiohttp.ConnectionTimeoutError(),
    aiohttp.InvalidURL("slack"),
]
IN_DOUBT = [
    aiohttp.ServerDisconnectedError(),
    aiohttp.ClientOSError(104, "reset"),
    aiohttp.ClientPayloadError(),
    aiohttp.SocketTimeoutError(),
    TimeoutError(),
    KeyError("ts"),
    sdk.SlackRequestError("odd"),
]


@pytest.mark.parametrize("error", NOT_SENT, ids=lambda error: type(error).__name__)
def test_what_never_left_may_be_sent_again(error: Exception) -> None:
    assert type(translated(error)) is Transient


@pytest.mark.parametrize("error", IN_DOUBT, ids=lambda error: type(error).__name__)
def test_what_left_without_an_answer_is_unknown_unless_it_can_be_asked_again(error: Exception) -> None:
    assert type(translated(error)) is Unknown
    assert type(translated(error, repeatable=True)) is Transient


def test_an_error_of_ours_stays_what_it_is() -> None:
    error = Rejected("gone", reason="chat_gone")

    assert translated(error) is error


@pytest.mark.parametrize("kind", [sdk.SlackRequestError, aiohttp.ClientPayloadError, ValueError])
def test_no_error_text_holds_the_token(kind: type[Exception]) -> None:
    found = translated(kind(f"Bearer {TOKEN} is odd"))

    assert TOKEN not in str(found)


def test_no_log_record_of_the_sdk_holds_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger("slack_sdk.account.masked")
    mask = SecretMask(TOKEN, None, "")

    log.addFilter(mask)
    log.warning("Bearer %s refused", TOKEN)
    log.removeFilter(mask)

    assert caplog.messages == ["Bearer *** refused"]
