"""Names of files: one normal form, and safe names for what others send."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import PathRefused
from memory.paths import REFUSED, is_day_note, is_portable, normal, safe_name, well_formed
from tests.memory.workspaces import ODD_PATHS


@pytest.mark.parametrize("path", ODD_PATHS)
def test_an_odd_path_has_no_normal_form(path: str) -> None:
    with pytest.raises(PathRefused) as refusal:
        normal(path)
    assert str(refusal.value) == REFUSED


def test_the_normal_form_leaves_out_single_dots_and_keeps_letters_of_every_script() -> None:
    assert normal("./memory/./idée 世界.md") == "memory/idée 世界.md"


@given(st.text(st.one_of(st.sampled_from("./\\~ab\0"), st.characters()), max_size=40))
def test_a_normal_path_stays_below_its_root_and_is_its_own_normal_form(path: str) -> None:
    try:
        result = normal(path)
    except PathRefused:
        return
    assert normal(result) == result
    assert (Path("/ws") / result).is_relative_to("/ws")
    assert ".." not in Path(result).parts
    result.encode()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\photo.JPG", "photo.JPG"),
        ("отчёт за год.docx", "отчёт за год.docx"),
        ("会议记录.md", "会议记录.md"),
        ("cafe\u0301.txt", "café.txt"),
        ('a<b>:"|?*.txt', "a_b______.txt"),
        ("evil\u202egnp.exe", "evil_gnp.exe"),
        ("line\nbreak.txt", "line_break.txt"),
        ("half \ud83d emoji.txt", "half _ emoji.txt"),
        (".bashrc", "bashrc"),
        ("archive.tar.gz", "archive.tar.gz"),
        ("trailing. ", "trailing"),
        ("con", "_con"),
        ("NUL.txt", "_NUL.txt"),
        ("com1.tar.gz", "_com1.tar.gz"),
        ("", "file"),
        ("...", "file"),
        ("folder/", "file"),
        ("é" * 200 + ".png", "é" * 40 + ".png"),
        ("no extension but a dot. Really", "no extension but a dot. Really"),
    ],
)
def test_a_sent_name_becomes_safe_and_keeps_its_letters_and_extension(sent: str, kept: str) -> None:
    assert safe_name(sent) == kept


@given(st.text(st.one_of(st.sampled_from('./\\:con. <>"é'), st.characters()), max_size=120))
def test_whatever_the_sent_name_the_safe_one_is_a_portable_visible_component(name: str) -> None:
    kept = safe_name(name)

    assert normal(kept) == kept
    assert "/" not in kept
    assert is_portable(kept)
    assert len(kept.rpartition(".")[0].encode()) <= 80 and len(kept.encode()) <= 80 + 17
    assert safe_name(kept) == kept


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-01-26.md", True),
        ("Memory/2026-01-26.MD", True),
        ("people/anna/memory/2026-01-26.md", True),
        ("groups/slack-C1/memory/2026-01-26.md", True),
        ("memory/2026-01-26-api-design.md", False),
        ("2026-01-26.md", False),
        ("inbox/memory/2026-01-26.md", False),
    ],
)
def test_the_note_of_a_day_is_known_by_its_path(path: str, day: bool) -> None:
    assert is_day_note(path) == day


@given(st.text(st.characters()))
def test_well_formed_text_can_be_encoded_and_is_otherwise_the_same(text: str) -> None:
    result = well_formed(text)

    result.encode()
    assert well_formed(result) == result
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert result == text
