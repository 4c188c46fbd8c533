"""What is installed and what is sent: megabytes, packages, lines of code, and the prompt of a "hello"."""

import asyncio
import json
import tempfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from adapters.testing import FakeAdapter
from agents.testing import ScriptedModel
from bench import in_process
from bench.report import row, say
from gateway.app import open_gateway
from gateway.config import Config, load_config
from gateway.home import Home
from gateway.turns import Agent
from memory.clock import Clock

ROOT = Path(__file__).parent.parent
PACKAGES = ("gateway", "adapters", "agents", "memory")


def run_packages() -> dict[str, float]:
    """Return the installed packages of the run lock that this platform has, with their size in MB."""
    names = {line.split("==")[0] for line in (ROOT / "requirements/run.txt").read_text().splitlines() if "==" in line}
    sizes = {}
    for name in sorted(names):
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:
            continue  # locked for another platform
        sizes[name] = sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).exists()) / 1e6
    return sizes


async def hello_prompt() -> int:
    """Return the characters of system prompt, tool schemas and messages of a "hello" in a new home."""
    model = ScriptedModel()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scrubjay.yaml").write_text(in_process.SETTINGS, encoding="utf-8")
        config = load_config(folder / "scrubjay.yaml", environment={}, home=folder)
        config = config.model_copy(update={"owner": {"telegram": ("7",)}})
        chat = FakeAdapter(platform="telegram", account="main")

        def build(name: str, config: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
            return replace(in_process.scripted(name, config, home, clock, demo=demo), model=model)

        async with open_gateway(config, platforms=False, adapters=[chat], build=build):
            chat.say("hello", chat_id="7", sender="7")
            await chat.heard()
    request = model.requests[0]
    tools = [{"name": t.name, "description": t.description, "input_schema": dict(t.parameters)} for t in request.tools]
    texts = [block["text"] for message in request.messages for block in message.content]
    return len("".join(request.system)) + len(json.dumps(tools)) + len("".join(texts))


async def measure() -> None:
    """Print the figures."""
    sizes = await asyncio.to_thread(run_packages)
    row("installed with Telegram", sum(sizes.values()), "MB", aim="< 130")
    row("packages", len(sizes), "", aim="< 60")
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    say("  the largest: " + ", ".join(f"{name} {size:.0f} MB" for name, size in largest))
    lines = sum(p.read_text().count("\n") for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
    row("lines of Python", lines, "")
    row('prompt and tool schemas of a "hello"', await hello_prompt(), "characters", aim="< 9000")
