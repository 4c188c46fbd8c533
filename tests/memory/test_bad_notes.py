"""Notes and questions as bad as they come, through the memory's own door: the rest is found, and what is less is said."""

import asyncio
import os
import shutil
import sys
from itertools import product
from pathlib import Path

import pytest

from memory.errors import EmbedderUnavailable
from memory.index.passages import shelf_term
from memory.shelves import Audience
from memory.testing import WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, embedded, found, opened, until

GROUP = Audience("groups/slack-C1")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


# Questions


OPERATORS = [
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    '"',
    "''",
    "(",
    ")",
    "*",
    "^",
    ":",
    "-",
    "+",
    "{terms}:",
    "shelf:",
    "a/b",
    "\0",
]


def glued(operator: str) -> str:
    """Return an operator as it may stand against a word without being a part of it."""
    return f" {operator} " if operator[0].isalnum() or operator[-1].isalnum() else operator


async def test_whatever_is_asked_beside_a_word_that_word_is_found(notes: Notes) -> None:
    notes.write("a.md", "- zebra\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        for first, second, joint in product(OPERATORS, OPERATORS, ("", " ")):
            for query in (f"{first}{joint}{second} zebra", f"{glued(first)}zebra{glued(second)}"):
                answer = await memory.search(query, OWNERS)
                assert ([result.path for result in answer.results], answer.degraded) == (["a.md"], None), query


async def test_no_question_leads_out_of_its_shelf(notes: Notes) -> None:
    notes.write("MEMORY.md", "- canary of the owner, with zebra\n")
    notes.write("groups/slack-C1/a.md", "- zebra of the group\n")
    owners = shelf_term("owner")
    forged = [
        owners,
        f"shelf : {owners}",
        f'zebra") OR shelf : "{owners}',
        f'zebra" OR (shelf : "{owners}") OR "',
        f"{{shelf terms}} : {owners} OR zebra",
        "zebra' OR '1'='1",
        "canary OR zebra) UNION SELECT text FROM entries --",
    ]
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        for query in forged:
            answer = await memory.search(query, GROUP, limit=50)
            assert {result.path for result in answer.results} <= {"groups/slack-C1/a.md"}, query
            assert answer.degraded is None


async def test_a_book_as_a_question_is_answered(notes: Notes) -> None:
    notes.write("a.md", "- zebra\n")
    book = "zebra " + " ".join(f"word{n}" for n in range(100_000))
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()

        assert await found(memory, book) == ["a.md"]


@pytest.mark.parametrize(
    ("note", "queries"),
    [
        ("昨晚用node7修好了", ["node7", "修好", "用node7修好", "NODE7"]),
        ("会議はZoom5で行う", ["zoom5", "会議", "\uff3a\uff4f\uff4f\uff4d\uff15"]),
        ("서버v2를고쳤다", ["v2", "서버", "고쳤다"]),
        ("ｶﾀｶﾅのメモ", ["カタカナ", "メモ"]),
        ("他住在Zürich附近", ["zurich", "附近", "ZU\u0308RICH"]),
        ("下周三给花园浇水", ["夏天的时候花园是在星期几浇水的呢"]),
    ],
)
async def test_scripts_that_stand_without_a_blank_between_them_are_found_by_each_part(
    notes: Notes, note: str, queries: list[str]
) -> None:
    notes.write("a.md", f"- {note}\n")
    notes.write("b.md", "- something else\n")
    async with notes.memory() as memory:
        await memory.index()

        assert [await found(memory, query) for query in queries] == [["a.md"]] * len(queries)


@pytest.mark.parametrize("ranking", ["balanced", "classic", "words"])
async def test_a_stronger_match_scores_strictly_higher(notes: Notes, ranking: str) -> None:
    notes.write("strong.md", "- rare zebra quartz\n")
    notes.write("middle.md", "- rare zebra and other animals in the field\n")
    notes.write("slight.md", "- a field in which zebra and many others were seen on a long walk in the summer\n")
    for n in range(20):
        notes.write(f"other/{n}.md", "- nothing of that kind\n")
    async with notes.memory() as memory:
        await memory.index()
        results = (await memory.search("rare zebra quartz", OWNERS, ranking=ranking)).results  # type: ignore[arg-type]

    assert [result.path for result in results] == ["strong.md", "middle.md", "slight.md"]
    scores = [result.score for result in results]
    assert 1 >= scores[0] > scores[1] > scores[2] > 0


# Notes


BAD: dict[str, str | bytes] = {
    "line.md": "k" * 100_000,
    "words-in-a-line.md": "word " * 25_000,
    "base64.md": "QUJDRA" * 10_000,
    "run.md": "~" * 1_000_000,
    "tokens.md": "explain <|endoftext|> and <|im_start|>\n",
    "separators.md": "one\u2028two\u2029three\x85four\x0bfive\x1cgiraffe\n",
    "bom.md": "\ufeffthe first line\r\n\r\n- okapi\r\n",
    "empty.md": "",
    "blank.md": " \n\n\t\n",
    "fence.md": "```\nnever closed\n" * 50,
    "table.md": "| a | b |\n" * 2_000,
    "nested.md": "".join(f"{' ' * n}- deep {n}\n" for n in range(400)),
    "quotes.md": f"{'>' * 5_000} deep\n",
    "headings.md": "# a\n" * 3_000,
    "emoji.md": "👩\u200d👩\u200d👧" * 3_000,
    "marks.md": "a" + "\u0301" * 50_000,
}
BAD_BYTES: dict[str, str | bytes] = {
    "latin1.md": "caf\xe9 au lait with tapir\n".encode("latin-1"),
    "utf16.md": "hello".encode("utf-16"),
    "cut.md": "黑咖啡".encode()[:-1],
    "surrogate.md": b"half \xed\xa0\x80 of a pair\n",
    "noise.md": bytes(range(1, 256)) * 200,
}


async def test_no_note_is_so_bad_that_another_is_not_found(notes: Notes) -> None:
    for path, content in [*BAD.items(), *BAD_BYTES.items()]:
        notes.write(path, content)
    notes.write("good.md", "- zebra\n")
    embedder = WordEmbedder(refuse=lambda text: len(text) > 3_000)

    async with notes.memory(embedder) as memory:
        status = await memory.index()

        assert (await found(memory, "zebra"))[0] == "good.md"
        assert (await found(memory, "endoftext"))[0] == "tokens.md"
        assert (await found(memory, "tapir"))[0] == "latin1.md"
        assert (await found(memory, "giraffe"))[0] == "separators.md"
        assert (await found(memory, "okapi"))[0] == "bom.md"
    assert (status.files, status.degraded) == (len(BAD) + len(BAD_BYTES), None)
    assert "no text in UTF-8" in status.skipped["utf16.md"]
    assert all("its words only" in reason for path, reason in status.skipped.items() if path != "utf16.md")
    consistent(notes.database, notes.workspace)


async def test_ten_megabytes_of_tiny_items_cost_no_more_than_their_size(notes: Notes) -> None:
    notes.write("data.md", "- a\n" * 100_001 + "- giraffe\n")
    async with notes.memory() as memory:
        status = await memory.index()

        assert await found(memory, "giraffe") == ["data.md"]
    assert status.entries < 2_000


async def test_what_was_written_but_cannot_be_found_yet_is_said(notes: Notes) -> None:
    clock = notes.watched_clock()
    notes.write("a.md", "- zebra\n")
    async with notes.running(WordEmbedder()) as memory:
        await embedded(memory)
        other = opened(notes.database)
        other.execute("BEGIN IMMEDIATE")  # somebody else writes for a while
        notes.write("b.md", "- giraffe\n")
        memory.touch("b.md")
        searching = asyncio.create_task(memory.search("giraffe", OWNERS))
        await clock.asked_for(2.0)
        clock.advance(2.0)
        answer = await searching
        other.close()

        assert answer.results == ()
        assert answer.degraded is not None and "just written" in answer.degraded
        await until(lambda: "b.md" in notes.paths())
        assert await found(memory, "giraffe") == ["b.md"]


# Files that come and go


async def test_a_folder_that_is_removed_and_made_again_is_found_with_what_comes_later(notes: Notes) -> None:
    notes.unhurried()
    notes.write("memory/old.md", "- zebra\n")
    async with notes.running() as memory:
        assert await found(memory, "zebra") == ["memory/old.md"]
        for folder in (notes.workspace / "memory", notes.workspace):
            for name in ("x", "y"):  # the second is written when the new folder is known, or should be
                if name == "x":
                    shutil.rmtree(folder)
                notes.write(f"memory/{name}.md", f"- zebra {name}\n")
                await until(lambda name=name: f"memory/{name}.md" in notes.paths())  # type: ignore[misc]
            await until(lambda: notes.paths() == ["memory/x.md", "memory/y.md"])
            assert sorted(await found(memory, "zebra")) == ["memory/x.md", "memory/y.md"]
            for name in ("x", "y"):
                (notes.workspace / "memory" / f"{name}.md").unlink()
            await until(lambda: notes.paths() == [])
    consistent(notes.database, notes.workspace)


async def test_a_note_that_is_renamed_is_found_once_and_one_that_is_deleted_not_at_all(notes: Notes) -> None:
    for name in ("a", "b", "c"):
        notes.write(f"memory/{name}.md", f"- zebra-quartz {name}\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        (notes.workspace / "memory/a.md").rename(notes.workspace / "memory/renamed.md")
        notes.remove("memory/b.md")
        memory.touch("memory/c.md")  # one of them alone is looked at, and takes nothing of the others away
        assert "memory/a.md" in await found(memory, "zebra-quartz")
        await memory.index()

        assert sorted(await found(memory, "zebra-quartz")) == ["memory/c.md", "memory/renamed.md"]
    consistent(notes.database, notes.workspace)


async def test_notes_that_come_and_go_while_they_are_read_end_as_they_are_on_the_disk(notes: Notes) -> None:
    over = asyncio.Event()

    def churn(n: int) -> None:
        notes.write(f"memory/{n % 40}.md", f"- zebra {n}\n")
        if n % 3 == 0:
            notes.remove(f"memory/{n % 40}.md")

    async def unrest() -> None:
        for n in range(600):
            await asyncio.to_thread(churn, n)
        over.set()

    async with notes.memory() as memory:
        working = asyncio.create_task(unrest())
        while not over.is_set():
            assert (await memory.index()).degraded is not None  # by words only, and nothing worse
            await memory.search("zebra", OWNERS)
        await working
        status = await memory.index()

    assert status.skipped == {}
    assert notes.paths() == sorted(f"memory/{name}" for name in os.listdir(notes.workspace / "memory"))
    consistent(notes.database, notes.workspace)


# The index and its vectors


async def test_four_that_index_and_four_that_search_one_index_meet_no_lock(notes: Notes) -> None:
    for n in range(40):
        notes.write(f"memory/{n}.md", f"- zebra {n}\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        others = [notes.memory(WordEmbedder()) for _ in range(7)]
        everybody = [memory, *[await other.__aenter__() for other in others]]

        async def keep_up(number: int) -> None:
            for n in range(10):
                notes.write(f"memory/{number}-{n}.md", f"- zebra {number} {n}\n")
                everybody[number].touch(f"memory/{number}-{n}.md")
                assert (await everybody[number].search("zebra", OWNERS)).degraded is None
                assert (await everybody[number].index()).degraded is None

        async def look(number: int) -> None:
            for _ in range(60):
                answer = await everybody[number].search("zebra", OWNERS)
                assert (len(answer.results), answer.degraded) == (6, None)

        await asyncio.gather(*map(keep_up, range(4)), *map(look, range(4, 8)))
        assert (await memory.index()).files == 80
        for other in others:
            await other.__aexit__(None, None, None)
    consistent(notes.database, notes.workspace)


async def test_vectors_made_anew_by_force_leave_the_old_ones_in_use_until_they_are_there(notes: Notes) -> None:
    notes.write("a.md", "".join(f"- note {n} about a car\n" for n in range(40)))
    synonyms = {"automobile": "car"}
    async with notes.memory(WordEmbedder(synonyms=synonyms)) as memory:
        await memory.index()
        before = notes.rows("SELECT count(*) FROM entries_vec")
    embedder = WordEmbedder(synonyms=synonyms)
    async with notes.memory(embedder) as memory:
        embedder.fail_with = EmbedderUnavailable("The server is down.")
        status = await memory.index(force=True)
        assert status.degraded == "The server is down."
        assert notes.rows("SELECT count(*) FROM entries_vec") == before

        embedder.fail_with = None
        assert (await memory.search("automobile", OWNERS)).results
        notes.write("b.md", "- note about a bicycle\n")
        status = await memory.index()
        assert (status.pending, status.degraded) == (0, None)
    assert notes.rows("SELECT identity FROM embedders") == [("words/64",)]
    consistent(notes.database, notes.workspace)


async def test_vectors_that_were_being_made_anew_when_the_process_ended_are_finished_later(notes: Notes) -> None:
    notes.write("a.md", "".join(f"- note {n} about a car\n" for n in range(400)))
    synonyms = {"automobile": "car"}
    async with notes.memory(WordEmbedder(synonyms=synonyms)) as memory:
        await memory.index()
    embedder = WordEmbedder(synonyms=synonyms)
    async with notes.memory(embedder) as memory:
        anew = asyncio.create_task(memory.index(force=True))
        await until(lambda: notes.rows("SELECT count(DISTINCT model) FROM embedding_cache") == [(2,)])
        anew.cancel()
        await asyncio.wait([anew])

    async with notes.memory(WordEmbedder(synonyms=synonyms)) as memory:
        answer = await memory.search("automobile", OWNERS)
        assert answer.results and "Memory is searched by words only." not in (answer.degraded or "")
        status = await memory.index()
    assert (status.pending, status.degraded) == (0, None)
    assert notes.identities() == [("words/64",)]
    consistent(notes.database, notes.workspace)


async def test_an_extension_that_sqlite_cannot_load_is_said_once_and_words_are_found(
    notes: Notes, tmp_path: Path
) -> None:
    broken = tmp_path / "broken" / "sqlite_vec"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("")
    (broken / "vec0.so").write_bytes(b"of another machine")
    notes.write("a.md", "- zebra\n")
    program = f"""
import asyncio, logging
from pathlib import Path
from memory.clock import SystemClock, zone_named
from memory.engine import Memory
from memory.shelves import Audience
from memory.testing import WordEmbedder
logging.basicConfig(level="WARNING", format="%(message)s")
async def main():
    database, workspace = Path({str(notes.database)!r}), Path({str(notes.workspace)!r})
    clock = SystemClock(zone_named("UTC"))
    memory = await Memory.open(database, workspace, embedder=WordEmbedder(), clock=clock)
    await memory.index()
    answer = await memory.search("zebra", Audience("owner"))
    print([result.path for result in answer.results], answer.degraded)
    await memory.close()
asyncio.run(main())
"""
    environment = os.environ | {"PYTHONPATH": str(broken.parent)}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe
    )
    said, logged = await process.communicate()

    assert said.decode().startswith("['a.md'] Memory is searched by words only. SQLite cannot load sqlite-vec;")
    assert logged.decode().count("cannot be loaded") == 1
