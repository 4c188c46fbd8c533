"""Recollections: one file for a session and a day, whoever writes into it at the same time."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from agents.entries import Header
from agents.journal import Journal
from agents.recollection import Titled
from agents.testing import ScriptedModel
from agents.workspace import FileCache, Limits
from gateway.agent import Agent
from gateway.recollections import Recollections
from gateway.sessions import Threads
from memory.scan import Tree
from memory.testing import FakeClock

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


async def test_a_session_that_ends_while_its_facts_are_kept_has_one_file(tmp_path: Path) -> None:
    clock, threads = FakeClock(NOON), Threads()
    agent = Agent(
        id="main",
        workspace=tmp_path,
        tree=Tree(tmp_path),
        model=ScriptedModel(),
        max_tokens=500,
        window_tokens=4_000,
        max_results=6,
        limits=Limits(),
        cache=FileCache(),
        journal=Journal(tmp_path / "journal.jsonl", clock=clock),
    )
    recollections = Recollections(spent=lambda *given: None, threads=threads, clock=clock)
    header = Header("s1", "agent:main:main", "main", NOON)

    paths = await asyncio.gather(
        *(
            recollections.write(agent, header, at=NOON, why="Summed up", found=Titled("Plan"), facts=[f"- fact {n}"])
            for n in range(20)
        )
    )
    threads.close()

    assert set(paths) == {"memory/2026-01-26-plan.md"}
