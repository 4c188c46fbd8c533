"""Running the gateway from the command line: until stopped, under a chat window, or for a single command."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from adapters.terminal.address import socket_path
from adapters.terminal.client import NotConnected, connect
from adapters.terminal.protocol import Done, Message, Problem
from gateway.app import Gateway, open_gateway
from gateway.config import Config
from gateway.errors import HomeBusy
from gateway.home import Home
from gateway.logs import start_logging


def serve(config: Config) -> int:
    """Serve every account until SIGINT or SIGTERM; return the exit code."""
    start_logging(config)
    return asyncio.run(_until_stopped(config))


async def _until_stopped(config: Config) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with open_gateway(config):
        await stop.wait()
    return 0


def chat_here(config: Config, home: Home, *, agent: str, demo: bool) -> int:
    """Open a chat window: on a gateway of its own, or on the one that runs already; return the exit code."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    home.prepare()
    start_logging(config, file=home.log if interactive else None, level=None if interactive else "warning")
    return _cancellable(_chat(config, home, agent=agent, demo=demo, interactive=interactive))


async def _chat(config: Config, home: Home, *, agent: str, demo: bool, interactive: bool) -> int:
    try:
        async with open_gateway(config, platforms=False, demo=demo) as gateway:
            return await _converse(home, gateway, agent=agent, interactive=interactive)
    except HomeBusy:
        if demo:
            sys.stderr.write("The gateway that is running decides about its model; --demo is left out.\n")
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
    return _cancellable(_command(config, home, text))


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
        async for line in link.lines():
            match line:
                case Message():
                    sys.stdout.write(f"{line.text}\n")
                    link.shown(line.key)
                case Problem():
                    sys.stderr.write(f"{line.text}\n")
                    return 1
                case Done(ids) if asked in ids:
                    return 0
        sys.stderr.write("The gateway went away before it answered.\n")
        return 1
    finally:
        await link.close()


def _cancellable(work: Coroutine[Any, Any, int]) -> int:
    """Run until done; Ctrl-C ends it without a traceback."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        return 130
