"""Which requests Slack can have made, by their headers alone."""

from datetime import UTC, datetime, timedelta

import pytest

from adapters.slack.requests import FRESH_SECONDS, may_be_signed

NOW = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
SIGNATURE = "v0=" + "0123456789abcdef" * 4


def headers(seconds: float = 0, signature: str = SIGNATURE) -> dict[str, str]:
    """Return what a request has that was made so many seconds from now."""
    timestamp = str(int((NOW + timedelta(seconds=seconds)).timestamp()))
    return {"x-slack-request-timestamp": timestamp, "x-slack-signature": signature}


@pytest.mark.parametrize("seconds", [0, -FRESH_SECONDS, FRESH_SECONDS])
def test_a_request_of_the_last_minutes_with_a_signature_may_be_slacks(seconds: int) -> None:
    assert may_be_signed(headers(seconds), now=NOW)


FORGED = [
    {},
    headers(-FRESH_SECONDS - 1),
    headers(FRESH_SECONDS + 1),
    headers(signature=""),
    headers(signature="v0=bad"),
    headers(signature=SIGNATURE.upper()),
    headers(signature=f"{SIGNATURE}\n"),
    headers() | {"x-slack-request-timestamp": "yesterday"},
    headers() | {"x-slack-request-timestamp": "9" * 5_000},
    headers() | {"x-slack-request-timestamp": "١٢٣"},
    headers() | {"x-slack-request-timestamp": ""},
]


@pytest.mark.parametrize("given", FORGED)
def test_a_request_without_a_signature_or_of_another_time_is_not(given: dict[str, str]) -> None:
    assert not may_be_signed(given, now=NOW)
