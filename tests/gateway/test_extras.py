"""What is not installed is named, with the command that installs it, before anything starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.extras import missing

TELEGRAM = "telegram: {accounts: {personal: {token: '123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'}}}"
DISCORD = "discord: {accounts: {community: {token: 'abcdefghijklmnopqrstuvwx.abcdef.abcdefghijklmnopqrstuvwxyza'}}}"
SLACK = "slack: {accounts: {work: {bot_token: 'xoxb-0123456789', app_token: 'xapp-0123456789'}}}"


@pytest.mark.parametrize("extra", ["telegram", "discord", "slack", "web"])
def test_what_is_installed_needs_no_sentence(extra: str) -> None:
    assert missing(extra) is None


def test_without_its_packages_a_sentence_says_what_to_install() -> None:
    assert missing("web", lambda name: None) == (
        'The web server needs starlette and uvicorn, which are not installed: pip install "scrubjay[web]"'
    )
    assert "needs uvicorn, which is not" in str(missing("web", lambda name: None if name == "uvicorn" else name))


@pytest.mark.parametrize(("command", "code"), [("run", 1), ("check-config", 2)])
@pytest.mark.parametrize(
    ("asking", "package", "said"),
    [
        (
            "web: {port: 0}",
            "starlette",
            'The web server needs starlette, which is not installed: pip install "scrubjay[web]"',
        ),
        (
            f"channels: {{{TELEGRAM}}}",
            "telegram",
            'Telegram needs telegram, which is not installed: pip install "scrubjay[telegram]"',
        ),
        (
            f"channels: {{{DISCORD}}}",
            "discord",
            'Discord needs discord, which is not installed: pip install "scrubjay[discord]"',
        ),
        (
            f"channels: {{{SLACK}}}",
            "slack_bolt",
            'Slack needs slack_bolt, which is not installed: pip install "scrubjay[slack]"',
        ),
    ],
)
def test_a_base_install_that_is_asked_for_more_says_what_to_install_and_starts_nothing(
    tmp_path: Path, asking: str, package: str, said: str, command: str, code: int
) -> None:
    (tmp_path / "scrubjay.yaml").write_text(f"agents: {{main: {{}}}}\n{asking}\n", encoding="utf-8")
    program = f"import sys; sys.modules['{package}'] = None; from gateway.cli import main; main()"
    words = [sys.executable, "-c", program, command, "--home", str(tmp_path)]
    kept = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, env=kept, check=False)

    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
