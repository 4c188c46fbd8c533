"""Shelves: every path has exactly one, and an audience reads and writes by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.shelves import OWNER, SHARED, SHARED_FILES, Audience, encode_id, group_shelf, person_shelf, shelf_of

OWNERS = Audience(OWNER)
ANNA = Audience("people/anna")
BEN = Audience("people/ben")
GROUP = Audience("groups/telegram--100123")

any_text = st.text(st.characters(), max_size=30)  # lone surrogates too: ids come out of JSON
any_length = st.builds(lambda text, times: text * times, any_text, st.integers(1, 40))


@pytest.mark.parametrize(
    ("path", "shelf"),
    [
        ("AGENTS.md", SHARED),
        ("SOUL.md", SHARED),
        ("IDENTITY.md", SHARED),
        ("TOOLS.md", SHARED),
        ("agents.MD", SHARED),
        ("USER.md", OWNER),
        ("MEMORY.md", OWNER),
        ("HEARTBEAT.md", OWNER),
        ("memory/2026-01-26.md", OWNER),
        ("memory/AGENTS.md", OWNER),
        ("anything/else.txt", OWNER),
        ("people", OWNER),
        ("people/anna", OWNER),
        ("peoples/anna/MEMORY.md", OWNER),
        ("people/anna/MEMORY.md", "people/anna"),
        ("people/anna/AGENTS.md", "people/anna"),
        ("people/anna/memory/2026-01-26.md", "people/anna"),
        ("groups/telegram--100123/inbox/a/b.pdf", "groups/telegram--100123"),
        ("memory/people/anna/MEMORY.md", OWNER),
    ],
)
def test_a_path_belongs_to_the_shelf_that_its_first_folders_name(path: str, shelf: str) -> None:
    assert shelf_of(path) == shelf


@given(any_text)
def test_every_text_has_a_shelf(path: str) -> None:
    shelf = shelf_of(path)

    assert shelf in (OWNER, SHARED) or shelf.startswith(("people/", "groups/"))


@pytest.mark.parametrize(
    ("path", "readers", "writers"),
    [
        *((name, {OWNERS, ANNA, BEN, GROUP}, set()) for name in (*SHARED_FILES, "Soul.md")),
        ("MEMORY.md", {OWNERS}, {OWNERS}),
        ("USER.md", {OWNERS}, {OWNERS}),
        ("memory/2026-01-26.md", {OWNERS}, {OWNERS}),
        ("people/anna/MEMORY.md", {OWNERS, ANNA}, {ANNA}),
        ("people/ben/MEMORY.md", {OWNERS, BEN}, {BEN}),
        ("people/annabel/MEMORY.md", {OWNERS}, set()),
        ("people/Anna/MEMORY.md", {OWNERS}, set()),
        ("groups/telegram--100123/MEMORY.md", {OWNERS, GROUP}, {GROUP}),
        ("groups/telegram--1001234/MEMORY.md", {OWNERS}, set()),
        ("groups/anna/MEMORY.md", {OWNERS}, set()),
    ],
)
def test_an_audience_reads_shared_and_own_and_writes_only_own(
    path: str, readers: set[Audience], writers: set[Audience]
) -> None:
    audiences = (OWNERS, ANNA, BEN, GROUP)

    assert {audience for audience in audiences if audience.may_read(path)} == readers
    assert {audience for audience in audiences if audience.may_write(path)} == writers


@given(any_text)
def test_what_may_be_written_may_be_read_and_two_audiences_never_write_the_same_path(path: str) -> None:
    writers = [audience for audience in (OWNERS, ANNA, BEN, GROUP) if audience.may_write(path)]

    assert len(writers) <= 1
    assert all(audience.may_read(path) for audience in writers)


def test_an_audience_names_its_kind_and_its_own_files() -> None:
    assert [(a.kind, a.is_owner, a.path("MEMORY.md")) for a in (OWNERS, ANNA, GROUP)] == [
        ("private", True, "MEMORY.md"),
        ("private", False, "people/anna/MEMORY.md"),
        ("group", False, "groups/telegram--100123/MEMORY.md"),
    ]


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("C0AB-x_1", "C0AB-x_1"),
        ("../../x", "%2E%2E%2F%2E%2E%2Fx"),
        ("/tmp/victim", "%2Ftmp%2Fvictim"),
        ("agent:main:main", "agent%3Amain%3Amain"),
        ("100%", "100%25"),
        ("安娜", "%E5%AE%89%E5%A8%9C"),
    ],
)
def test_an_id_becomes_one_path_component_without_reserved_characters(text: str, encoded: str) -> None:
    assert encode_id(text) == encoded


@given(any_length, any_length)
def test_two_ids_never_share_a_folder(one: str, other: str) -> None:
    assert (encode_id(one) == encode_id(other)) == (one == other)


@given(any_length)
def test_an_id_of_any_length_is_a_name_that_every_file_system_takes(text: str) -> None:
    for shelf in (person_shelf(text), group_shelf("telegram", text)):
        assert len(shelf.split("/")[1].encode()) <= 255


def test_an_id_that_is_too_long_keeps_its_beginning_and_is_never_that_of_another_id() -> None:
    longest, longer = "x" * 255, "娜" * 100
    cut = encode_id(longer)

    assert encode_id(longest) == longest
    assert cut.startswith("%E5%A8%9C" * 20) and cut[: cut.index("~")].replace("%E5%A8%9C", "") == ""
    assert encode_id(cut) != cut
    assert len({encode_id("x" * 300 + end) for end in ("", "a", "b")} | {longest}) == 4


@given(any_length.filter(bool))
def test_the_shelf_of_an_encoded_id_is_the_shelf_of_what_lies_in_its_folder(text: str) -> None:
    for shelf in (person_shelf(text), group_shelf("telegram", text)):
        assert shelf_of(Audience(shelf).path("memory/2026-01-26.md")) == shelf
