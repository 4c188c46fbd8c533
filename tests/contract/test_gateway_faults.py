"""The gateway as a process, where platforms and models fail, and where messages are more than a line of text.

Most checks share one running gateway; each uses words, chats or topics of its own.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.processes import PATIENCE_SECONDS, World, command, end, environment, output_of
from tests.emulators.messages.answers import Answer, ToolCall
from tests.emulators.messages_server import MessagesServer
from tests.emulators.telegram_server import ALICE, BOB, FORUM, PRIVATE, BotAccount, Rule, Sent, TelegramServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]

KEY = "sk-test-key-that-must-never-be-seen"
SECOND = BotAccount("7002:TEST-second-token-0123456789", "second_bot")
BOBS: Mapping[str, Any] = {"id": 1002, "type": "private", "first_name": "Bob"}
SMALL: Mapping[str, Any] = {"id": -4100, "type": "group", "title": "Swallows"}
GROWN: Mapping[str, Any] = {"id": -1004100, "type": "supergroup", "title": "Swallows"}

SETTINGS = """
timezone: UTC
owner: {{telegram: ["1001"]}}
agents:
  main:
    default: true
    model: {{provider: anthropic, name: claude-test, api_key: "{key}", base_url: "{model}"}}
  work:
    model: {{provider: anthropic, name: claude-test, api_key: "{key}", base_url: "{model}"}}
channels:
  telegram:
    accounts:
      personal:
        token: "{token}"
        base_url: "{bot}"
        base_file_url: "{files}"
        groups: {{policy: allowlist, allow: ["{forum}", "{small}"], require_mention: true}}
      second:
        token: "{second}"
        base_url: "{bot}"
        base_file_url: "{files}"
bindings:
  - {{agent: work, platform: telegram, account: second}}
"""


@dataclass(slots=True)
class Town:
    """A running gateway with two bots, the servers around it, and everything that it prints."""

    world: World
    log: Path

    @property
    def telegram(self) -> TelegramServer:
        return self.world.telegram

    @property
    def messages(self) -> MessagesServer:
        return self.world.messages

    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8")

    async def answers(
        self,
        text: str | None,
        *,
        n: int = 1,
        chat: Mapping[str, Any] = PRIVATE,
        token: str | None = None,
        **fields: Any,
    ) -> list[Sent]:
        """Write a message, and wait for the `n` messages that come into the chat after it."""
        before = len(await self.telegram.sent(chat=chat["id"], token=token))
        await self.telegram.say(text, chat=chat, token=token, **fields)
        return (await self.telegram.sent(n=before + n, chat=chat["id"], token=token))[before:]

    def asked(self, words: str) -> Any:
        """The last request to the model whose last message has these words, as the model reads it."""
        return [request for request in self.messages.requests if words in request.last_text][-1]


def configure(world: World, *, token: str | None = None) -> None:
    world.home.mkdir(exist_ok=True)
    text = SETTINGS.format(
        key=KEY,
        model=world.messages.base_url,
        token=token or world.telegram.token,
        second=SECOND.token,
        bot=world.telegram.base_url,
        files=world.telegram.base_file_url,
        forum=FORUM["id"],
        small=SMALL["id"],
    )
    (world.home / "scrubjay.yaml").write_text(text, encoding="utf-8")


@asynccontextmanager
async def running(world: World, *, out: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the gateway until the block ends; whatever it prints goes to `out`, a descriptor or a pipe."""
    process = await asyncio.create_subprocess_exec(
        *command("run", "--home", str(world.home)),
        env=environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=out,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        await end(process)


async def printed(process: asyncio.subprocess.Process, words: str) -> None:
    """Wait until a process has printed a line with these words."""
    assert process.stdout
    async with asyncio.timeout(PATIENCE_SECONDS):
        while words not in (line := (await process.stdout.readline()).decode()):
            assert line, f"it ended without printing {words!r}"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    log = folder / "printed"
    log.touch()
    async with TelegramServer(BotAccount(), SECOND) as telegram, MessagesServer() as messages:
        world = World(folder / "home", telegram, messages)
        configure(world)
        out = os.open(log, os.O_WRONLY)
        try:
            async with running(world, out=out):
                await telegram.offsets(n=1)
                yield Town(world, log)
        finally:
            os.close(out)


# ── more than a line of text ──


async def test_a_document_is_saved_and_named_to_the_model(town: Town) -> None:
    file_id = await town.telegram.put_file(b"Kew, 1841: the larch is planted.")

    await town.answers(
        None, caption="please read the larch", document={"file_id": file_id, "file_name": "larch.txt", "file_size": 32}
    )

    [saved] = (town.world.workspace / "inbox").glob("*larch.txt")
    assert saved.read_bytes() == b"Kew, 1841: the larch is planted."
    assert f"inbox/{saved.name}" in town.asked("please read the larch").last_text


async def test_a_photo_is_saved_and_its_caption_is_read(town: Town) -> None:
    small, large = await town.telegram.put_file(b"\xff\xd8small"), await town.telegram.put_file(b"\xff\xd8large")
    sizes = [{"file_id": small, "width": 90, "height": 60}, {"file_id": large, "width": 1280, "height": 853}]

    await town.answers(None, caption="what kind of thrush is this?", photo=sizes)

    [saved] = (town.world.workspace / "inbox").glob("*.jpg")
    assert saved.read_bytes() == b"\xff\xd8large"
    assert f"inbox/{saved.name}" in town.asked("what kind of thrush is this?").last_text


async def test_what_a_message_replies_to_is_told_to_the_model(town: Town) -> None:
    quoted = {"message_id": 900_001, "date": 1_700_000_000, "chat": PRIVATE, "from": ALICE, "text": "the quoted heron"}

    await town.answers("was that true?", reply_to_message=quoted)

    assert "the quoted heron" in town.asked("was that true?").last_text


async def test_an_edit_of_a_message_that_waits_replaces_it(town: Town) -> None:
    file_id = await town.telegram.put_file(b"x")
    await town.telegram.rules(Rule("getFile", "hold"))
    before = len(await town.telegram.sent(chat=PRIVATE["id"]))
    await town.telegram.say(None, caption="hold the lane", document={"file_id": file_id, "file_name": "x.txt"})
    await town.telegram.held("getFile")  # the turn runs, and waits for its file

    message_id = await town.telegram.say("the old wording")
    await town.telegram.confirmed()
    await town.telegram.edit(message_id, "the new wording")
    await town.telegram.confirmed()
    await town.telegram.release("getFile")
    await town.telegram.sent(n=before + 1, chat=PRIVATE["id"])  # one answer to both

    assert town.asked("the new wording")
    assert "the old wording" not in str(town.messages.bodies)


async def test_a_long_answer_with_code_comes_in_two_parts_that_are_both_code(town: Town) -> None:
    code = "\n".join(f"value_{number} = {number}" for number in range(300))
    town.messages.script(Answer(text=f"Here **it** is:\n\n```python\n{code}\n```\n\nThat is all."), when="write code")

    first, second = await town.answers("write code", n=2)

    shown = ""
    for part in (first, second):
        [block] = [entity for entity in part.entities if entity["type"] == "pre"]
        assert block["language"] == "python"
        units = part.text.encode("utf-16-le")
        shown += units[2 * block["offset"] : 2 * (block["offset"] + block["length"])].decode("utf-16-le").strip() + "\n"
    assert shown.strip() == code
    assert (first.text.splitlines()[0], second.text.splitlines()[-1]) == ("Here it is:", "That is all.")


async def test_a_file_of_the_agent_is_sent_as_a_document(town: Town) -> None:
    (town.world.workspace / "report.txt").write_text("all is well", encoding="utf-8")
    town.messages.script(Answer(tool_calls=(ToolCall("send_file", {"path": "report.txt"}),)), when="send the report")
    town.messages.script(Answer(text="There you are."), when="report.txt")

    text, document = await town.answers("send the report", n=2)

    assert text.text == "There you are."
    assert document.file is not None
    assert document.file["name"] == "report.txt"


# ── topics and groups ──


def in_topic(number: int) -> dict[str, Any]:
    return {"message_thread_id": number, "is_topic_message": True}


async def test_a_topic_is_answered_in_the_topic(town: Town) -> None:
    [answer] = await town.answers("@helper_bot hello in topic seven", chat=FORUM, **in_topic(7))

    assert answer.thread_id == 7


async def test_a_topic_that_was_deleted_is_answered_in_its_group(town: Town) -> None:
    await town.telegram.forget_thread(FORUM["id"], 8)
    before = len(await town.telegram.calls("sendMessage"))

    [answer] = await town.answers("@helper_bot hello in topic eight", chat=FORUM, **in_topic(8))

    assert (answer.chat_id, answer.thread_id) == (str(FORUM["id"]), None)
    calls = (await town.telegram.calls("sendMessage"))[before:]
    assert {call.parameters["chat_id"] for call in calls} == {str(FORUM["id"])}
    assert len(calls) == 2


async def test_a_group_that_becomes_a_supergroup_goes_on_with_its_conversation(town: Town) -> None:
    await town.answers("@helper_bot the swallows nest in the barn", chat=SMALL)
    await town.telegram.say(chat=SMALL, migrate_to_chat_id=GROWN["id"])
    await town.telegram.move(SMALL["id"], GROWN["id"])

    [answer] = await town.answers("@helper_bot where do they nest?", chat=GROWN)

    assert answer.chat_id == str(GROWN["id"])
    assert "the swallows nest in the barn" in str(town.asked("where do they nest?").body["messages"][:-1])


# ── Telegram fails ──


async def test_a_flood_is_waited_out_and_the_answer_comes_once(town: Town) -> None:
    await town.telegram.rules(Rule("sendMessage", "answer", status=429, parameters={"retry_after": 1}))
    town.messages.script(Answer(text="after the flood"), when="is it flooded?")

    answers = await town.answers("is it flooded?")

    assert [answer.text for answer in answers] == ["after the flood"]


async def test_an_answer_that_may_have_arrived_is_repeated_with_a_mark(town: Town) -> None:
    await town.telegram.rules(Rule("sendMessage", "cut"))
    town.messages.script(Answer(text="heard once or twice"), when="is the line cut?")

    first, second = await town.answers("is the line cut?", n=2)

    assert first.text == "heard once or twice"
    assert "may be a duplicate" in second.text
    assert second.text.endswith("heard once or twice")


async def test_formatting_that_is_refused_is_left_out(town: Town) -> None:
    await town.telegram.rules(
        Rule("sendMessage", "answer", status=400, description="Bad Request: can't parse entities: no end of the entity")
    )
    town.messages.script(Answer(text="plain but **whole**"), when="is it formatted?")

    [answer] = await town.answers("is it formatted?")

    assert (answer.text, answer.entities) == ("plain but whole", ())


# ── the model fails ──


async def test_an_overloaded_model_is_asked_again(town: Town) -> None:
    town.messages.script(Answer(status=529, error="overloaded_error", text="Overloaded"), when="are you overloaded?")
    town.messages.script(Answer(text="not any more"), when="are you overloaded?")

    [answer] = await town.answers("are you overloaded?")

    assert answer.text == "not any more"


async def test_an_answer_that_breaks_off_is_made_again_and_nothing_of_it_is_shown(town: Town) -> None:
    town.messages.script(Answer(text="half of a", cut=True), when="do you break off?")
    town.messages.script(Answer(text="a whole answer"), when="do you break off?")

    [answer] = await town.answers("do you break off?")

    assert answer.text == "a whole answer"
    await town.answers("and nothing else?")
    assert "half of a" not in str(town.messages.bodies[-1])


async def test_a_refused_key_is_said_plainly_and_never_shown(town: Town) -> None:
    refusal = Answer(status=401, error="authentication_error", text=f"invalid x-api-key: {KEY}")
    town.messages.script(refusal, when="is the key good?")

    [answer] = await town.answers("is the key good?")

    assert "key" in answer.text
    assert "{" not in answer.text
    printed = town.printed()
    assert "no answer" in printed
    for secret in (KEY, town.telegram.token, SECOND.token):
        assert secret not in printed + str(await town.telegram.calls("sendMessage"))


async def test_typing_is_shown_while_the_model_is_slow(town: Town) -> None:
    town.messages.script(Answer(text="slowly", hold=True), when="take your time")
    before = len(await town.telegram.calls("sendChatAction"))

    answering = asyncio.create_task(town.answers("take your time"))
    typing = (await town.telegram.calls("sendChatAction", n=before + 1))[before:]
    town.messages.release()
    [answer] = await answering

    assert answer.text == "slowly"
    shown = {(call.parameters["action"], call.parameters["chat_id"]) for call in typing}
    assert shown == {("typing", str(PRIVATE["id"]))}


# ── commands, people, accounts ──


async def test_commands_are_in_the_menu_and_answered_without_the_model(town: Town) -> None:
    asked = len(town.messages.requests)

    [menu] = await town.telegram.calls("setMyCommands", n=1)
    [answer] = await town.answers("/help")

    names = [entry["command"] for entry in menu.parameters["commands"]]
    assert names[:2] == ["help", "status"]
    assert all(f"/{name}" in answer.text for name in names)
    assert len(town.messages.requests) == asked


async def test_a_stranger_becomes_an_owner_by_a_code_that_is_approved_on_the_machine(town: Town) -> None:
    [told] = await town.answers("let me in", chat=BOBS, sender=BOB)
    [code] = re.findall(r"\b[A-Z0-9]{8}\b", told.text)
    assert "let me in" not in str(town.messages.bodies)

    exit_code, out, err = await output_of(*command("pair", "approve", code, "--owner", "--home", str(town.world.home)))
    assert (exit_code, err) == (0, "")
    assert "Bob" in out
    await town.telegram.sent(n=2, chat=BOBS["id"])  # the welcome
    [answer] = await town.answers("/whoami", chat=BOBS, sender=BOB)

    assert "my owner" in answer.text


async def test_each_bot_answers_for_itself_and_its_own_agent(town: Town) -> None:
    [by_second] = await town.answers("to the second bot", token=SECOND.token)
    [by_first] = await town.answers("to the first bot")

    assert by_second.text == by_first.text == "I have read that."
    assert (town.world.home / "state" / "agents" / "work" / "sessions").is_dir()
    assert "Agent: work" in str(town.asked("to the second bot").body)
    assert "Agent: main" in str(town.asked("to the first bot").body)


# ── a gateway of its own ──


async def test_what_a_revoked_bot_could_not_send_is_sent_once_it_has_a_new_token(tmp_path: Path) -> None:
    renewed = BotAccount("7001:TEST-renewed-token-0123456789", "helper_bot")
    async with TelegramServer(BotAccount(), SECOND) as telegram, MessagesServer() as messages:
        world = World(tmp_path / "home", telegram, messages)
        configure(world)
        messages.script(Answer(text="what was left to say", hold=True), when="one more thing")
        async with running(world, out=asyncio.subprocess.PIPE) as process:
            await telegram.say("one more thing")
            await messages.holding()
            await telegram.revoke()
            messages.release()
            await printed(process, "not sent: Telegram does not accept this bot's token")

        other = await telegram.with_bot(renewed)
        configure(world, token=renewed.token)
        async with running(world, out=asyncio.subprocess.DEVNULL):
            [answer] = await other.sent(n=1)
            await other.say("are you back?")
            [_, back] = await other.sent(n=2)

    assert (answer.text, back.text) == ("what was left to say", "I have read that.")
    assert len(messages.requests) == 2
