"""Past conversations are found by their words: what is found, by whom, after which changes, and what an index survives."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import text_block
from agents.entries import Compaction, MessageRecord, Note, Reset, Span, redacted
from agents.past import parts_of, said, snippet
from agents.session_files import stored
from agents.session_index import PATIENCE_SECONDS, SessionIndex
from memory.base import SNIPPET_CHARACTERS
from memory.errors import DatabaseError
from memory.shelves import Audience
from memory.testing import FakeClock
from tests.agents.past_talks import ANA, GROUP, OWNERS, Past, Talk, snippets


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    past = Past(tmp_path)
    yield past
    past.close()


# What is found


async def test_what_people_and_the_agent_said_is_found_with_where_when_and_who(past: Past) -> None:
    talk = past.talk("20260126T120000000Z-0badcafe")
    asked = talk.user("The garage opens with 4711")
    answered = talk.agent("Noted: the garage code.")

    async with past.open() as index:
        first, second = (await index.search("garage 4711", OWNERS)).finds

    assert (first.session, first.entry, first.role, first.snippet) == (
        "20260126T120000000Z-0badcafe",
        asked,
        "user",
        "The garage opens with 4711",
    )
    assert first.time == datetime(2026, 1, 26, 12, 1, tzinfo=UTC)
    assert (second.entry, second.role, second.snippet) == (answered, "assistant", "Noted: the garage code.")


async def test_nothing_is_found_but_what_was_said(past: Past) -> None:
    talk = past.talk(audience=GROUP)
    talk.user("good morning", name="Framename")
    talk.tool("outputword")
    talk.agent("", {"type": "thinking", "thinking": "thoughtword", "signature": "s"})
    talk.agent("NO_REPLY")
    talk.write(Note("noteword"))
    talk.write(Compaction("summaryword", None, 10, 5))
    talk.write(Reset("resetword"))

    async with past.open() as index:
        for word in ("outputword", "argumental", "thoughtword", "reply", "noteword", "summaryword", "resetword"):
            assert await snippets(index, word) == []
        for word in ("Framename", "telegram", "context", "2026-01-26"):
            assert await snippets(index, word) == []
        assert await snippets(index, "morning") == ["good morning"]


async def test_a_find_names_who_wrote_it_where_the_agent_was_told(past: Past) -> None:
    talk = past.talk(audience=GROUP)
    talk.user("the barbecue is on Friday", name="Ana")

    async with past.open() as index:
        [find] = (await index.search("barbecue", GROUP)).finds

    assert (find.name, find.shelf) == ("Ana", GROUP.shelf)


async def test_what_was_forwarded_is_found_without_its_frame(past: Past) -> None:
    past.talk().user("Platform nine, carriage twelve", forwarded="Railway")

    async with past.open() as index:
        assert await snippets(index, "carriage") == ["Platform nine, carriage twelve"]
        assert await snippets(index, "Railway") == []


async def test_messages_with_more_of_the_words_come_first_and_of_equals_the_later_one(past: Past) -> None:
    talk = past.talk()
    for text in ("the plumber came", "a plumber with a ladder", "the dog barked", "the plumber left"):
        talk.user(text)

    async with past.open() as index:
        found = await snippets(index, "Did the plumber bring a ladder?")

    assert found == ["a plumber with a ladder", "the plumber left", "the plumber came"]


async def test_fewer_results_are_the_first_of_more(past: Past) -> None:
    talk = past.talk()
    for n in range(20):
        talk.user(f"tea {'green ' * (n % 3)} {n}")

    async with past.open() as index:
        every = await snippets(index, "green tea", limit=20)
        for limit in range(1, 20):
            assert await snippets(index, "green tea", limit=limit) == every[:limit]
        assert len(await snippets(index, "green tea", limit=10_000)) == 20


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我的牙医是王医生，在北京路", "牙医"),
        ("会議は三階の会議室です", "会議室"),
        ("자전거 열쇠는 서랍에 있어", "자전거"),
        ("Der Schlüssel liegt im Büro", "schlussel"),
        ("Les clés sont chez la voisine", "clé"),
        ("She was running to the STATION", "stations"),
        ("ticket TICKET-4821 is closed", "TICKET-4821"),
        ("ключи у соседки", "Ключи"),
        ("the code is “x”; y", '"x" OR (y) *'),
    ],
)
async def test_any_script_and_any_form_of_a_word_is_found(past: Past, text: str, query: str) -> None:
    talk = past.talk()
    talk.user("something else altogether")
    talk.user(text)

    async with past.open() as index:
        assert (await snippets(index, query))[:1] == [text]


async def test_a_question_of_nothing_finds_nothing(past: Past) -> None:
    past.talk().user("hello there")

    async with past.open() as index:
        for query in ("", "   ", "?!", '"', "\ud800", "NEAR(", "\0"):
            assert await snippets(index, query) == []


async def test_a_fact_in_a_long_message_is_found_first_and_shown_with_what_is_around_it(past: Past) -> None:
    talk = past.talk()
    filler = "The weather was fine and the train was late again that morning. " * 400
    talk.user(f"{filler}My locker at the pool is number 88.\n{filler}")
    for n in range(50):
        talk.user(f"short {n}: the pool was cold")

    async with past.open() as index:
        [first, *_] = await snippets(index, "locker number at the pool")

    assert "My locker at the pool is number 88." in first
    assert len(first) <= SNIPPET_CHARACTERS
    assert first.startswith("…") and first.endswith("…")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.integers(1, 80))
def test_parts_cover_a_text_and_snippets_show_them(piece: str, times: int) -> None:
    text = piece * times

    parts = list(parts_of(text))

    shown = "".join(text[first:last] for first, last in parts)
    assert "".join(shown.split()) == "".join(text.split())
    for first, last in parts:
        seen = snippet(text, first, last)
        assert len(seen) <= SNIPPET_CHARACTERS
        assert text[first:last].strip() in seen


async def test_the_turn_that_asks_is_not_what_it_finds(past: Past) -> None:
    talk = past.talk()
    talk.user("my bike is blue", turn="t1")
    talk.agent("A blue bike, then.", turn="t1")
    talk.user("what colour is my bike?", turn="t2")
    talk.agent("Let me look for the bike.", turn="t2")

    async with past.open() as index:
        found = await index.search("colour bike", OWNERS, running=talk.id)
        assert {find.snippet for find in found.finds} == {"my bike is blue", "A blue bike, then."}
        assert len((await index.search("colour bike", OWNERS, running="another")).finds) == 4


async def test_days_are_those_of_the_user_and_both_ends_belong_to_them(tmp_path: Path) -> None:
    # In New York clocks go forward on 8 March 2026: that day has 23 hours.
    past = Past(tmp_path, FakeClock(datetime(2026, 3, 8, 4, 57, tzinfo=UTC), "America/New_York"))
    talk = past.talk()
    talk.user("orchid late on Saturday")
    talk.user("orchid just before midnight")
    past.clock.advance(60)
    talk.user("orchid on Sunday")
    past.clock.advance(23 * 3600 - 180)
    talk.user("orchid at the end of Sunday")
    past.clock.advance(120)
    talk.user("orchid on Monday")

    async def on(first: date | None, last: date | None) -> list[str]:
        found = (await index.search("orchid", OWNERS, since=first, until=last)).finds
        return sorted(find.snippet.removeprefix("orchid ") for find in found)

    async with past.open() as index:
        sunday = date(2026, 3, 8)
        assert await on(sunday, sunday) == ["at the end of Sunday", "on Sunday"]
        assert await on(None, date(2026, 3, 7)) == ["just before midnight", "late on Saturday"]
        assert await on(date(2026, 3, 9), None) == ["on Monday"]
        [find] = (await index.search("orchid", OWNERS, since=date(2026, 3, 9))).finds
        assert find.time.isoformat() == "2026-03-09T00:02:00-04:00"
    past.close()


async def test_each_of_two_hundred_facts_of_a_long_conversation_is_found_first_by_its_words(past: Past) -> None:
    talk = past.talk()
    things = [
        "umbrella",
        "passport",
        "trumpet",
        "ladder",
        "kettle",
        "compass",
        "blanket",
        "violin",
        "hammer",
        "lantern",
    ]
    people = ["Ingrid", "Tomas", "Yuki", "Farid", "Olga", "Bruno", "Leila", "Hans", "Mina", "Pedro"]
    places = ["cellar", "attic"]
    facts = [
        f"{who}'s {thing} is in the {place}, shelf {n}"
        for n, (who, thing, place) in enumerate(
            (who, thing, place) for who in people for thing in things for place in places
        )
    ]
    for n in range(400):
        fact = facts[n // 2] if n % 2 else f"How was the day in the {things[n % 10]} shop, {people[n // 10 % 10]}?"
        talk.user(fact, turn=str(n))
        talk.tool("shelf cellar attic " * 50, turn=str(n))
        talk.agent("I see, thank you for telling me about that.", turn=str(n))

    async with past.open() as index:
        for n, fact in enumerate(facts):
            who, thing, place = fact.split()[0], fact.split()[1], fact.split()[5].strip(",")
            found = await snippets(index, f"Where is {who} {thing}: {place}, shelf {n}?")
            assert found[0] == fact


# Who finds it


@pytest.fixture
def canaries(past: Past) -> Past:
    past.talk("s-owner").user("canary-owner swordfish")
    past.talk("s-ana", ANA).user("canary-ana swordfish")
    past.talk("s-group", GROUP).user("canary-group swordfish")
    return past


async def test_the_owner_hears_everything_and_everybody_else_their_own_shelf(canaries: Past) -> None:
    nobody = Audience("groups/telegram--100900")
    async with canaries.open() as index:
        assert len(await snippets(index, "swordfish")) == 3
        assert await snippets(index, "swordfish", ANA) == ["canary-ana swordfish"]
        assert await snippets(index, "swordfish", GROUP) == ["canary-group swordfish"]
        assert await snippets(index, "swordfish owner ana canary", nobody) == []


async def test_a_small_shelf_is_not_starved_by_a_large_one(past: Past) -> None:
    large = past.talk("s-owner")
    for n in range(400):
        large.user(f"swordfish swordfish {n}")
    past.talk("s-group", GROUP).user("we had swordfish, among many other things that were on the table")

    async with past.open() as index:
        assert len(await snippets(index, "swordfish", GROUP)) == 1


async def test_a_conversation_whose_first_line_is_damaged_is_the_owners_alone(canaries: Past) -> None:
    path = canaries.folder / "s-group.jsonl"
    _, rest = path.read_bytes().split(b"\n", 1)
    for first in (b'{"type":"session","id":"s-gr', b'{"type":"session","shelf":7}', b""):
        path.write_bytes(first + b"\n" + rest)
        async with canaries.open() as index:
            assert await snippets(index, "swordfish", GROUP) == []
            assert "canary-group swordfish" in await snippets(index, "swordfish")
            assert await index.get("s-group", GROUP) is None


async def test_a_second_first_line_changes_nothing_about_who_hears_it(canaries: Past) -> None:
    path = canaries.folder / "s-owner.jsonl"
    header = (canaries.folder / "s-group.jsonl").read_bytes().split(b"\n", 1)[0]
    async with canaries.open() as index:
        assert await snippets(index, "swordfish", GROUP) == ["canary-group swordfish"]
        with path.open("ab") as file:
            file.write(header + b"\n")

        index.touch("s-owner")

        assert await snippets(index, "swordfish", GROUP) == ["canary-group swordfish"]


# Following the transcripts


async def test_what_is_said_while_the_index_is_open_is_found_at_once_when_it_was_touched(past: Past) -> None:
    talk = past.talk()
    talk.user("hello")
    async with past.open() as index:
        assert await snippets(index, "marmalade") == []
        for n in range(5):
            talk.user(f"marmalade {n}")
            index.touch(talk.id)
            assert len(await snippets(index, "marmalade")) == n + 1


async def test_what_nobody_spoke_of_is_found_a_minute_later(past: Past) -> None:
    old = settled(past)
    async with past.open() as index:
        assert await snippets(index, "marmalade") == []
        old.user("marmalade")

        past.clock.advance(60)

        assert await snippets(index, "marmalade") == ["marmalade"]


def settled(past: Past) -> Talk:
    """A conversation in a folder to which nothing has come for long."""
    talk = past.talk("s-settled")
    os.utime(past.folder, (1, 1))
    return talk


async def test_a_new_conversation_is_found_without_a_word_about_it(past: Past) -> None:
    settled(past)
    async with past.open() as index:
        assert await snippets(index, "marmalade") == []

        past.talk("s-new").user("marmalade")

        assert await snippets(index, "marmalade") == ["marmalade"]


async def test_a_conversation_that_was_deleted_is_not_found_any_more(past: Past) -> None:
    past.talk().user("marmalade in s1")
    talk = settled(past)
    talk.user("marmalade")
    async with past.open() as index:
        assert len(await snippets(index, "marmalade")) == 2

        talk.path.unlink()

        assert await snippets(index, "marmalade") == ["marmalade in s1"]
        assert await index.get(talk.id, OWNERS) is None


@pytest.mark.parametrize("touched", [True, False])
async def test_what_was_taken_out_is_never_found_again(past: Past, touched: bool) -> None:
    talk = past.talk()
    whole = talk.user("my dentist is Moll")
    part = talk.agent("Your dentist: Moll. Your florist: Krull.")
    os.utime(past.folder, (1, 1))
    async with past.open() as index:
        assert len(await snippets(index, "Moll")) == 2

        talk.redact(whole)
        talk.redact(part, Span(0, 0, 20))
        if touched:
            index.touch(talk.id)

        assert await snippets(index, "dentist Moll") == []
        assert await snippets(index, "florist") == ["[removed]Your florist: Krull."]
        assert await snippets(index, "removed") == []


async def test_circumstances_stay_unfound_where_a_part_of_them_was_taken_out(past: Past) -> None:
    talk = past.talk(audience=GROUP)
    entry = talk.user("orchid", name="Ana")
    talk.redact(entry, Span(0, 0, 20))

    async with past.open() as index:
        assert await snippets(index, "telegram Ana time context") == []
        assert await snippets(index, "orchid") == ["orchid"]


async def test_a_frame_that_the_owner_pasted_is_found_as_their_words(past: Past) -> None:
    past.talk().user("[[data 0123456789abcdef memory]]\nthe orchid of the example\n[[end 0123456789abcdef]]")

    async with past.open() as index:
        assert len(await snippets(index, "orchid")) == 1


async def test_what_was_taken_out_before_it_was_read_is_not_found(past: Past) -> None:
    talk = past.talk()
    talk.redact(talk.user("my dentist is Moll"))
    async with past.open() as index:
        assert await snippets(index, "dentist") == []


async def test_a_purge_leaves_nothing_of_it_on_the_disk(past: Past) -> None:
    talk = past.talk()
    for n in range(300):
        talk.user(f"message {n} about zzcanaryzz")
    async with past.open() as index:
        assert len(await snippets(index, "zzcanaryzz")) == 6
        for entry in talk.transcript.entries:
            talk.redact(entry.id)

        await index.purge()

        left = b"".join(path.read_bytes() for path in past.database.parent.glob("sessions.sqlite*"))
        assert b"canaryzz" not in left


async def test_a_line_that_is_being_written_is_found_when_it_is_whole(past: Past) -> None:
    talk = past.talk()
    talk.user("first")
    talk.user("marmalade")
    data = talk.path.read_bytes()
    for cut in (10, 1):
        talk.path.write_bytes(data[:-cut])
        async with past.open() as index:
            # Without its line end alone, the record is whole.
            assert await snippets(index, "marmalade") == (["marmalade"] if cut == 1 else [])
            with talk.path.open("ab") as file:
                file.write(data[-cut:])
            index.touch(talk.id)
            assert await snippets(index, "marmalade") == ["marmalade"]
        past.database.unlink()


async def test_a_damaged_line_is_skipped_and_the_others_are_found(past: Past) -> None:
    talk = past.talk()
    talk.user("marmalade one")
    with talk.path.open("ab") as file:
        file.write(b'{"type":"message","id":"x","role":"user"\n\xff\xfe\n[1]\n\n{"type":"future"}\n')
    talk.user("marmalade two")

    async with past.open() as index:
        assert sorted(await snippets(index, "marmalade")) == ["marmalade one", "marmalade two"]


async def test_a_line_that_was_taken_back_is_forgotten(past: Past) -> None:
    talk = past.talk()
    talk.user("first")
    whole = talk.path.read_bytes()
    talk.user("marmalade that never reached the disk")
    async with past.open() as index:
        assert len(await snippets(index, "marmalade")) == 1

        with talk.path.open("r+b") as file:  # as a transcript does when a write fails, before it goes on
            file.truncate(len(whole))
        talk.user("honey instead, and many more words so that the file is longer than it was before all this")
        index.touch(talk.id)

        assert await snippets(index, "marmalade") == []
        assert len(await snippets(index, "honey")) == 1


@pytest.mark.parametrize("in_place", [True, False])
async def test_a_transcript_that_somebody_edited_is_read_anew(past: Past, in_place: bool) -> None:
    talk = past.talk()
    talk.user("marmalade")
    talk.user("honey")
    async with past.open() as index:
        assert len(await snippets(index, "marmalade honey")) == 2

        edited = talk.path if in_place else talk.path.with_suffix(".new")
        edited.write_bytes(talk.path.read_bytes().replace(b"marmalade", b"jamsjamss"))
        edited.replace(talk.path)

        assert await snippets(index, "marmalade") == []
        assert await snippets(index, "jamsjamss") == ["jamsjamss"]


async def test_links_and_other_names_are_not_followed(past: Past, tmp_path: Path) -> None:
    past.talk().user("hello")
    elsewhere = Past(tmp_path / "elsewhere")
    secret = elsewhere.talk("secret")
    secret.user("marmalade")
    (past.folder / "linked.jsonl").symlink_to(secret.path)
    (past.folder / "s1.jsonl.torn-1").write_bytes(secret.path.read_bytes())
    (past.folder / "folder.jsonl").mkdir()
    os.mkfifo(past.folder / "pipe.jsonl")

    async with past.open() as index:
        assert await snippets(index, "marmalade") == []
        for name in ("linked", "folder", "pipe", "../sessions/s1", "s1.jsonl", "", "a\0b", "x" * 500):
            assert await index.get(name, OWNERS) is None
    elsewhere.close()


Step = tuple[str, int]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "agent", "redact", "search", "reopen"]), st.integers(0, 9)), max_size=25
    )
)
def test_the_index_says_what_the_transcripts_say_whatever_happened_to_them(steps: list[Step]) -> None:
    async def run(root: Path) -> None:
        past = Past(root)
        talks = [past.talk("s0"), past.talk("s1", GROUP)]
        index = await SessionIndex.open(past.database, past.folder, past.clock)
        for number, (kind, n) in enumerate([*steps, ("search", 0)]):
            talk = talks[n % 2]
            if kind in ("user", "agent"):
                getattr(talk, kind)(f"word{n} step{number}")
            elif kind == "redact" and talk.transcript.entries:
                talk.redact(talk.transcript.entries[n % len(talk.transcript.entries)].id)
            elif kind == "reopen":
                await index.close()
                index = await SessionIndex.open(past.database, past.folder, past.clock)
            index.touch(talk.id)
            if kind == "search":
                for audience, heard in ((OWNERS, talks), (GROUP, talks[1:])):
                    texts = [one.text for talk in heard for one in said(redacted(talk.transcript.entries))]
                    query = " ".join(f"word{n}" for n in range(10))
                    assert sorted(await snippets(index, query, audience, limit=50)) == sorted(texts)
        await index.close()
        past.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


# What an index survives


async def test_what_was_read_is_there_after_a_restart(past: Past) -> None:
    talk = past.talk()
    talk.user("marmalade")
    async with past.open() as index:
        await index.run()
    before = past.database.read_bytes()

    async with past.open() as index:
        await index.run()
        assert await snippets(index, "marmalade") == ["marmalade"]
        talk.user("more marmalade")
        index.touch(talk.id)
        assert len(await snippets(index, "marmalade")) == 2
    assert len(before) == len(past.database.read_bytes())


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\1" * 9_000, None])
async def test_an_index_that_is_damaged_or_deleted_is_made_anew(
    past: Past, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    past.talk().user("marmalade")
    async with past.open() as index:
        await index.run()
    past.database.unlink() if content is None else past.database.write_bytes(content)

    async with past.open() as index:
        assert await snippets(index, "marmalade") == ["marmalade"]
        assert await snippets(index, "marmalade") == ["marmalade"]

    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == (0 if content is None else 1)
    assert all("was damaged, so it is being made anew" in warning for warning in warnings)


async def test_an_index_of_a_newer_version_is_made_anew(past: Past) -> None:
    past.talk().user("marmalade")
    async with past.open() as index:
        await index.run()
    connection = apsw.Connection(str(past.database))
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    async with past.open() as index:
        assert await snippets(index, "marmalade") == ["marmalade"]


async def test_an_index_that_is_deleted_under_us_is_made_anew_and_that_is_said_once(
    past: Past, caplog: pytest.LogCaptureFixture
) -> None:
    past.talk().user("marmalade")
    async with past.open() as index:
        assert await snippets(index, "marmalade") == ["marmalade"]
        for path in past.database.parent.glob("sessions.sqlite*"):
            path.unlink()

        assert await asyncio.gather(*(snippets(index, "marmalade") for _ in range(3))) == [["marmalade"]] * 3

    assert past.database.exists()
    assert [record.getMessage().partition(",")[0] for record in caplog.records if record.levelname == "WARNING"] == [
        "The search index of past conversations was deleted"
    ]


async def test_an_index_that_is_deleted_before_it_is_first_filled_ends_nothing(past: Past) -> None:
    past.talk().user("marmalade")
    async with past.open() as index:
        for path in past.database.parent.glob("sessions.sqlite*"):
            path.unlink()

        await index.run()

        assert past.database.exists()
        assert await snippets(index, "marmalade") == ["marmalade"]


async def test_an_index_that_is_damaged_under_us_is_made_anew(past: Past) -> None:
    talk = past.talk()
    for n in range(500):
        talk.user(f"marmalade {n} {'word ' * 100}")
    async with past.open() as index:
        await index.run()
    async with past.open() as index:
        with past.database.open("r+b") as file:
            file.seek(4096 * 4)
            file.write(b"\xff" * (past.database.stat().st_size - 4096 * 4))

        assert len(await snippets(index, "marmalade")) == 6


async def test_where_no_index_can_be_made_nothing_is_opened(past: Past, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatabaseError):
        await SessionIndex.open(tmp_path / "file" / "sessions.sqlite", past.folder, past.clock)


async def test_where_the_transcripts_cannot_be_looked_at_that_is_said(past: Past) -> None:
    past.talk().user("marmalade")
    async with past.open() as index:
        assert await snippets(index, "marmalade") == ["marmalade"]
        past.folder.rename(past.folder.with_name("elsewhere"))
        past.folder.write_text("a file in its place")

        found = await index.search("marmalade", OWNERS)

        assert found.finds == ()
        assert found.problem is not None and found.problem.startswith("The newest messages could not be read")
        await index.run()


def test_a_transcript_that_cannot_be_opened_is_not_taken_for_none(past: Past) -> None:
    past.talk().user("marmalade")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            stored(past.folder, "s1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert stored(past.folder, "s2") is None
    assert stored(past.folder / "s1.jsonl", "s1") is None


async def test_before_the_first_conversation_nothing_is_found(past: Past) -> None:
    async with past.open() as index:
        await index.run()
        found = await index.search("anything", OWNERS)
        assert (found.finds, found.problem) == ((), None)
        past.talk().user("anything")
        assert await snippets(index, "anything") == ["anything"]


async def test_a_search_does_not_wait_for_long_reading_and_says_so(past: Past) -> None:
    words = "".join(f"pear{n} plum{n} " for n in range(40_000))
    past.talk().user(words)
    past.talk("s2").user("marmalade")
    async with past.open() as index:
        search = asyncio.create_task(index.search("marmalade", OWNERS))
        while not past.clock.sleeping:  # noqa: ASYNC110 - a clock sets no event
            await asyncio.sleep(0)
        past.clock.advance(PATIENCE_SECONDS)
        assert (await search).problem == "Not all past conversations have been read yet; ask again in a minute."

        await index.run()

        found = await index.search("marmalade", OWNERS)
        assert (found.problem, [find.snippet for find in found.finds]) == (None, ["marmalade"])


async def test_a_search_that_is_stopped_leaves_nothing_half_done(past: Past) -> None:
    talk = past.talk()
    for n in range(200):
        talk.user(f"marmalade {n}")
    async with past.open() as index:
        for turns in range(40):
            search = asyncio.create_task(index.search("marmalade", OWNERS))
            for _ in range(turns):
                await asyncio.sleep(0)
            search.cancel()
            await asyncio.wait([search])
        found = await snippets(index, "marmalade", limit=50)

        assert len(set(found)) == len(found) == 50


INDEXING = """
import asyncio, sys
from pathlib import Path
from agents.session_index import SessionIndex
from memory.testing import FakeClock

async def main():
    root = Path(sys.argv[1])
    index = await SessionIndex.open(root / "sessions.sqlite", root / "sessions", FakeClock())
    await index.run()

asyncio.run(main())
"""


def kill_while_indexing(root: Path, size: int) -> None:
    """Let another process make the index, and kill it when it has written so many bytes."""
    place = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", INDEXING, str(root)], cwd=place)

    def written() -> int:
        sizes = 0
        for name in ("sessions.sqlite", "sessions.sqlite-wal"):
            with suppress(FileNotFoundError):
                sizes += (root / name).stat().st_size
        return sizes

    while written() < size and process.poll() is None:
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("size", [1, 300_000, 900_000])
async def test_an_indexing_that_is_killed_goes_on_where_it_was(past: Past, tmp_path: Path, size: int) -> None:
    for session in range(60):
        lines = [f"marmalade {session} {n} {'filler ' * 200}" for n in range(20)]
        talk = past.talk(f"s{session}")
        for line in lines:
            talk.write(MessageRecord("user", (text_block(line),)))
    kill_while_indexing(tmp_path, size)

    async with past.open() as index:
        await index.run()
        for session in (25, 30, 59):
            found = await snippets(index, f"marmalade {session}", limit=50)
            assert sum(one.startswith(f"marmalade {session} ") for one in found) == 20
    connection = apsw.Connection(str(past.database))
    assert [*connection.execute("SELECT count(*), count(DISTINCT text) FROM messages")] == [(1_200, 1_200)]
    connection.close()
