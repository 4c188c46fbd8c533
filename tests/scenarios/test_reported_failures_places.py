"""Failures that people met on one platform, which could be met on any of them: ids in lists, and edits that are none."""

from pathlib import Path

import pytest

from adapters.testing import NOON, FakeAdapter
from agents.testing import ScriptedModel
from gateway.config import load_config
from gateway.errors import ConfigInvalid
from memory.testing import FakeClock
from tests.scenarios.conftest import OWNER, House

ACCOUNTS = {
    "telegram": 'token: "1:A"',
    "discord": 'token: "T"',
    "slack": 'bot_token: "xoxb-1", app_token: "xapp-1"',
}
IDS = {"telegram": "123", "discord": "123456789012345678", "slack": "U0AAAAAAA"}
platforms = pytest.mark.parametrize("platform", ACCOUNTS)


def allowed(folder: Path, platform: str, *written: str, where: str = "private") -> tuple[str, ...]:
    """Return an allow list as it is read."""
    rules = f"{where}: {{policy: allowlist, allow: [{', '.join(written)}]}}"
    path = folder / "scrubjay.yaml"
    accounts = f"{{accounts: {{a: {{{ACCOUNTS[platform]}, {rules}}}}}}}"
    path.write_text(f"agents: {{main: {{}}}}\nchannels: {{{platform}: {accounts}}}\n", encoding="utf-8")
    account = getattr(load_config(path, environment={"HOME": "/home/ana"}).channels, platform).accounts["a"]
    found: tuple[str, ...] = getattr(account, where).allow
    return found


@platforms
def test_on_every_platform_an_id_is_the_same_however_it_is_written(tmp_path: Path, platform: str) -> None:
    id = IDS[platform]

    assert set(allowed(tmp_path, platform, id, f"'{id}'", f"'user:{id}'", f"' {id} '", f"\"'{id}'\"")) == {id}


@platforms
@pytest.mark.parametrize("where", ["private", "groups"])
@pytest.mark.parametrize(
    "name", ["Alice", "alice ", "Аlice", "@alice", "#general", "<@Alice>", "alice#1234", "user:Alice"]
)
def test_on_no_platform_a_name_is_taken_for_an_id(tmp_path: Path, platform: str, where: str, name: str) -> None:
    with pytest.raises(ConfigInvalid, match="only ids count, since anybody can take a name"):
        allowed(tmp_path, platform, f"'{name}'", where=where)


@platforms
def test_on_no_platform_a_list_that_is_left_open_is_everybody(tmp_path: Path, platform: str) -> None:
    with pytest.raises(ConfigInvalid, match="the environment variable WHO is not set"):
        allowed(tmp_path, platform, "'${WHO}'")
    with pytest.raises(ConfigInvalid, match="an empty list under the policy allowlist lets nobody in"):
        allowed(tmp_path, platform)


async def test_an_edit_that_changes_no_word_is_not_noted_as_one(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=ScriptedModel()):
        hello = chat.say("hello https://e.org", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        chat.say("hello https://e.org", chat_id=OWNER, sender=OWNER, message_id=hello.id, edited=True)
        chat.say("barrier", chat_id=OWNER, sender=OWNER)
        await chat.heard()

    assert "edited too late" not in house.transcript()
    assert len(chat.sent) == 2


@pytest.mark.parametrize("seconds", [0.5, 300.5, 3_600.0])
async def test_a_message_that_is_delivered_again_is_answered_once_however_late_and_after_a_restart(
    house: House, chat: FakeAdapter, seconds: float
) -> None:
    clock, model = FakeClock(NOON), ScriptedModel()
    async with house.open(chat, model=model, clock=clock):
        hello = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        clock.advance(seconds)
        chat.say("hello", chat_id=OWNER, sender=OWNER, message_id=hello.id)
        chat.say("barrier", chat_id=OWNER, sender=OWNER)
        assert (await chat.heard()).text == "BARRIER"

    again = FakeAdapter(platform="telegram", account="main")
    async with house.open(again, model=model, clock=clock):
        again.say("hello", chat_id=OWNER, sender=OWNER, message_id=hello.id)
        again.say("are you there?", chat_id=OWNER, sender=OWNER)
        assert (await again.heard()).text == "ARE YOU THERE?"
    assert len(model.requests) == 3
