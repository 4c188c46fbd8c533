"""What a long conversation costs and keeps: 400 turns with large tool results, billed as the Messages API bills."""

import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from adapters.testing import FakeAdapter
from agents.base import Message, Request, text_block
from agents.tools import TOOLS
from bench.report import quantiles, row, say
from bench.session_model import WINDOW_TOKENS, Bill, ScriptedBilledModel, tokens_of
from bench.session_script import Fact, Script, write_script
from gateway.app import Gateway, open_gateway
from gateway.build import build_agent
from gateway.config import Config, load_config
from gateway.home import Home
from gateway.memories import open_memories
from gateway.turns import Agent
from memory.clock import Clock, SystemClock
from memory.engine import Memory
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock
from tests.emulators.messages.prompt_cache import LIFE_SECONDS

BASELINE_TOKENS = 180_000
OWNER_ID = "1001"

SETTINGS = """
timezone: Europe/Berlin
owner: {{telegram: ["{owner}"]}}
agents: {{main: {{model: {{provider: demo, context_window: {window}}}}}}}
channels: {{telegram: {{accounts: {{main: {{token: "1:a-token-that-no-server-will-ever-see-0123"}}}}}}}}
sessions: {{reset: {{mode: never}}}}
pruning: {{mode: "{pruning}"}}
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """Of the facts: how many are in the last request, in it or found in memory, and found in past conversations."""

    in_context: int
    with_memory: int
    in_sessions: int


@dataclass(frozen=True, slots=True)
class Run:
    """What one way of doing it came to; `added` are the milliseconds of each turn without the model's double."""

    bill: Bill
    added: list[float]
    kept: Kept | None = None


async def measure() -> None:
    """Print the figures."""
    script = write_script()
    baseline = await _baseline(script)
    row("baseline: cost per turn, in input tokens", baseline.cost / len(script.turns), "tokens")
    for pruning in ("off", "cache-ttl"):
        run = await _ours(script, pruning)
        _report(f"ours, pruning {pruning}", run, baseline, script)


def _report(name: str, run: Run, baseline: Bill, script: Script) -> None:
    bill, turns = run.bill, len(script.turns)
    ours = f"{name}: "
    row(f"{ours}cost per turn", bill.cost / turns, "tokens", aim="<= 0.40 ×", of=baseline.cost / turns)
    read = bill.cached_share(within_seconds=LIFE_SECONDS)
    row(f"{ours}read from cache, no pauses", read * 100, "%", aim=">= 90")
    for purpose in ("turn", "summary", "flush"):
        requests = [request for request in bill.requests if request.purpose == purpose]
        tokens = sum(request.counted.total for request in requests)
        row(f"{ours}input in {len(requests)} requests ({purpose})", tokens / turns, "tokens/turn")
    row(f"{ours}requests that would be refused", len(bill.refused), "", aim="0")
    for refused in bill.refused[:3]:
        say(f"    {refused[:200]}")
    median, late = quantiles(run.added)
    row(f"{ours}added time per turn, p50", median, "ms")
    row(f"{ours}added time per turn, p99", late, "ms", aim="< 25")
    if run.kept is not None:
        all_facts = len(script.facts)
        row(f"{ours}facts in context", 100 * run.kept.in_context / all_facts, "%")
        row(f"{ours}facts in context or found in memory", 100 * run.kept.with_memory / all_facts, "%", aim=">= 90")
        row(f"{ours}facts found by session_search", 100 * run.kept.in_sessions / all_facts, "%", aim="100")


@asynccontextmanager
async def _gateway(folder: Path, model: ScriptedBilledModel, clock: Clock, pruning: str) -> AsyncIterator[Gateway]:
    settings = SETTINGS.format(owner=OWNER_ID, window=WINDOW_TOKENS, pruning=pruning)
    (folder / "scrubjay.yaml").write_text(settings, encoding="utf-8")
    config = load_config(folder / "scrubjay.yaml", environment=os.environ, home=folder)

    def build(name: str, config: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
        return replace(build_agent(name, config, home, clock, demo=True), model=model)

    def memories(
        config: Config, home: Home, clock: Clock, agents: Sequence[str]
    ) -> AbstractAsyncContextManager[Mapping[str, Memory]]:
        return open_memories(config, home, SystemClock(clock.zone), agents)  # files are watched in real time

    chat = FakeAdapter(platform="telegram", account="main", patience_seconds=120)
    opening = open_gateway(
        config, platforms=False, adapters=[chat], build=build, clock=clock, memories=memories, demo=False
    )
    async with opening as gateway:
        await chat.until(lambda: chat.connected)
        yield gateway


async def _ours(script: Script, pruning: str) -> Run:
    clock = FakeClock(datetime(2026, 1, 26, 8, 0, tzinfo=UTC), zone="Europe/Berlin")
    model = ScriptedBilledModel(script, lambda: clock.now().timestamp())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with _gateway(folder, model, clock, pruning) as gateway:
            workspace = gateway.agents["main"].workspace
            for path, text in script.files.items():
                (workspace / path).parent.mkdir(exist_ok=True)
                (workspace / path).write_text(text, encoding="utf-8")
            chat = gateway.accounts.find("telegram", "main")
            assert isinstance(chat, FakeAdapter)
            added = [await _turn(chat, clock, model, turn.text, turn.seconds_before) for turn in script.turns]
            return Run(model.bill, added, await _kept(gateway, model, script.facts))


async def _turn(chat: FakeAdapter, clock: FakeClock, model: ScriptedBilledModel, text: str, pause: float) -> float:
    """Say something after a pause and wait for the answer; return the milliseconds without those of the double."""
    clock.advance(pause)
    spent, began = model.bill.seconds, time.perf_counter()
    chat.say(text, chat_id=OWNER_ID, sender=OWNER_ID)
    await chat.heard()
    return (time.perf_counter() - began - (model.bill.seconds - spent)) * 1_000


async def _kept(gateway: Gateway, model: ScriptedBilledModel, facts: Sequence[Fact]) -> Kept:
    """Look for every fact in the last request, in memory and in past conversations, asked in other words."""
    agent = gateway.agents["main"]
    assert model.last is not None
    assert agent.memory is not None
    await agent.memory.index()
    context = json.dumps([message.content for message in model.last.messages], ensure_ascii=False)
    audience = Audience(OWNER)
    in_context = with_memory = in_sessions = 0
    for fact in facts:
        there = fact.answer in context
        in_context += there
        if not there:
            answer = await agent.memory.search(fact.question, audience)
            there = any(fact.answer in result.snippet for result in answer.results)
        with_memory += there
        in_sessions += await _found_in_sessions(agent, audience, fact)
    return Kept(in_context, with_memory, in_sessions)


async def _found_in_sessions(agent: Agent, audience: Audience, fact: Fact) -> bool:
    assert agent.sessions is not None
    found = await agent.sessions.search(fact.question, audience)
    return any(fact.answer in find.snippet for find in found.finds)


async def _baseline(script: Script) -> Bill:
    """Bill what a plain loop would send: always the newest 180,000 tokens, the same breakpoints, nothing pruned."""
    clock = FakeClock(datetime(2026, 1, 26, 8, 0, tzinfo=UTC))
    model = ScriptedBilledModel(script, lambda: clock.now().timestamp())
    specs = tuple(tool.spec for tool in TOOLS.values())
    system = ("You are an agent. " + "These are your rules. " * 250,)
    history: list[tuple[Message, int]] = []

    async def ask() -> None:
        messages = _newest(history)
        async for event in model.respond(Request(system, specs, messages, 8_192)):
            response = event
        said = Message("assistant", response.content)  # type: ignore[union-attr]
        history.append((said, model.bill.requests[-1].output_tokens))
        calls = [block for block in said.content if block["type"] == "tool_use"]
        if calls:
            results = tuple(_result(call["id"], script.files[call["input"]["path"]]) for call in calls)
            history.append((Message("user", results), sum(_size(result) for result in results)))
            await ask()

    for turn in script.turns:
        clock.advance(turn.seconds_before)
        content = (text_block(turn.text),)
        history.append((Message("user", content), _size(content[0])))
        await ask()
    return model.bill


def _result(call: str, text: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": call, "content": [text_block(text)]}


def _size(block: dict[str, object]) -> int:
    return tokens_of(json.dumps(block, ensure_ascii=False))


def _newest(history: Sequence[tuple[Message, int]]) -> tuple[Message, ...]:
    """Return the newest messages of at most 180,000 tokens, from one that a person wrote on."""
    total, begin = 0, len(history)
    for at in range(len(history) - 1, -1, -1):
        message, size = history[at]
        total += size
        if total > BASELINE_TOKENS:
            break
        if message.role == "user" and message.content[0]["type"] == "text":
            begin = at
    return tuple(message for message, _ in history[begin:])
