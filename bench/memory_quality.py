"""How much of what was asked for is found, by each ranking: MemoryBank, which ships, and LoCoMo, where it is given."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from bench.locomo import write_workspace
from bench.report import say
from memory.base import Answer, RankingName
from memory.clock import SystemClock, zone_named
from memory.embedders.local import local_embedder
from memory.engine import Memory
from memory.evaluation.measure import APART, TOOL_RESULTS, Ask, Asked, Measured, measure, read_questions
from memory.evaluation.sets import write_builtin
from memory.shelves import OWNER, Audience

RANKINGS: Sequence[tuple[RankingName, str]] = (
    ("words", "BM25 alone"),
    ("vectors", "vectors alone"),
    ("classic", "classic 0.7/0.3"),
    ("balanced", "balanced"),
)
EVERY = 8  # of the questions, one in so many is asked again with its evidence taken out of the notes
_OWNER = Audience(OWNER)


@asynccontextmanager
async def opened(workspace: Path, *, quiet_seconds: float = 0.2) -> AsyncIterator[Memory]:
    """Open a memory over a workspace with the local embedder, index everything, and close it at the end.

    The index lies hidden in the workspace, so that the next measure of the same one need not embed it again.
    """
    state = workspace / ".bench"
    state.mkdir(exist_ok=True)
    embedder = local_embedder(models())
    memory = await Memory.open(
        state / "memory.sqlite",
        workspace,
        embedder=embedder,
        clock=SystemClock(zone_named("UTC")),
        quiet_seconds=quiet_seconds,
    )
    try:
        await memory.index()
        yield memory
    finally:
        await memory.close()
        await embedder.close()


def models() -> Path:
    """Return the folder that keeps the model's graph between the measures of a run."""
    folder = Path(gettempdir()) / "scrubjay-bench-models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def conversations() -> Iterator[list[Path]]:
    """Write LoCoMo's conversations as workspaces, for as long as the block runs; none, and a word, where it is not given."""
    given = os.environ.get("LOCOMO")
    sources = sorted(Path(given).glob("*.json")) if given else []
    if not sources:
        say("LoCoMo: left out. Set LOCOMO to a folder with its conversations as JSON files to measure it.")
    with TemporaryDirectory() as folder:
        workspaces = [Path(folder) / source.stem for source in sources]
        for source, workspace in zip(sources, workspaces, strict=True):
            write_workspace(source, workspace)
        yield workspaces


def asking(memory: Memory, ranking: RankingName) -> Ask:
    """Return what asks a memory for the best ten chunks and for what a default call of the tool shows."""

    async def ask(text: str) -> tuple[Answer, Answer]:
        chunks = await memory.search(text, _OWNER, limit=10, ranking=ranking, unit="chunk")
        return chunks, await memory.search(text, _OWNER, limit=TOOL_RESULTS, ranking=ranking)

    return ask


async def measure_builtin() -> None:
    """Print the figures of MemoryBank, asked in Chinese and in English."""
    with TemporaryDirectory() as folder:
        file = write_builtin(Path(folder))
        async with opened(Path(folder)) as memory:
            for field, name in (("question", "Chinese"), ("english", "English on Chinese notes")):
                asked = read_questions(file, field=field)
                say(f"\nMemoryBank pooled, {name} ({len(asked)} questions)")
                header()
                for ranking, label in RANKINGS:
                    line(label, await measure(asked, asking(memory, ranking), ks=(5,)), aims=_aims(ranking, field))


def _aims(ranking: str, field: str) -> str:
    return {"question": "recall@5 ≥ 88", "english": "recall@5 ≥ 78"}[field] if ranking == "balanced" else ""


async def measure_locomo(workspaces: Sequence[Path]) -> None:
    """Print the figures of LoCoMo, categories 1 to 4 together and each for itself."""
    found: dict[RankingName, list[Measured]] = {ranking: [] for ranking, _ in RANKINGS}
    for workspace in workspaces:
        asked = [q for q in read_questions(workspace / "questions.jsonl") if q.category != APART]
        async with opened(workspace) as memory:
            for ranking, _ in RANKINGS:
                found[ranking] += await measure(asked, asking(memory, ranking), ks=(5,))
    if workspaces:
        say(f"\nLoCoMo, {len(workspaces)} conversations, categories 1 to 4 ({len(found['balanced'])} questions)")
        header()
        for ranking, label in RANKINGS:
            aims = "tool ≥ 82, recall@5 ≥ 85, MRR ≥ 79" if ranking == "balanced" else ""
            line(label, found[ranking], aims=aims)
        for category in sorted({one.category for one in found["balanced"]}):
            line(f"balanced, category {category}", [one for one in found["balanced"] if one.category == category])


async def measure_unanswerable(workspaces: Sequence[Path]) -> None:
    """Print how many questions without an answer are known as such, beside those that have one and are taken for such."""
    if len(workspaces) < 2:
        return
    lost: list[bool] = []
    foreign: list[bool] = []
    removed: list[bool] = []
    for index, workspace in enumerate(workspaces):
        own = [q for q in read_questions(workspace / "questions.jsonl") if q.category != APART]
        other = workspaces[(index + 1) % len(workspaces)] / "questions.jsonl"
        async with opened(workspace) as memory:
            lost += [await _is_weak(memory, q.text) for q in own]
            foreign += [await _is_weak(memory, q.text) for q in read_questions(other) if q.category != APART]
            removed += [await _is_weak_without(memory, workspace, q) for q in own[::EVERY]]
    say("\nQuestions whose answer is not there: nothing returned, or marked weak")
    for name, marks, aim in (
        ("answerable ones lost", lost, "≤ 2 %"),
        ("about other people's lives", foreign, "≥ 50 %"),
        (f"evidence taken out (one in {EVERY})", removed, "≥ 50 %"),
    ):
        say(f"  {name:<40} {100 * sum(marks) / len(marks):6.1f} %  of {len(marks)}  aim {aim}")


async def _is_weak(memory: Memory, text: str) -> bool:
    answer = await memory.search(text, _OWNER)
    return answer.weak or not answer.results


async def _is_weak_without(memory: Memory, workspace: Path, question: Asked) -> bool:
    """Ask with the lines of the evidence taken out of the notes, then put them back."""
    places = [line for item in question.evidence for line in item]
    saved: Mapping[Path, str] = {workspace / place.path: (workspace / place.path).read_text() for place in places}
    for file, text in saved.items():
        gone = {place.line for place in places if workspace / place.path == file}
        kept = ["" if number in gone else line for number, line in enumerate(text.split("\n"), start=1)]
        file.write_text("\n".join(kept))
    await memory.index()
    weak = await _is_weak(memory, question.text)
    for file, text in saved.items():
        file.write_text(text)
    return weak


def header() -> None:
    """Print the head of a table."""
    say(f"  {'ranking':<24} {'recall@5':>9} {'MRR':>7} {'tool call':>10}")


def line(label: str, measured: Sequence[Measured], *, aims: str = "") -> None:
    """Print the means of some questions, in points of a hundred."""

    def mean(values: Iterator[float]) -> float:
        return 100 * sum(values) / len(measured)

    recall, rank = mean(one.recall[5] for one in measured), mean(one.reciprocal_rank for one in measured)
    tool = mean(one.tool_recall for one in measured)
    say(f"  {label:<24} {recall:9.1f} {rank:7.1f} {tool:10.1f}  {f'aim {aims}' if aims else ''}".rstrip())


async def measure_quality() -> None:
    """Print the tables."""
    shutil.rmtree(models(), ignore_errors=True)
    await measure_builtin()
    with conversations() as workspaces:
        await measure_locomo(workspaces)
        await measure_unanswerable(workspaces)
