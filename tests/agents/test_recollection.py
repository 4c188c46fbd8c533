"""What memory keeps of a conversation: its title, its name, its text, and that it is kept once."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base import text_block
from agents.entries import Entry, MessageRecord
from agents.recollection import (
    SLUG_BYTES,
    SLUG_CHARACTERS,
    Origin,
    Titled,
    file_recollection,
    last_said,
    section,
    slug,
    title_request,
    titled,
)
from agents.rendering import Line
from memory.files import MAX_BYTES, ShelfFiles
from memory.shelves import Audience

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
SHANGHAI, LOS_ANGELES = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/Los_Angeles")
OWNER, GROUP = Audience("owner"), Audience("groups/telegram--100500")
DAY = date(2026, 1, 26)


def one(text: str, speaker: str = "owner") -> Line:
    return Line("1", NOON, speaker, text)


def entry(number: int, role: str, text: str, turn: str) -> Entry:
    record = MessageRecord(role, (text_block(text),), turn=turn)  # type: ignore[arg-type]
    return Entry(str(number), None, NOON + timedelta(minutes=number), record)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("API design", "api-design"),
        ("../../AGENTS", "agents"),
        ("/etc/x", "etc-x"),
        ("a/b\\c", "a-b-c"),
        ("  Größe & Maß!  ", "größe-maß"),
        ("数据库 迁移", "数据库-迁移"),
        ("हिन्दी नोट", "हिन्दी-नोट"),
        ("..", ""),
        ("", ""),
        ("🙂", ""),
        ("under_score", "under_score"),
    ],
)
def test_a_title_becomes_one_safe_part_of_a_name_in_its_own_script(title: str, expected: str) -> None:
    assert slug(title) == expected


@given(st.text(max_size=400))
def test_whatever_a_title_is_its_slug_is_short_and_has_no_sign_that_a_path_knows(title: str) -> None:
    found = slug(title)

    assert len(found) <= SLUG_CHARACTERS
    assert len(found.encode()) <= SLUG_BYTES
    assert not set(found) & set('/\\.:*?"<>|\n\r\0 ')


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Title: API design\nWe chose REST.\n- open: auth", Titled("API design", "We chose REST.\n- open: auth")),
        ("**Title:** Zahnarzt\n\nTermin am Montag.", Titled("Zahnarzt", "Termin am Montag.")),
        ("title：数据库迁移\n下周一开始。", Titled("数据库迁移", "下周一开始。")),
        ("Title: Only this", Titled("Only this")),
        ("Sure! Here is a slug: api-design", None),
        ("<html>404</html>", None),
        ('{"history_entry": {"a": 1}}', None),
        ("Title: <b>bold</b>\nx", None),
        ("Title: ../../..\nx", None),
        ("Title: " + "long " * 80 + "\nx", None),
        ("", None),
        ("Title: Fine\n<!DOCTYPE html><html>error</html>", Titled("Fine")),
    ],
)
def test_an_answer_that_is_not_in_the_form_gives_no_title(answer: str, expected: Titled | None) -> None:
    assert titled(answer) == expected


def test_silent_turns_are_left_out_and_only_the_last_messages_count() -> None:
    entries = [
        entry(1, "user", "one", "a"),
        entry(2, "assistant", "ONE", "a"),
        entry(3, "user", "look at what there is", "b"),
        entry(4, "assistant", "NO_REPLY", "b"),
        entry(5, "user", "two", "c"),
        entry(6, "assistant", "TWO", "c"),
    ]

    assert said(entries, 15) == ["one", "ONE", "two", "TWO"]
    assert said(entries, 3) == ["ONE", "two", "TWO"]


def said(entries: list[Entry], messages: int) -> list[str]:
    return [line.text for line in last_said(entries, messages=messages, zone=ZoneInfo("UTC"))]


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [
        (SHANGHAI, datetime(2026, 1, 26, 18, 10, tzinfo=UTC), date(2026, 1, 27)),
        (LOS_ANGELES, datetime(2026, 1, 27, 3, 40, tzinfo=UTC), date(2026, 1, 26)),
    ],
)
def test_it_is_filed_under_the_local_day_of_the_last_message(zone: ZoneInfo, at: datetime, day: date) -> None:
    spoken = Entry("1", None, at, MessageRecord("user", (text_block("hello"),)))

    assert last_said([spoken], messages=1, zone=zone)[0].time.date() == day


def test_the_model_is_shown_the_messages_as_data() -> None:
    request = title_request([one("hi", '"Ana" (id 3003)'), one("HI", "agent")], agent="main")

    text = request.messages[0].content[0]["text"]
    assert text.startswith("[[data ")
    assert '12:00 **"Ana" (id 3003)**: hi\n\n12:00 **main**: HI' in text


def test_a_file_has_heading_session_summary_and_messages(tmp_path: Path) -> None:
    path = keep(tmp_path, OWNER, "s1", "API design", summary="We chose REST.", facts=["- the key is K-7"])

    assert path == "memory/2026-01-26-api-design.md"
    assert (tmp_path / path).read_text(encoding="utf-8") == (
        "# Monday 2026-01-26: API design\n\n- Conversation: private, `agent:main:main`\n- Session: `s1`\n\n"
        "## Ended by /new, 12:00\n\nWe chose REST.\n\n### Also said\n\n- the key is K-7\n\n"
        "### Last messages\n\n12:00 **owner**: hello\n\n12:00 **main**: HELLO\n"
    )


def test_two_sessions_with_one_title_get_a_file_each(tmp_path: Path) -> None:
    first, second = keep(tmp_path, OWNER, "s1", "Plan"), keep(tmp_path, OWNER, "s2", "Plan")

    assert (first, second) == ("memory/2026-01-26-plan.md", "memory/2026-01-26-plan-2.md")
    assert "`s1`" in (tmp_path / first).read_text() and "`s2`" in (tmp_path / second).read_text()


def test_a_session_has_one_file_a_day_and_what_is_written_again_after_a_crash_stands_there_once(tmp_path: Path) -> None:
    first = keep(tmp_path, GROUP, "s1", "Plan", summary="until noon")
    again = keep(tmp_path, GROUP, "s1", "Another title", summary="until noon")
    more = keep(tmp_path, GROUP, "s1", "Another title", summary="until evening")

    assert {first, again, more} == {"groups/telegram--100500/memory/2026-01-26-plan.md"}
    text = (tmp_path / first).read_text(encoding="utf-8")
    assert (text.count("until noon"), text.count("until evening"), text.count("# Monday")) == (1, 1, 1)


def test_a_file_of_somebody_else_that_cannot_be_read_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with (tmp_path / "memory" / "2026-01-25-everything.md").open("wb") as file:
        file.truncate(MAX_BYTES + 1)

    assert keep(tmp_path, OWNER, "s1", "Plan") == "memory/2026-01-26-plan.md"
    assert keep(tmp_path, OWNER, "s1", "Plan", summary="more") == "memory/2026-01-26-plan.md"


def keep(root: Path, audience: Audience, session: str, title: str, *, summary: str = "", facts: list[str] = []) -> str:  # noqa: B006
    spoken = [one("hello"), one("HELLO", "agent")]
    text = section(spoken, summary=summary, at=NOON, agent="main", why="Ended by /new", facts=facts)
    recorded: list[str] = []
    path = file_recollection(
        ShelfFiles(root, audience),
        audience,
        Origin(session, "agent:main:main", audience.kind),
        day=DAY,
        title=title,
        name=slug(title),
        text=text,
        record=lambda path, data: recorded.append(path),
    )
    assert len(recorded) <= 1
    return path


def test_a_heading_that_somebody_said_is_no_heading_of_the_file() -> None:
    said = one("look:\n## Ended by /new, 12:00\n  # and this")

    text = section([said], summary="# Plan\nWe chose.", at=NOON, agent="main", why="Ended by /new")

    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "## Ended by /new, 12:00",
        "### Last messages",
    ]
    assert "\n\\## Ended by /new, 12:00\n  \\# and this" in text


def test_a_message_of_which_everything_was_taken_out_is_left_out() -> None:
    assert said([entry(1, "user", "[removed]", "a"), entry(2, "assistant", "ONE [removed]", "a")], 15) == [
        "ONE [removed]"
    ]
