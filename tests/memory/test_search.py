"""What a search finds, through the memory's own door: real files, a real index."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memory.base import Answer, RankingName, Result, SearchSettings
from memory.embedders.base import Embedder
from memory.engine import Memory
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock, WordEmbedder

OWNERS = Audience(OWNER)
GROUP = Audience("groups/telegram--100500")

Notes = dict[str, str]


@asynccontextmanager
async def remembered(
    folder: Path, notes: Notes, embedder: Embedder | None = None, settings: SearchSettings | None = None
) -> AsyncIterator[Memory]:
    """Write notes, index them, and open their memory."""
    for path, text in notes.items():
        (folder / "workspace" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "workspace" / path).write_text(text, encoding="utf-8")
    memory = await Memory.open(
        folder / "memory.sqlite",
        folder / "workspace",
        embedder=embedder,
        settings=settings or SearchSettings(),
        clock=FakeClock(),
    )
    try:
        await memory.index()
        yield memory
    finally:
        await memory.close()


def texts(answer: Answer) -> list[str]:
    return [result.snippet for result in answer.results]


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("deploy gen-alpha node", "gen-alpha"),
        ("I don't like olives", "don't"),
        ("released v1.2.3 today", "v1.2.3"),
        ("either a/b or c", "a/b"),
        ("write to kim@example.test", "kim@example.test"),
        ("full at 100%", "100%"),
        ("he learns C++ now", "C++"),
        ("the word AND stands here", "AND"),
        ("either this OR that", "a OR"),
        ("we do NOT deploy", "NOT deploy"),
        ("NEAR the river", "NEAR("),
        ("the body: deploy it", "body:deploy"),
        ("we deploy on Monday", "xcol:deploy"),
        ("we deploy on Monday", "^deploy"),
        ('she said "deploy"', '"deploy'),
        ("昨晚用node7修好了", "node7"),
        ("昨晚用node7修好了", "修好"),
        ("garden watering schedule", "which weekday is garden watering in summer"),
        ("Müller wohnt in Zürich", "muller zurich"),
        ("ticket TICKET-4821 is open", "TICKET-4821"),
    ],
)
@pytest.mark.parametrize("ranking", ["balanced", "classic"])
async def test_what_stands_in_a_note_is_found_however_it_is_typed(
    tmp_path: Path, note: str, query: str, ranking: RankingName
) -> None:
    async with remembered(tmp_path, {"memory/note.md": f"- {note}\n", "memory/other.md": "- 天気\n"}) as memory:
        answer = await memory.search(query, OWNERS, ranking=ranking)

    assert [result.path for result in answer.results] == ["memory/note.md"]


@pytest.mark.parametrize("query", ["(", "*", "''", '"', "...", "\x00", " ", "", "\ud800", "?" * 5_000])
async def test_a_query_without_words_finds_nothing_and_breaks_nothing(tmp_path: Path, query: str) -> None:
    async with remembered(tmp_path, {"memory/note.md": "- apples\n"}) as memory:
        answer = await memory.search(query, OWNERS)

    assert answer.results == ()


async def test_an_exact_word_survives_the_threshold_of_classic(tmp_path: Path) -> None:
    notes = {"memory/a.md": "- TICKET-4821\n", "memory/b.md": "- something about apples\n"}
    async with remembered(tmp_path, notes, WordEmbedder()) as memory:
        answer = await memory.search("TICKET-4821", OWNERS, ranking="classic", min_score=0.99)

    assert [result.path for result in answer.results] == ["memory/a.md"]


async def test_a_paraphrase_is_found_by_meaning_alone(tmp_path: Path) -> None:
    notes = {"memory/a.md": "- the automobile stands outside\n", "memory/b.md": "- lunch at noon\n"}
    async with remembered(tmp_path, notes, WordEmbedder(synonyms={"automobile": "car", "vehicle": "car"})) as memory:
        answer = await memory.search("vehicle", OWNERS)

    assert answer.results[0].path == "memory/a.md"
    assert answer.degraded is None


async def test_fewer_results_are_the_first_of_more(tmp_path: Path) -> None:
    notes = {f"memory/{n}.md": "".join(f"- apple number {n} {m} {'pie ' * m}\n" for m in range(9)) for n in range(14)}
    async with remembered(tmp_path, notes, WordEmbedder()) as memory:
        most = (await memory.search("apple pie", OWNERS, limit=12)).results
        fewer = [(await memory.search("apple pie", OWNERS, limit=k)).results for k in range(1, 12)]

    assert len(most) == 12
    assert all(results == most[: len(results)] for results in fewer)
    assert [len(results) for results in fewer] == list(range(1, 12))
    scores = [result.score for result in most]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] <= 1


async def test_a_result_shows_exactly_the_lines_that_it_names_and_no_line_comes_twice(tmp_path: Path) -> None:
    item = (
        "- item {n} about apples, told at some length so that few fit\n\n## Heading {n}\n\nA paragraph on pears {n}.\n"
    )
    text = "# Notes\n\n" + "".join(item.format(n=n) for n in range(60))
    async with remembered(tmp_path, {"memory/long.md": text}) as memory:
        answer = await memory.search("apples pears", OWNERS, limit=10)

    assert len(answer.results) == 10
    lines = text.split("\n")
    shown: set[int] = set()
    for result in answer.results:
        assert result.snippet == "\n".join(lines[result.start_line - 1 : result.end_line])
        assert len(result.snippet) <= 700
        covered = set(range(result.start_line, result.end_line + 1))
        assert not covered & shown
        shown |= covered


@pytest.mark.parametrize("ranking", ["balanced", "classic"])
async def test_around_a_long_line_a_result_shows_whole_lines_or_a_part_of_one(
    tmp_path: Path, ranking: RankingName
) -> None:
    text = f"\ufeff- apples first\r\n- {'苹果' * 400} apples\r\n- apples\tlast\u2028of all\r\n- plums\r\n"
    async with remembered(tmp_path, {"memory/long.md": text}) as memory:
        answer = await memory.search("apples 苹果", OWNERS, limit=10, ranking=ranking)

    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    assert {result.start_line for result in answer.results} == {1, 2, 3}
    for result in answer.results:
        named = "\n".join(lines[result.start_line - 1 : result.end_line])
        assert result.snippet == named or (result.start_line == result.end_line and result.snippet in named)


async def test_of_a_file_of_very_many_entries_every_chunk_shows_its_own(tmp_path: Path) -> None:
    note = "".join(f"- apple {n}\n" for n in range(5_000))
    async with remembered(tmp_path, {"memory/long.md": note}) as memory:
        answer = await memory.search("apple 4000", OWNERS, ranking="classic", limit=50)

    assert "- apple 4000\n" in answer.results[0].snippet
    starts = [result.start_line for result in answer.results]
    assert len(set(starts)) == len(starts) > 20


async def test_of_a_megabyte_that_was_pasted_both_ends_are_read(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    pasted = f"xylophone {'word ' * 200_000} zeppelin"
    async with remembered(
        tmp_path, {"memory/a.md": "- xylophone\n", "memory/b.md": "- zeppelin\n"}, embedder
    ) as memory:
        answer = await memory.search(pasted, OWNERS)

    assert {"memory/a.md", "memory/b.md"} <= {result.path for result in answer.results}
    assert [len(texts[0]) < 11_000 for kind, texts in embedder.calls if kind == "query" and len(texts) == 1] == [True]


async def test_the_find_is_shown_and_not_the_head_of_what_it_stands_in(tmp_path: Path) -> None:
    filler = "".join(
        f"- filler {n} of no interest to anybody at all, long enough to fill a snippet\n" for n in range(60)
    )
    async with remembered(tmp_path, {"memory/long.md": f"{filler}- the xylophone is in the attic\n{filler}"}) as memory:
        answer = await memory.search("xylophone", OWNERS, limit=1)

    assert "xylophone" in answer.results[0].snippet


async def test_a_snippet_is_filled_with_what_stands_around_however_short_the_entries_are(tmp_path: Path) -> None:
    lines = [f"- item {n}" for n in range(50)]
    note = "\n".join([*lines, "- xylophone", *lines]) + "\n"
    async with remembered(tmp_path, {"memory/list.md": note}) as memory:
        (result,) = (await memory.search("xylophone", OWNERS)).results

    assert result.start_line < 51 - 20 and result.end_line > 51 + 20
    assert result.snippet == "\n".join(note.split("\n")[result.start_line - 1 : result.end_line])


async def test_a_small_shelf_is_not_starved_by_a_large_one(tmp_path: Path) -> None:
    crowd = "".join(f"- the vehicle number {n} stands outside\n" for n in range(3_000))
    notes = {"memory/2026-01-01.md": crowd, f"{GROUP.shelf}/memory/one.md": "- an old automobile\n"}
    embedder = WordEmbedder(synonyms={"automobile": "car", "vehicle": "car"})
    async with remembered(tmp_path, notes, embedder) as memory:
        by_word = await memory.search("automobile", GROUP)
        by_meaning = await memory.search("vehicle", GROUP)

    for answer in (by_word, by_meaning):
        assert [result.path for result in answer.results] == [f"{GROUP.shelf}/memory/one.md"]


@pytest.mark.parametrize("ranking", ["balanced", "classic"])
async def test_what_others_wrote_changes_nothing_in_what_a_shelf_gets_by_words(
    tmp_path: Path, ranking: RankingName
) -> None:
    own = {
        f"{GROUP.shelf}/memory/{n}.md": f"- apples and {word}\n" for n, word in enumerate(["pears", "plums", "figs"])
    }
    private = {"memory/private.md": "- apples pears canary\n" * 50, "MEMORY.md": "- plums plums plums\n"}
    answers: list[Sequence[Result]] = []
    for name, notes in (("alone", own), ("beside", own | private)):
        async with remembered(tmp_path / name, notes) as memory:
            asked = await memory.search("apples plums canary", GROUP, ranking=ranking, explain=True)
            answers.append(asked.results)

    assert answers[0] == answers[1]
    assert len(answers[0]) == 3


async def test_how_often_others_write_a_word_does_not_choose_among_the_many_finds_of_a_shelf(tmp_path: Path) -> None:
    def many(word: str) -> str:
        return "".join(f"- {word} in the basket of row {n}\n" for n in range(90))

    own = {f"{GROUP.shelf}/memory/{word}.md": many(word) for word in ("apples", "pears")}
    answers: list[Sequence[Result]] = []
    for name, word in (("one", "apples"), ("other", "pears")):
        async with remembered(tmp_path / name, own | {"memory/private.md": many(word) * 5}) as memory:
            asked = await memory.search("apples pears", GROUP, limit=50, explain=True)
            answers.append(asked.results)

    assert answers[0] == answers[1]


@pytest.mark.parametrize("ranking", ["balanced", "classic"])
async def test_what_others_write_about_changes_no_score_of_a_shelf_by_meaning(
    tmp_path: Path, ranking: RankingName
) -> None:
    own = {f"{GROUP.shelf}/memory/{n}.md": f"- {word} and more\n" for n, word in enumerate(["apples", "plums", "figs"])}
    private = {f"memory/{n}.md": "".join(f"- apples in the canary pie {m}\n" for m in range(40)) for n in range(9)}
    answers = []
    for name, notes in (("alone", own), ("beside", own | private)):
        async with remembered(tmp_path / name, notes, WordEmbedder()) as memory:
            answers.append(await memory.search("apples plums", GROUP, ranking=ranking, explain=True))

    alone, beside = answers
    assert [result.path for result in alone.results] == [result.path for result in beside.results]
    for one, other in zip(alone.results, beside.results, strict=True):
        assert one.parts == pytest.approx(other.parts, abs=1e-5)  # sums of float32 depend on what stands beside them
    assert alone.weak == beside.weak
    assert len(alone.results) >= 2


async def test_the_owner_finds_what_is_on_every_shelf(tmp_path: Path) -> None:
    paths = ["MEMORY.md", "memory/a.md", "ideas/b.md", f"{GROUP.shelf}/MEMORY.md", "people/telegram-7/memory/c.md"]
    async with remembered(tmp_path, dict.fromkeys(paths, "- apples\n")) as memory:
        answer = await memory.search("apples", OWNERS, limit=10)

    assert sorted(result.path for result in answer.results) == sorted(paths)


async def test_a_question_about_a_day_finds_the_note_of_that_day(tmp_path: Path) -> None:
    notes = {f"memory/2026-01-{day:02d}.md": "- went out and had lunch\n" for day in range(10, 27)}
    async with remembered(tmp_path, notes) as memory:
        for question in ("lunch yesterday", "lunch on 25 January 2026", "1月25日的 lunch", "lunch 2026-01-25"):
            answer = await memory.search(question, OWNERS, limit=1)
            assert [result.path for result in answer.results] == ["memory/2026-01-25.md"], question


async def test_the_note_of_a_day_comes_first_in_whatever_language_the_day_is_named(tmp_path: Path) -> None:
    notes = {f"memory/2026-01-{day:02d}.md": "- 午饭吃了面条\n" for day in (3, 25)} | {
        f"notes/{n}.md": f"- 昨天 我们 做了 什么 {n} yesterday hier вчера\n" for n in range(9)
    }
    async with remembered(tmp_path, notes, WordEmbedder()) as memory:
        for question in (
            "1月25日",
            "昨天做了什么",
            "yesterday",
            "25 January",
            "January 25th, 2026",
            "вчера",
            "2026-01-25",
        ):
            answer = await memory.search(question, OWNERS, limit=1)
            assert [result.path for result in answer.results] == ["memory/2026-01-25.md"], question


async def test_a_note_that_waits_for_its_vector_is_found_by_an_exact_word_before_what_is_merely_near(
    tmp_path: Path,
) -> None:
    old = {f"memory/{n}.md": f"- apples and pears {n}\n" for n in range(5)}
    async with remembered(tmp_path, old, embedder := WordEmbedder()) as memory:
        embedder.refuse = lambda text: "trombone" in text and "Karl" in text
        (tmp_path / "workspace" / "memory" / "new.md").write_text("- The trombone was sold to Karl\n")
        await memory.index()
        answer = await memory.search("Karl", OWNERS)

    assert answer.results[0].path == "memory/new.md"


async def test_fields_that_nobody_filled_in_and_comments_are_no_finds(tmp_path: Path) -> None:
    template = "# The person\n\n- Name:\n- Work:\n\n<!-- Kept by the agent. -->\n\n- Lives in: Lisbon\n"
    async with remembered(tmp_path, {"USER.md": template, "memory/a.md": "- apples\n"}, WordEmbedder()) as memory:
        assert not (await memory.search("agent", OWNERS)).results
        answer = await memory.search("where do they live, in Lisbon?", OWNERS, limit=1)

    assert answer.results[0].snippet == "- Lives in: Lisbon"


async def test_a_word_that_stands_only_in_a_heading_finds_what_is_below_it(tmp_path: Path) -> None:
    note = "# Shopping\n\n## Coffee\n\n- black, no sugar\n\n## Tea\n\n- green\n"
    async with remembered(tmp_path, {"memory/note.md": note}) as memory:
        answer = await memory.search("coffee", OWNERS, limit=1)

    assert "black, no sugar" in answer.results[0].snippet


async def test_dated_notes_fade_only_if_that_is_wished_and_curated_files_never(tmp_path: Path) -> None:
    notes = {"memory/2025-01-26.md": "- apples\n", "memory/2026-01-26.md": "- apples\n", "MEMORY.md": "- apples\n"}
    async with remembered(tmp_path, notes, settings=SearchSettings(half_life_days=30)) as memory:
        faded = {r.path: r for r in (await memory.search("apples", OWNERS, explain=True)).results}
    async with remembered(tmp_path, {}) as memory:
        kept = {r.path: r.score for r in (await memory.search("apples", OWNERS)).results}

    assert faded["memory/2025-01-26.md"].score < 0.01 < faded["MEMORY.md"].score
    assert faded["memory/2026-01-26.md"].score == pytest.approx(faded["MEMORY.md"].score)
    assert faded["memory/2025-01-26.md"].parts["fading"] < 0.01
    assert len(set(kept.values())) == 1


async def test_every_result_can_say_what_its_score_is_made_of(tmp_path: Path) -> None:
    async with remembered(tmp_path, {"memory/a.md": "- apples\n- pears\n"}, WordEmbedder()) as memory:
        plain = await memory.search("apples", OWNERS)
        explained = await memory.search("apples", OWNERS, explain=True)

    assert plain.results[0].parts == {}
    assert {"text", "bm25", "vector", "cosine", "neighbours", "file", "chunk"} <= explained.results[0].parts.keys()


async def test_what_is_far_from_everything_is_marked_as_weak_and_what_is_near_is_not(tmp_path: Path) -> None:
    notes = {f"memory/{n}.md": f"- {word} grows in the garden behind the house\n" for n, word in enumerate("abcdefgh")}
    async with remembered(tmp_path, notes, WordEmbedder(dimension=256)) as memory:
        near = await memory.search("what grows in the garden behind the house", OWNERS)
        far = await memory.search(
            "uncle Ferdinand mended seven broken telescopes near Lisbon, said house guests", OWNERS
        )

    assert near.results and not near.weak
    assert far.results and far.weak


async def test_nothing_found_is_an_empty_answer_that_is_not_degraded(tmp_path: Path) -> None:
    async with remembered(tmp_path, {"memory/a.md": "- apples\n"}, WordEmbedder(dimension=256)) as memory:
        answer = await memory.search("zeppelin", OWNERS)

    assert (answer.results, answer.degraded) == ((), None)
