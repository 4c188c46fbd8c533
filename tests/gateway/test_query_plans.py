"""Query plans: what is asked for every message, or at every connection, never looks through all that was ever said."""

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import apsw
import pytest

from gateway.store import Store
from memory.sqlite import load_statements
from memory.testing import FakeClock

TABLE = re.compile(r"(SCAN|SEARCH) (inbox|outbox|reminders|this|next|newest)\b")
STATEMENTS = load_statements(files("gateway.store") / "sql")
ASKED_OFTEN = {
    "inbox_find": {"sqlite_autoindex_inbox_1"},
    "inbox_told_before": {"inbox_told_in", "inbox_told_opening"},
    "inbox_told_later": {"inbox_ours"},
    "inbox_overheard": {"inbox_heard", "sqlite_autoindex_inbox_1"},
    "inbox_thread_is_ours": {"sqlite_autoindex_inbox_1", "outbox_sent"},
    "inbox_open": {"inbox_open"},
    "inbox_of_turn": {"inbox_turn"},
    "inbox_last_seen": {"inbox_places"},
    "inbox_forget_rows": {"inbox_age", "inbox_places"},
    "inbox_last_chat": {"inbox_ours"},
    "outbox_next": {"outbox_open"},
    "outbox_chats": {"outbox_open"},
    "outbox_changed": {"outbox_sent"},
    "outbox_settle": {"outbox_sent"},
    "draft_of": {"outbox_drafts"},
    "reminder_asked": {"reminders_asked_by"},
}


@pytest.fixture
async def plans(tmp_path: Path) -> dict[str, list[str]]:
    """The steps of each statement's plan, over an empty store."""
    path = tmp_path / "gateway.sqlite"
    await (await Store.open(path, FakeClock())).close()
    connection = apsw.Connection(str(path))
    try:
        return {name: [*_steps(connection, STATEMENTS[name])] for name in ASKED_OFTEN}
    finally:
        connection.close()


def _steps(connection: apsw.Connection, sql: str) -> Iterator[str]:
    values = dict.fromkeys(re.findall(r":(\w+)", sql))
    for _, _, _, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values):
        yield str(step)


async def test_what_is_asked_often_is_found_by_an_index_and_nothing_is_looked_through(
    plans: dict[str, list[str]],
) -> None:
    for name, indexes in ASKED_OFTEN.items():
        tables = [step for step in plans[name] if TABLE.match(step)]
        assert [step for step in tables if step.startswith("SCAN") and "USING INDEX" not in step] == [], name
        assert {found[1] for step in tables if (found := re.search(r"INDEX (\w+)", step))} == indexes, name
