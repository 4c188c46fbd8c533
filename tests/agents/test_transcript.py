"""A transcript survives what happens to files: torn tails, damaged lines, full disks; nothing is ever lost or glued."""

import json
import os
import re
import resource
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.base import Usage, text_block
from agents.entries import Compaction, Header, MessageRecord, Note, Record, Redaction, Reset, Span
from agents.transcript import Transcript, new_session_id, transcript_path

NOW = datetime(2026, 1, 26, 12, 0, 0, 123456, tzinfo=UTC)
HEADER = Header(id="s1", key="agent:main:main", agent="main", created=NOW)


def said(text: str) -> MessageRecord:
    return MessageRecord("user", (text_block(text),), sources=("m1",), turn="t1")


def texts(transcript: Transcript) -> list[str]:
    return [e.record.content[0]["text"] for e in transcript.entries if isinstance(e.record, MessageRecord)]


@contextmanager
def opened(path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(path, header=HEADER)) as transcript:
        yield transcript


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s1.jsonl"


@pytest.fixture
def three(path: Path) -> Path:
    """A transcript with the messages one, two and three."""
    with opened(path) as transcript:
        for text in ("one", "two", "three"):
            transcript.append(said(text), now=NOW)
    return path


def test_what_was_appended_is_what_the_next_open_reads(path: Path) -> None:
    records: list[Record] = [
        said("hello\u2028there"),
        MessageRecord("assistant", (), usage=Usage(1, 2, 3, 4), turn="t1", stop_reason="refusal"),
        Redaction("1", Span(block=0, start=0, end=5)),
        Redaction("1"),
        Compaction("a summary", first_kept=None, tokens_before=900, tokens_after=30),
        Note("edited", {"source": "m1", "old": [1, None, {"deep": True}]}),
        Reset("daily"),
    ]

    with opened(path) as transcript:
        appended = [transcript.append(record, now=NOW + timedelta(seconds=n)) for n, record in enumerate(records)]
    with opened(path) as transcript:
        assert transcript.entries == tuple(appended)
        assert [entry.record for entry in transcript.entries] == records
        assert transcript.header == HEADER
        assert transcript.problems == ()


def test_entries_name_the_one_before_them_and_times_are_utc(path: Path) -> None:
    with opened(path) as transcript:
        first = transcript.append(said("one"), now=NOW)
        second = transcript.append(said("two"), now=NOW.astimezone())

    assert (first.parent, second.parent) == (None, first.id)
    assert second.time == NOW
    assert '"time":"2026-01-26T12:00:00.123456Z"' in path.read_text().splitlines()[2]


def test_a_new_file_and_its_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = transcript_path(tmp_path / "state", agent="main", session="s1")

    with opened(path):
        pass

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    folders = [path.parent, path.parent.parent, path.parent.parent.parent, tmp_path / "state"]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 4
    assert json.loads(path.read_text()) == {
        "type": "session",
        "version": 1,
        "id": "s1",
        "key": "agent:main:main",
        "agent": "main",
        "created": "2026-01-26T12:00:00.123456Z",
        "shelf": "owner",
    }


def test_an_empty_file_gets_its_header(path: Path) -> None:
    path.touch()

    with opened(path) as transcript:
        transcript.append(said("one"), now=NOW)

    with opened(path) as transcript:
        assert (texts(transcript), transcript.problems) == (["one"], ())


def test_a_torn_last_line_is_kept_aside_and_the_next_record_stands_on_its_own_line(three: Path) -> None:
    torn = b'{"type":"message","role":"user","content":"half'
    with three.open("ab") as file:
        file.write(torn)

    with opened(three) as transcript:
        assert texts(transcript) == ["one", "two", "three"]
        assert "torn-1" in transcript.problems[0]
        transcript.append(said("four"), now=NOW)

    with opened(three) as transcript:
        assert (texts(transcript), transcript.problems) == (["one", "two", "three", "four"], ())
    aside = three.with_name("s1.jsonl.torn-1")
    assert aside.read_bytes() == torn
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600


def test_each_torn_line_is_kept_in_a_file_of_its_own(three: Path) -> None:
    for torn in (b'{"a', b'{"b'):
        with three.open("ab") as file:
            file.write(torn)
        with opened(three):
            pass

    assert [three.with_name(f"s1.jsonl.torn-{n}").read_bytes() for n in (1, 2)] == [b'{"a', b'{"b']


@pytest.mark.parametrize("length", range(1, 40))
def test_a_record_cut_anywhere_costs_nothing_but_itself(three: Path, length: int) -> None:
    whole = three.read_bytes()
    three.write_bytes(whole[:-length])

    with opened(three) as transcript:
        kept = texts(transcript)
        transcript.append(said("four"), now=NOW)

    assert kept == (["one", "two", "three"] if length == 1 else ["one", "two"])
    with opened(three) as transcript:
        assert (texts(transcript), transcript.problems) == ([*kept, "four"], ())


def test_a_whole_last_record_without_its_line_end_is_kept(three: Path) -> None:
    three.write_bytes(three.read_bytes().rstrip(b"\n"))

    with opened(three) as transcript:
        assert (texts(transcript), transcript.problems) == (["one", "two", "three"], ())
        transcript.append(said("four"), now=NOW)

    with opened(three) as transcript:
        assert texts(transcript) == ["one", "two", "three", "four"]


def test_a_last_line_that_is_no_record_is_kept_aside(three: Path) -> None:
    with three.open("ab") as file:
        file.write(b"\0\0\0\0\n")

    with opened(three) as transcript:
        assert texts(transcript) == ["one", "two", "three"]
        assert len(transcript.problems) == 1
    assert three.with_name("s1.jsonl.torn-1").read_bytes() == b"\0\0\0\0\n"


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe",
        b"[1, 2]",
        b'{"type":"message","id":"2"}',
        b'{"type":"dream","id":"2","parent":"1","time":"2026-01-26T12:00:00Z"}',
        b'{"type":"reset","id":"2","parent":"1","time":"0001-01-01T00:00:00+14:00","cause":"x"}',
        b'{"type":"message","id":"2","parent":"1","time":"2026-01-26T12:00:00Z","role":"system","content":[]}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_a_damaged_line_in_the_middle_is_skipped_reported_and_left_where_it_is(three: Path, damage: bytes) -> None:
    lines = three.read_bytes().split(b"\n")
    lines[2] = damage
    three.write_bytes(b"\n".join(lines))
    before = three.read_bytes()

    with opened(three) as transcript:
        assert texts(transcript) == ["one", "three"]
        assert transcript.problems == ("Line 3 of s1.jsonl is damaged and was skipped.",)
        assert transcript.append(said("four"), now=NOW).id == "4"

    assert three.read_bytes().startswith(before)


def test_blank_lines_are_no_damage(three: Path) -> None:
    three.write_bytes(three.read_bytes().replace(b"\n", b"\n\n"))

    with opened(three) as transcript:
        assert (texts(transcript), transcript.problems) == (["one", "two", "three"], ())


def test_a_damaged_header_costs_no_message_and_the_file_is_not_rewritten(path: Path) -> None:
    with opened(path) as transcript:
        for n in range(200):
            transcript.append(said(str(n)), now=NOW)
    header, rest = path.read_bytes().split(b"\n", 1)
    damaged = header[: len(header) // 2] + b"\n" + rest
    path.write_bytes(damaged)

    with opened(path) as transcript:
        assert texts(transcript) == [str(n) for n in range(200)]
        assert transcript.header == HEADER
        assert transcript.problems == (
            "The first line of s1.jsonl, which names the session, is damaged; the rest was read.",
        )
    assert path.read_bytes() == damaged


def test_a_file_without_a_header_is_read(three: Path) -> None:
    three.write_bytes(three.read_bytes().split(b"\n", 1)[1])

    with opened(three) as transcript:
        assert texts(transcript) == ["one", "two", "three"]
        assert len(transcript.problems) == 1


def test_a_damaged_header_alone_is_neither_moved_nor_replaced(path: Path) -> None:
    path.write_bytes(b'{"type":"sess\n')

    with opened(path) as transcript:
        transcript.append(said("one"), now=NOW)

    assert path.read_bytes().startswith(b'{"type":"sess\n{"type":"message"')


def test_the_header_of_another_session_and_of_a_newer_version_are_reported(three: Path) -> None:
    text = three.read_text().replace('"id":"s1"', '"id":"s2"').replace('"version":1', '"version":9')
    three.write_text(text)

    with opened(three) as transcript:
        assert transcript.header.id == "s2"
        assert len(transcript.problems) == 2


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """The system refuses to let any file grow beyond `size` bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_file_as_it_was_and_a_later_record_on_its_own_line(three: Path) -> None:
    before = three.read_bytes()

    with opened(three) as transcript:
        for _ in range(3):
            with files_limited_to(len(before) + 20), pytest.raises(OSError, match="File too large"):
                transcript.append(Compaction("a summary", first_kept="2", tokens_before=9, tokens_after=1), now=NOW)
            assert three.read_bytes() == before
            assert len(transcript.entries) == 3
        transcript.append(said("four"), now=NOW)

    with opened(three) as transcript:
        assert (texts(transcript), transcript.problems) == (["one", "two", "three", "four"], ())


def test_a_record_that_json_cannot_hold_is_refused_before_anything_is_written(three: Path) -> None:
    before = three.read_bytes()

    with opened(three) as transcript, pytest.raises(TypeError):
        transcript.append(Note("x", {"set": {1, 2}}), now=NOW)

    assert three.read_bytes() == before


def test_a_closed_transcript_takes_nothing(three: Path) -> None:
    with opened(three) as transcript:
        pass

    transcript.close()
    with pytest.raises(ValueError, match="closed"):
        transcript.append(said("four"), now=NOW)


def test_a_lone_surrogate_is_replaced_when_it_is_stored_and_when_it_is_read(path: Path) -> None:
    with opened(path) as transcript:
        stored = transcript.append(said(json.loads('"ok \\ud83d tail"')), now=NOW)
    assert isinstance(stored.record, MessageRecord)
    assert stored.record.content[0]["text"] == "ok \ufffd tail"

    path.write_bytes(path.read_bytes().replace("\ufffd".encode(), b"\\ud83d"))
    with opened(path) as transcript:
        assert (texts(transcript), transcript.problems) == (["ok \ufffd tail"], ())


def test_a_link_in_the_place_of_a_transcript_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        Transcript.open(tmp_path / "s1.jsonl", header=HEADER)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["../../x", "/tmp/victim", "a/b", "..", ".", "", "a\0b", "a:b", "-x", "a" * 200, "ü"])
def test_an_id_that_is_not_one_safe_component_is_no_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="file name"):
        transcript_path(tmp_path, agent="main", session=name)
    with pytest.raises(ValueError, match="file name"):
        transcript_path(tmp_path, agent=name, session="s1")


def test_session_ids_sort_by_time_differ_and_are_safe_file_names(tmp_path: Path) -> None:
    ids = [new_session_id(NOW + timedelta(milliseconds=n)) for n in range(50)]

    assert ids == sorted(ids)
    assert new_session_id(NOW) != new_session_id(NOW)
    assert re.fullmatch(r"20260126T120000123Z-[0-9a-f]{8}", ids[0])
    assert transcript_path(tmp_path, agent="main", session=ids[0]).name == f"{ids[0]}.jsonl"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open descriptors cannot be counted here")
def test_descriptors_are_given_back_also_when_opening_fails(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    with opened(path):
        assert len(os.listdir("/proc/self/fd")) == before + 1
    with files_limited_to(0), pytest.raises(OSError, match="File too large"):
        Transcript.open(path.with_name("other.jsonl"), header=HEADER)

    assert len(os.listdir("/proc/self/fd")) == before


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.dictionaries(st.text(), _json, max_size=3), text=st.text(st.characters()), garbage=st.binary(max_size=60)
)
def test_any_record_reads_back_and_any_garbage_behind_it_does_no_harm(
    tmp_path: Path, data: dict[str, object], text: str, garbage: bytes
) -> None:
    path = tmp_path / f"{new_session_id(NOW)}.jsonl"
    with opened(path) as transcript:
        appended = (transcript.append(said(text), now=NOW), transcript.append(Note(text, data), now=NOW))
    with path.open("ab") as file:
        file.write(garbage)

    with opened(path) as transcript:
        after = transcript.append(said("after"), now=NOW)
        assert (transcript.entries[:2], transcript.entries[-1]) == (appended, after)
    with opened(path) as transcript:
        assert (transcript.entries[:2], transcript.entries[-1]) == (appended, after)
