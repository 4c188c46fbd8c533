"""Running the gateway from the command line: until stopped, under a chat window, or for a single command."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from adapters.terminal.address import socket_path
from adapters.terminal.client import NotConnected, connect
from adapters.terminal.protocol import Done, Message, Problem
from gateway.app import Gateway, open_gateway
from gateway.config import Config
from gateway.errors import HomeBusy
from gateway.home import Home
from gateway.logs import start_logging
from gateway.tasks import finished
from scrubjay import __version__

log = logging.getLogger(__name__)


def serve(config: Config, home: Home) -> int:
    """Serve every account until SIGINT or SIGTERM; return the exit code."""
    start_logging(config)
    return finished(_until_stopped(config, home))


async def _until_stopped(config: Config, home: Home) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with open_gateway(config) as gateway:
        _say_what_is_served(gateway, home)
        await stop.wait()
    log.info("stopped", extra={"action": "stopped"})
    return 0


def _say_what_is_served(gateway: Gateway, home: Home) -> None:
    log.info("scrubjay %s is running", __version__, extra={"action": "running", "home": str(home.root)})
    for agent in gateway.agents.values():
        extra = {"action": "serving", "agent": agent.id}
        log.info("answers with %s", f"the {agent.note}" if agent.note else agent.model.name, extra=extra)
    if not any(gateway.config.channels.by_platform.values()):
        hint = f"add one under channels in {home.config}" if home.config.exists() else "`scrubjay init` helps with that"
        sentence = "no account is configured, so only `scrubjay chat` can talk to the agents; %s"
        log.warning(sentence, hint, extra={"action": "no_account"})


def chat_here(config: Config, home: Home, *, agent: str, demo: bool) -> int:
    """Open a chat window: on a gateway of its own, or on the one that runs already; return the exit code."""
    _open_what_is_closed()
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    home.prepare()
    start_logging(config, file=home.log if interactive else None, level=None if interactive else "warning")
    return finished(_chat(config, home, agent=agent, demo=demo, interactive=interactive), log_file=home.log)


def _open_what_is_closed() -> None:
    """A stream that was closed before we started reads as empty, or swallows what is written to it."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


async def _chat(config: Config, home: Home, *, agent: str, demo: bool, interactive: bool) -> int:
    try:
        async with open_gateway(config, platforms=False, demo=demo) as gateway:
            return await _converse(home, gateway, agent=agent, interactive=interactive)
    except HomeBusy:
        if demo:  # what is typed would go to a model that was not asked for
            sys.stderr.write("A gateway is running here, with its own model. Leave out --demo, or stop it first.\n")
            return 2
        return await _converse(home, None, agent=agent, interactive=interactive)


async def _converse(home: Home, gateway: Gateway | None, *, agent: str, interactive: bool) -> int:
    from gateway.chat import converse

    socket = gateway.socket if gateway else socket_path(home.state)
    return await converse(
        socket,
        agent=agent,
        stdin=sys.stdin,
        stdout=sys.stdout,
        stderr=sys.stderr,
        interactive=interactive,
        history=home.state / "chat-history" if interactive else None,
    )


def command_here(config: Config, home: Home, text: str) -> int:
    """Give one command to the gateway as its owner, starting one without accounts if none runs; return the exit code."""
    home.prepare()
    start_logging(config, level="warning")
    return finished(_command(config, home, text))


def status_here(config: Config, home: Home) -> int:
    """Ask the gateway that runs over a home how it is; return the exit code, 1 when none runs."""
    start_logging(config, level="warning")
    return finished(_give(socket_path(home.state), config.default_agent, "/status"))


async def _command(config: Config, home: Home, text: str) -> int:
    try:
        async with open_gateway(config, platforms=False) as gateway:
            return await _give(gateway.socket, config.default_agent, text)
    except HomeBusy:
        return await _give(socket_path(home.state), config.default_agent, text)


async def _give(socket: Path, agent: str, text: str) -> int:
    try:
        link = await connect(socket, agent=agent, piped=True)
    except NotConnected as error:
        sys.stderr.write(f"{error}\n")
        return 1
    try:
        asked = link.say(text)
        code = 0
        async for line in link.lines():
            match line:
                case Message():
                    answered = line.reply_to == asked and line.purpose == "command"
                    if line.reply_to == asked and not answered:
                        code = 1  # it was refused
                    (sys.stdout if answered else sys.stderr).write(f"{line.text}\n")
                    link.shown(line.key)
                case Problem():
                    sys.stderr.write(f"{line.text}\n")
                    return 1
                case Done(ids) if asked in ids:
                    return code
        sys.stderr.write("The gateway went away before it answered.\n")
        return 1
    finally:
        await link.close()
