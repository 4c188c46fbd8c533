"""The command line, run as it is installed: processes over a home of their own, with nothing else in the environment."""

import asyncio
import json
import logging
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from adapters.base import Chat, Migration
from gateway.config import load_config
from gateway.errors import AlreadyThere
from gateway.explain import Question, explain_route
from gateway.home import Home
from gateway.inbox import Part
from gateway.init import initialise
from gateway.logs import Masked, secrets_of
from gateway.store import PendingPairing, Store
from memory.testing import FakeClock
from scrubjay import __version__

SCRUBJAY = str(Path(sys.executable).parent / "scrubjay")
PATIENCE_SECONDS = 120
TOKEN = "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
TOKENS = {
    "TELEGRAM_BOT_TOKEN": TOKEN,
    "DISCORD_BOT_TOKEN": "not.a.token",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
}
COMMANDS = (
    (),
    ("init",),
    ("chat",),
    ("run",),
    ("status",),
    ("check-config",),
    ("version",),
    ("route",),
    ("route", "explain"),
    ("pair",),
    ("pair", "list"),
    ("pair", "approve"),
    ("pair", "reject"),
    ("memory",),
    ("memory", "search"),
    ("memory", "index"),
    ("memory", "status"),
)
DEMO_AGENT = "agents: {main: {default: true, model: {provider: demo}}}\n"


@dataclass(frozen=True, slots=True)
class Machine:
    """A user's machine: a folder for homes, and an environment with nothing of ours in it."""

    folder: Path

    @property
    def home(self) -> Home:
        return Home(self.folder / "home")

    def environment(self, **more: str) -> dict[str, str]:
        kept = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder), "TZ": "Europe/Berlin"}
        return {**kept, "SCRUBJAY_HOME": str(self.home.root), **more}

    def run(self, *words: str, text: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        """Run `scrubjay` with some input piped in."""
        return subprocess.run(
            [SCRUBJAY, *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            env=self.environment(**more),
            check=False,
        )

    def run_without_stdin(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `scrubjay` as a service may be started: its standard input is closed."""
        shell = ("/bin/sh", "-c", 'exec "$0" "$@" <&-', SCRUBJAY, *words)
        return subprocess.run(
            shell, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=self.environment(), check=False
        )

    def write_config(self, text: str) -> None:
        self.home.root.mkdir()
        self.home.config.write_text(text, encoding="utf-8")

    @contextmanager
    def running(self, *words: str, until: str, **more: str) -> Iterator["subprocess.Popen[str]"]:
        """Run `scrubjay` beside the test, from when it has written `until` to its stderr."""
        process = subprocess.Popen(
            [SCRUBJAY, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**more),
        )
        assert process.stderr is not None
        try:
            assert any(until in line for line in process.stderr), f"it ended before it wrote {until!r}"
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def on_a_terminal(machine: Machine, *words: str, answers: Sequence[str]) -> tuple[int, str, str]:
    """Run `scrubjay` with a terminal as its input, at which these answers are typed."""
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            [SCRUBJAY, *words],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=machine.environment(),
        )
        os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        os.close(master)
        os.close(slave)
    return process.returncode, out, err


def test_version_is_one_line(machine: Machine) -> None:
    done = machine.run("version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"scrubjay {__version__}\n", "")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_in_whole_sentences(machine: Machine, words: tuple[str, ...]) -> None:
    done = machine.run(*words, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: {' '.join(('scrubjay', *words))} ")
    assert "..." not in done.stdout.replace("[ARGS]...", "")
    assert not machine.home.root.exists()


def test_without_a_command_the_help_is_shown(machine: Machine) -> None:
    done = machine.run()

    assert done.stdout + done.stderr == machine.run("--help").stdout


def test_a_command_that_does_not_exist_is_a_mistake(machine: Machine) -> None:
    done = machine.run("strat")

    assert done.returncode == 2
    assert "No such command 'strat'" in done.stderr


def test_init_takes_the_defaults_also_without_any_input(machine: Machine) -> None:
    done = machine.run_without_stdin("init", "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"wrote {machine.home.config}\n"
        f"made {machine.home.root}/workspaces/main, where the agent's memory is kept\n"
        "\n"
        "The demo model answers until ANTHROPIC_API_KEY is in the environment.\n"
        "Next: `scrubjay chat` talks to your agent in this terminal.\n"
    )
    assert machine.home.config.stat().st_mode & 0o777 == 0o600
    assert (machine.home.root / "workspaces" / "main" / "AGENTS.md").exists()


def test_what_init_wrote_is_sound_and_has_what_a_newcomer_needs(machine: Machine) -> None:
    machine.run("init", "--yes")

    text = machine.home.config.read_text(encoding="utf-8")
    config = load_config(machine.home.config, environment={}, home=machine.home.root)
    assert (config.timezone, config.default_agent) == ("Europe/Berlin", "main")
    assert config.agents["main"].workspace == machine.home.root / "workspaces" / "main"
    assert config.agents["main"].model.is_demo
    for word in ("ANTHROPIC_API_KEY", "TELEGRAM_BOT_TOKEN", "@BotFather", "check-config", "--owner", "groups"):
        assert word in text
    checked = machine.run("check-config")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.startswith(f"sound: {machine.home.config}\nagent main: demo model, ")


def test_the_lines_of_every_platform_work_once_uncommented(machine: Machine) -> None:
    machine.run("init", "--yes")
    head, mark, lines = machine.home.config.read_text(encoding="utf-8").partition("# channels:")
    uncommented = "".join(line.removeprefix("# ") for line in (mark + lines).splitlines(keepends=True))
    machine.home.config.write_text(head + uncommented, encoding="utf-8")

    assert machine.run("check-config").returncode == 2
    checked = machine.run("check-config", **TOKENS)
    assert (checked.returncode, checked.stderr) == (0, "")
    for account in ("telegram/personal", "discord/community", "slack/work"):
        assert f"account {account}: private pairing, groups allowlist\n" in checked.stdout


def test_the_groups_lines_of_init_work_once_uncommented(machine: Machine) -> None:
    machine.run("init", "--yes")
    lines = machine.home.config.read_text(encoding="utf-8").partition("# channels:")
    text = lines[0] + "".join(
        line.replace("# ", "", 2) if "groups: {" in line else line.removeprefix("# ")
        for line in (lines[1] + lines[2]).splitlines(keepends=True)
    )
    machine.home.config.write_text(text, encoding="utf-8")

    channels = load_config(machine.home.config, environment=TOKENS, home=machine.home.root).channels

    assert channels.telegram.accounts["personal"].groups.allow == ("-1001234567890",)
    assert channels.discord.accounts["community"].groups.allow == ("guild:123456789012345678",)
    assert channels.slack.accounts["work"].groups.allow == ("C0123456789",)


def test_init_overwrites_nothing(machine: Machine) -> None:
    machine.write_config("# mine\n")

    done = machine.run("init", "--yes")

    assert done.returncode == 2
    assert (
        done.stderr
        == f"{machine.home.config} is there already; it was not touched. Edit it, or choose another --home.\n"
    )
    assert [path.name for path in machine.home.root.iterdir()] == ["scrubjay.yaml"]
    assert machine.home.config.read_text(encoding="utf-8") == "# mine\n"


def test_init_says_plainly_that_there_is_nobody_to_ask(machine: Machine) -> None:
    done = machine.run("init", text="main\n")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "There is no terminal to ask you in. `scrubjay init --yes` takes the defaults.\n"
    assert not machine.home.root.exists()


def test_init_asks_in_a_terminal_and_asks_again_where_an_answer_cannot_be(machine: Machine) -> None:
    answers = ("My Agent", "jay", "Berlin", "America/Lima", "state/x", "notes: mine #1", "irc", "slack, telegram")

    code, out, err = on_a_terminal(machine, "init", answers=answers)

    assert code == 0
    assert "Name of your first agent [main]:" in err
    assert "An agent's id must have 1 to 32 characters of a-z, 0-9, - and _" in err
    assert 'Unknown time zone "Berlin"; use a name such as "Europe/Berlin".' in err
    assert "An agent must not reach the gateway's own files" in err
    assert "Please name telegram, discord, slack, or none" in err
    for name in ("TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        assert f"`export {name}=…`" in out
    config = load_config(machine.home.config, environment=TOKENS, home=machine.home.root)
    assert (config.default_agent, config.timezone) == ("jay", "America/Lima")
    assert config.agents["jay"].workspace == machine.home.root / "notes: mine #1"
    accounts = {platform: list(found) for platform, found in config.channels.by_platform.items()}
    assert accounts == {"telegram": ["personal"], "discord": [], "slack": ["work"]}


def test_init_leaves_nothing_behind_when_it_is_broken_off(machine: Machine) -> None:
    code, _, err = on_a_terminal(machine, "init", answers=("jay", "\x04"))

    assert code == 1
    assert "Traceback" not in err
    assert not machine.home.root.exists()


def test_init_names_another_home_in_the_next_steps(tmp_path: Path) -> None:
    home = Home(tmp_path / "else where")

    told = initialise(home, {"ANTHROPIC_API_KEY": "k"}, ask=None, tell=lambda _: None)

    assert (
        told[-1] == f"Next: `scrubjay chat --home {shlex.quote(str(home.root))}` talks to your agent in this terminal."
    )
    with pytest.raises(AlreadyThere):
        initialise(home, {}, ask=None, tell=lambda _: None)


@pytest.mark.parametrize("name", ["1", "true", "0x1f", "no", "a-b_c"])
def test_init_writes_every_name_so_that_it_is_read_back(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / "home")
    answers = iter((name, "UTC", f"a {name}: b", ""))

    initialise(home, {}, ask=lambda question, default: next(answers), tell=lambda _: None)

    assert list(yaml.load(home.config.read_text(encoding="utf-8"), yaml.BaseLoader)["agents"]) == [name]
    assert load_config(home.config, environment={}, home=home.root).default_agent == name


def account(name: str, more: str = "", token: str = TOKEN) -> str:
    return f'      {name}: {{token: "{token}"{more}}}\n'


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("agentz: {}\n", 1, "agentz", 'did you mean "agents"?'),
        (f"{DEMO_AGENT}inbox: {{max_attempts: many}}\n", 2, "inbox.max_attempts", "must be a whole number"),
        (f"{DEMO_AGENT}timezone: [1\n", 2, "", 'a "[" without its "]"'),
        (f"{DEMO_AGENT}bindings:\n  - {{agent: mian}}\n", 3, "bindings[0].agent", 'did you mean "main"?'),
        (f"{DEMO_AGENT}compaction: {{reserve_tokens: 200000}}\n", 2, "compaction.reserve_tokens", "smaller than"),
        (
            f"{DEMO_AGENT}channels:\n  telegram:\n    accounts:\n{account('a', token='123456:ABC-DEF')}",
            5,
            "channels.telegram.accounts.a.token",
            "placeholder",
        ),
        (
            f"{DEMO_AGENT}channels:\n  telegram:\n    accounts:\n{account('a')}{account('b')}",
            6,
            "channels.telegram.accounts.b.token",
            "the same token as",
        ),
        (
            f"{DEMO_AGENT}channels:\n  telegram:\n    accounts:\n"
            + account("a", ", private: {policy: allowlist, allow: []}"),
            5,
            "channels.telegram.accounts.a.private.allow",
            "lets nobody in",
        ),
    ],
)
def test_a_mistake_in_the_configuration_is_a_sentence_with_its_place_and_nothing_is_made(
    machine: Machine, text: str, line: int, key: str, words: str
) -> None:
    machine.write_config(text)

    done = machine.run("check-config")

    assert (done.returncode, done.stdout) == (2, "")
    assert f"scrubjay.yaml:{line}: {key}" in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert TOKEN not in done.stderr
    assert [path.name for path in machine.home.root.iterdir()] == ["scrubjay.yaml"]


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("chat",),
        ("pair", "list"),
        ("route", "explain", *["--platform", "slack", "--chat", "1", "--sender", "1"]),
    ],
)
def test_nothing_starts_with_a_mistake_in_the_configuration(machine: Machine, words: tuple[str, ...]) -> None:
    machine.write_config("agentz: {}\n")

    done = machine.run(*words)

    assert (done.returncode, done.stdout) == (2, "")
    assert 'did you mean "agents"?' in done.stderr
    assert [path.name for path in machine.home.root.iterdir()] == ["scrubjay.yaml"]


def test_check_config_without_a_file_says_so_and_makes_nothing(machine: Machine) -> None:
    done = machine.run("check-config")

    assert done.returncode == 0
    assert f"There is no {machine.home.config}, so the defaults hold; `scrubjay init` writes one.\n" in done.stdout
    assert not machine.home.root.exists()


MODEL = "agents: {main: {model: {provider: demo}}}\nmemory:\n  embedder: {model: %s}\n"


def test_a_model_that_is_not_on_this_machine_is_a_mistake_for_whoever_checks_and_stops_nothing_else(
    machine: Machine,
) -> None:
    machine.write_config(MODEL % "models/mine")

    missing = machine.run("check-config")
    (machine.home.root / "models" / "mine").mkdir(parents=True)
    empty = machine.run("check-config")
    machine.home.config.write_text(MODEL % "minilm")
    unknown = machine.run("check-config")

    assert [done.returncode for done in (missing, empty, unknown)] == [2, 2, 2]
    assert missing.stderr.startswith(
        f"scrubjay.yaml:3: memory.embedder.model: There is no folder {machine.home.root / 'models/mine'}. Give the folder"
    )
    assert "models/mine/tokenizer.json is missing." in empty.stderr
    assert 'memory.embedder.model: there is no local model called "minilm"; known are multilingual-e5-small, ' in (
        unknown.stderr
    )
    assert machine.run("chat", text="hello\n").returncode == 0


def test_notes_elsewhere_that_are_not_there_now_are_a_warning(machine: Machine) -> None:
    drive = machine.folder / "drive"
    machine.write_config(DEMO_AGENT + f"memory:\n  extra_paths: [{machine.folder}, {drive}/notes]\n")

    without = machine.run("check-config")
    (drive / "notes").mkdir(parents=True)
    mounted = machine.run("check-config")

    assert (without.returncode, mounted.returncode) == (0, 0)
    (warning,) = [line for line in without.stdout.splitlines() if line.startswith("warning: ")]
    assert warning.startswith(
        f"warning: memory.extra_paths[1]: there is nothing at {drive}/notes now. If it is on a drive"
    )
    assert "warning: " not in mounted.stdout


@pytest.mark.parametrize("command", ["chat", "run", "init"])
def test_a_home_that_cannot_be_used_is_one_sentence(machine: Machine, command: str) -> None:
    machine.home.root.touch()

    done = machine.run(command, *(["--yes"] if command == "init" else []))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{machine.home.root} cannot be used: ")
    assert done.stderr.count("\n") == 1


def test_a_workspace_that_cannot_be_used_is_one_sentence(machine: Machine) -> None:
    machine.write_config(f"agents: {{main: {{workspace: {machine.folder}/file/below}}}}\n")
    (machine.folder / "file").touch()

    done = machine.run("chat", text="hello\n")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{machine.folder}/file cannot be used: File exists.\n"


def test_what_was_told_in_one_process_is_known_in_the_next_and_forgotten_by_hand(machine: Machine) -> None:
    told = machine.run("chat", "--demo", text="Remember that I like black coffee\n")
    asked = machine.run("chat", "--demo", text="What coffee do I like?\n")

    assert (told.returncode, asked.returncode) == (0, 0)
    assert "black coffee" in asked.stdout
    assert asked.stderr.startswith("demo model, as you asked: a small set of rules, not a language model\n")
    (note,) = (machine.home.root / "workspaces" / "main" / "memory").glob("*.md")
    lines = note.read_text(encoding="utf-8").splitlines(keepends=True)
    note.write_text("".join(line for line in lines if "black coffee" not in line), encoding="utf-8")
    again = machine.run("chat", "--demo", text="What coffee do I like?\n")
    assert again.returncode == 0
    assert "black" not in again.stdout


def test_without_a_key_the_demo_model_answers_and_says_so_on_stderr(machine: Machine) -> None:
    done = machine.run("chat", text="hello\n\n/whoami\n")

    assert done.returncode == 0
    assert done.stderr.startswith("demo model, because no ANTHROPIC_API_KEY is set: ")
    assert "Agent `main` answers here: the agent that this terminal asked for" in done.stdout


def test_chat_with_nothing_to_say_ends_well_also_where_stdin_is_closed(machine: Machine) -> None:
    assert machine.run("chat").returncode == 0
    closed = machine.run_without_stdin("chat")
    assert (closed.returncode, closed.stdout) == (0, "")
    assert "Traceback" not in closed.stderr


def test_a_chat_with_an_agent_that_does_not_exist_is_a_mistake(machine: Machine) -> None:
    done = machine.run("chat", "--agent", "nosuch", text="hello\n")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "There is no agent nosuch. The agents are: main.\n"
    assert not machine.home.root.exists()


def test_a_chat_chooses_its_agent(machine: Machine) -> None:
    machine.write_config("agents: {main: {default: true}, work: {}}\n")

    done = machine.run("chat", "--agent", "work", text="/whoami\n")

    assert "- Session `agent:work:main`, memory of `owner`" in done.stdout


def test_a_command_that_is_refused_goes_to_stderr(machine: Machine) -> None:
    done = machine.run("chat", text="/pair approve AAAAAAAA\n")

    assert done.stdout == ""
    assert "Nobody waits with that code." in done.stderr


def test_the_second_chat_on_a_home_talks_through_the_first_one(machine: Machine) -> None:
    with machine.running("chat", "--demo", until="/help lists the commands") as first:
        second = machine.run("chat", text="Remember that the key is under the mat\n")
        out, _ = first.communicate("Where is the key?\n", timeout=PATIENCE_SECONDS)

    assert second.returncode == 0
    assert "as you asked" in second.stderr
    assert "under the mat" in out
    assert first.returncode == 0


def test_a_home_that_runs_takes_chats_but_no_second_run(machine: Machine) -> None:
    with machine.running("run", until="connected") as gateway:
        second = machine.run("run")
        chat = machine.run("chat", text="/whoami\n")
        demo = machine.run("chat", "--demo", text="/whoami\n")
        waiting = machine.run("pair", "list")
        status = machine.run("status")
        gateway.terminate()
        gateway.communicate(timeout=PATIENCE_SECONDS)

    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == (
        f"Scrubjay is already running on {machine.home.root}, perhaps as a chat window in another terminal. "
        "Stop that first, or choose another home with --home.\n"
    )
    assert chat.returncode == 0
    assert "- Session `agent:main:main`" in chat.stdout
    assert (demo.returncode, demo.stdout) == (2, "")
    assert demo.stderr == "A gateway is running here, with its own model. Leave out --demo, or stop it first.\n"
    assert (waiting.returncode, waiting.stdout) == (0, "Nobody is waiting to be let in.\n")
    assert (status.returncode, status.stderr) == (0, "")
    assert f"- Scrubjay {__version__}, running for " in status.stdout
    assert gateway.returncode == 0


def test_there_is_no_status_where_nothing_runs(machine: Machine) -> None:
    done = machine.run("status")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("Start one with `scrubjay run`.\n")


def test_pair_commands_fail_with_a_sentence_on_stderr(machine: Machine) -> None:
    machine.run("chat")
    done = machine.run("pair", "approve", "AAAAAAAA", "--owner")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Nobody waits with that code.")


async def test_a_reply_that_failed_is_one_sentence_on_stderr_without_the_key(machine: Machine) -> None:
    key = "test-key-that-no-server-accepts"
    refusal = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    head = f"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {len(refusal)}\r\n"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}connection: close\r\n\r\n".encode() + refusal)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = f'{{provider: anthropic, api_key: {key}, base_url: "http://127.0.0.1:{port}"}}'
        machine.write_config(f"agents: {{main: {{model: {model}}}}}\n")
        done = await asyncio.to_thread(machine.run, "chat", text="hello\n")

    assert done.stdout == ""
    assert "The model does not accept our key; the owner has to check it.\n" in done.stderr
    assert key not in done.stderr
    assert "Traceback" not in done.stderr


def test_run_logs_lines_of_json_without_the_token(machine: Machine) -> None:
    unreachable = ', base_url: "http://127.0.0.1:9/bot"'
    machine.write_config(
        f"{DEMO_AGENT}log: {{level: debug, format: json}}\n"
        f"channels:\n  telegram:\n    accounts:\n{account('a', unreachable)}"
    )

    with machine.running("run", until='"action": "waiting"') as gateway:
        gateway.terminate()
        _, rest = gateway.communicate(timeout=PATIENCE_SECONDS)

    records = [json.loads(line) for line in rest.splitlines()]
    assert records[-1]["message"] == "stopped"
    assert {"time", "level", "logger", "message", "action"} <= records[-1].keys()
    assert TOKEN not in rest


def masked(form: str, *secrets: str, message: str, exception: Exception | None = None, **facts: object) -> str:
    record = logging.LogRecord("gateway.test", logging.WARNING, __file__, 1, message, (), None)
    record.__dict__.update(facts)
    if exception is not None:
        record.exc_info = (type(exception), exception, None)
    return Masked(secrets, "json" if form == "json" else "text").format(record)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("secret", [TOKEN, 'quo"te\\d and €', "a/b+c=d&e f", "line\nbreak"])
def test_a_secret_is_masked_wherever_it_stands_and_however_it_is_written(form: str, secret: str) -> None:
    line = masked(
        form,
        secret,
        message=f"GET https://api.example/bot{secret}/getMe and {quote(secret)}",
        exception=RuntimeError(f"cannot use {secret!r} or {secret}"),
        url=f"https://api.example/?key={quote(secret, safe='')}",
        value={"key": secret},
    )

    for written in (secret, quote(secret), quote(secret, safe=""), repr(secret)[1:-1], json.dumps(secret)[1:-1]):
        assert written not in line
    assert line.count("***") >= 4
    assert form == "text" or json.loads(line)["logger"] == "gateway.test"


def test_a_text_line_stays_one_line_whatever_it_tells() -> None:
    line = masked("text", message="first\nsecond", name_of_file="a\r\nb", action="hidden")

    assert "\n" not in line
    assert line.endswith("warning first\\nsecond name_of_file=a\\r\\nb")


def test_a_traceback_follows_its_line() -> None:
    lines = masked("text", message="it broke", exception=RuntimeError("why")).splitlines()

    assert lines[0].endswith("warning it broke")
    assert lines[-1] == "RuntimeError: why"


def test_every_secret_of_the_configuration_is_known_to_the_log(tmp_path: Path) -> None:
    path = tmp_path / "scrubjay.yaml"
    path.write_text(
        'agents: {main: {model: {api_key: "${KEY}"}}}\n'
        "web: {token: web-secret-123456}\n"
        "memory: {embedder: {api_key: embedder-secret-1}}\n"
        f"channels:\n  telegram:\n    accounts:\n{account('a')}",
        encoding="utf-8",
    )

    config = load_config(path, environment={"KEY": "model-secret-1"}, home=tmp_path)

    assert set(secrets_of(config)) == {"model-secret-1", "web-secret-123456", "embedder-secret-1", TOKEN}


def explained(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    return machine.run("route", "explain", *words)


ROUTES = f"""\
owner: {{telegram: ["1"]}}
people: {{ana: {{telegram: ["3"]}}}}
agents: {{main: {{default: true}}, work: {{}}}}
bindings: [{{agent: work, platform: telegram, chat: "-5"}}]
channels:
  telegram:
    accounts:
{account("a", ', groups: {policy: allowlist, allow: ["-5"]}')}"""


def test_route_explain_says_who_answers_and_why(machine: Machine) -> None:
    machine.write_config(ROUTES)

    group = explained(machine, "--platform", "telegram", "--chat", "-5", "--sender", "3", "--thread", "7")
    private = explained(machine, "--platform", "telegram", "--chat", "1", "--sender", "1")
    terminal = explained(machine, "--platform", "terminal", "--chat", "local", "--sender", "owner", "--account", "work")

    assert group.stdout == (
        "agent     work: binding {platform: telegram, chat: -5} → work\n"
        "otherwise main (the default agent)\n"
        "session   agent:work:telegram:a:group:-5:thread:7\n"
        "sees      the shared files and groups/telegram--5\n"
        "sender    person\n"
        "addressed admit: an allowed group\n"
        "else      ignore: not addressed, kept as context of the next answer\n"
    )
    assert private.stdout == (
        "agent     main: the default agent\n"
        "otherwise nobody\n"
        "session   agent:main:main\n"
        "sees      everything\n"
        "sender    owner\n"
        "access    admit: the owner's private chat\n"
    )
    assert terminal.stdout.startswith("agent     work: the agent that this terminal asked for\n")
    assert [path.name for path in machine.home.root.iterdir()] == ["scrubjay.yaml"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--platform", "icq"), "There is no platform icq. The platforms are: telegram, discord, slack, terminal."),
        (("--platform", "slack"), "No account on slack is configured."),
        (("--platform", "telegram", "--account", "b"), "There is no account b on telegram. The accounts are: a."),
    ],
)
def test_route_explain_says_what_is_wrong_with_the_question(
    machine: Machine, words: tuple[str, ...], sentence: str
) -> None:
    machine.write_config(ROUTES)

    done = explained(machine, "--chat", "1", "--sender", "1", *words)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{sentence}\n")


def test_route_explain_knows_who_was_let_in_and_which_groups_moved(machine: Machine) -> None:
    machine.write_config(ROUTES)
    home = machine.home
    home.prepare()

    async def learn() -> None:
        store = await Store.open(home.database, FakeClock())
        pairing = PendingPairing("AAAAAAAA", "telegram", "a", "9", "Bea", "9", 0, 0)
        await store.approve(pairing, "owner", [Part(Chat("telegram", "a", "9"), "hello")])
        await store.accept([], migrations=[Migration(Chat("telegram", "a", "-5"), Chat("telegram", "a", "-100"))])
        await store.close()

    asyncio.run(learn())
    config = load_config(home.config, environment={}, home=home.root)

    assert "sender    owner" in explain_route(config, home, Question("telegram", "9", "9"))
    moved = explain_route(config, home, Question("telegram", "-100", "3"))
    assert "session   agent:work:telegram:a:group:-5" in moved
    assert moved[-2].startswith("addressed admit: ")


def test_route_explain_takes_one_id_for_a_private_chat_unless_it_is_told_otherwise(machine: Machine) -> None:
    machine.write_config(ROUTES)

    def session(*words: str) -> str:
        told = explained(machine, "--platform", "telegram", "--chat", "-5", *words).stdout
        return next(line for line in told.splitlines() if line.startswith("session"))

    assert session("--sender", "3") == "session   agent:work:telegram:a:group:-5"
    assert session("--sender", "3", "--private") == "session   agent:work:telegram:a:direct:3"
    assert session("--sender", "-5") == "session   agent:work:telegram:a:direct:-5"
    assert session("--sender", "-5", "--group") == "session   agent:work:telegram:a:group:-5"


def test_route_explain_knows_what_the_owner_set_in_a_group(machine: Machine) -> None:
    machine.write_config(ROUTES)
    home = machine.home
    home.prepare()

    async def learn() -> None:
        store = await Store.open(home.database, FakeClock())
        key = "agent:work:telegram:a:group:-5"
        await store.conversations.open(key, agent="work", shelf="groups/telegram--5", kind="group", new_id="s1")
        await store.conversations.set_settings(key, {"activation": "always"})
        await store.close()

    asyncio.run(learn())
    config = load_config(home.config, environment={}, home=home.root)

    for thread in (None, "7"):
        told = explain_route(config, home, Question("telegram", "-5", "3", thread=thread))
        assert told[-1] == "else      admit: an allowed group"


def test_letting_somebody_in_needs_no_token_but_a_home_where_a_gateway_has_run(machine: Machine) -> None:
    settings = "agents: {main: {}}\nchannels: {telegram: {accounts: {bot: {token: '${NO_SUCH_TOKEN}'}}}}\n"
    machine.write_config(settings)

    before = machine.run("pair", "list")
    spoken = machine.run("chat", text="hello\n")
    after = machine.run("pair", "list")
    run = machine.run("run")

    assert (before.returncode, "No gateway has run in" in before.stderr) == (2, True)
    assert (spoken.returncode, after.returncode) == (0, 0)
    assert (run.returncode, "NO_SUCH_TOKEN is not set" in run.stderr) == (2, True)


def test_an_empty_home_is_not_the_current_folder(machine: Machine) -> None:
    answer = machine.run("chat", "--home", "")

    assert (answer.returncode, answer.stderr.strip()) == (2, "--home is empty; perhaps a variable in it is not set.")


def test_settings_that_nothing_acts_on_yet_are_named(machine: Machine) -> None:
    machine.write_config("agents: {main: {tools: {shell: sandbox}}}\nretention: {notes_archive_days: 90}\n")

    answer = machine.run("check-config").stdout
    assert "no effect yet: retention.notes_archive_days, agents.main.tools.shell" in answer
