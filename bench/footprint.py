"""What is installed and what is sent: megabytes, packages, lines of code, and the prompt of a "hello"."""

import asyncio
import json
import tempfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
SETS = (
    ("with Telegram", ("telegram",), ("< 130", "< 60")),
    ("with all platforms and the local embedder", ("telegram", "discord", "slack", "local"), ("< 400", "")),
)


def packages_of(*extras: str) -> dict[str, float]:
    """Return what `scrubjay` needs with these extras on this platform, all the way down, with its size in MB."""
    wanted, sizes = [("scrubjay", frozenset(extras))], dict[str, float]()
    while wanted:
        name, chosen = wanted.pop()
        if name in sizes:
            continue
        distribution = metadata.distribution(name)
        files = (Path(str(file.locate())) for file in distribution.files or [])
        sizes[name] = sum(path.stat().st_size for path in files if path.exists()) / 1e6
        for line in distribution.requires or []:
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *chosen)):
                wanted.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    del sizes["scrubjay"]
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
    for label, extras, aims in SETS:
        sizes = await asyncio.to_thread(packages_of, *extras)
        row(f"installed {label}", sum(sizes.values()), "MB", aim=aims[0])
        row(f"packages {label}", len(sizes), "", aim=aims[1])
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    say("  the largest: " + ", ".join(f"{name} {size:.0f} MB" for name, size in largest))
    lines = sum(p.read_text().count("\n") for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
    row("lines of Python", lines, "")
    row('prompt and tool schemas of a "hello"', await hello_prompt(), "characters", aim="< 9000")
