"""Files to and from Slack: what is too large, where the token may be shown, and what only looks like a file."""

import os
from pathlib import Path
from typing import Any

import pytest

from adapters.base import OutFile
from adapters.errors import Rejected
from adapters.files import check_size
from adapters.slack import files

API = "https://slack.com/api/"


def test_a_file_is_fetched_where_slack_says() -> None:
    file = {
        "url_private": "https://files.slack.com/files-pri/T1-F1/a.gif",
        "url_private_download": "https://files.slack.com/files-pri/T1-F1/download/a.gif",
    }

    assert files.address(file, API) == file["url_private_download"]
    assert files.address({"url_private": file["url_private"]}, API) == file["url_private"]


ELSEWHERE: list[dict[str, Any]] = [
    {},
    {"url_private": "https://evil.example/files.slack.com/a"},
    {"url_private": "https://slack.com.evil.example/a"},
    {"url_private": "https://evilslack.com/a"},
    {"url_private": "http://files.slack.com/a"},
    {"url_private": "https://files.slack.com@evil.example/a"},
    {"url_private": "file:///etc/passwd"},
]


@pytest.mark.parametrize("file", ELSEWHERE)
def test_nobody_but_slack_is_shown_the_token(file: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        files.address(file, API)


def test_a_slack_of_ones_own_is_asked_for_its_own_files() -> None:
    own = "http://127.0.0.1:3200/files-pri/F1/a"

    assert files.address({"url_private": own}, "http://127.0.0.1:3200/api/") == own
    with pytest.raises(Rejected):
        files.address({"url_private": own}, "http://127.0.0.1:3201/api/")


def test_a_sign_in_page_in_place_of_a_file_is_no_file() -> None:
    with pytest.raises(Rejected, match="files:read") as refusal:
        files.check_content("text/html; charset=utf-8", {"mimetype": "image/gif"})

    assert refusal.value.reason == "forbidden"
    files.check_content("text/html", {"mimetype": "text/html"})
    files.check_content("image/gif", {"mimetype": "image/gif"})


def test_a_file_too_large_to_send_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    huge = tmp_path / "1"
    huge.touch()
    os.truncate(huge, files.UPLOAD_LIMIT + 1)

    with pytest.raises(Rejected, match="100 MB"):
        files.read(OutFile("huge.bin", str(huge)))


def test_sizes_above_what_we_take_are_too_long() -> None:
    check_size(10, 10)
    with pytest.raises(Rejected) as refusal:
        check_size(11, 10)

    assert refusal.value.reason == "too_long"
