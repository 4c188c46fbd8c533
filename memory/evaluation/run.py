"""Runs of the measure: a workspace indexed for itself, its questions asked as the owner would."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory.base import Answer, Progress, RankingName, SearchSettings
from memory.clock import SystemClock, zone_named
from memory.dates import day_of
from memory.embedders.base import Embedder
from memory.engine import Memory
from memory.errors import EmbedderUnusable
from memory.evaluation.measure import TOOL_RESULTS, Asked, measure, read_questions, report
from memory.evaluation.sets import write_builtin
from memory.shelves import OWNER, Audience

MOST_LOST = 0.02  # a figure that falls by more than this has become worse

FIELDS = ("question", "english")


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured: the embedder, the ranking, how many results count."""

    embedder: Embedder | None
    ranking: RankingName
    ks: Sequence[int]


class _AfterNotes(SystemClock):
    """The noon after the newest dated note: "yesterday" means the same in every run."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(zone_named("UTC"))
        days = [day for file in workspace.rglob("*.md") if (day := day_of(file.name)) and day < date.max]
        self._now = datetime.combine(max(days, default=date(2000, 1, 1)), time(12), UTC) + timedelta(days=1)

    def now(self) -> datetime:
        """Return that noon."""
        return self._now


async def evaluate(
    workspace: Path, asked: Mapping[str, Sequence[Asked]], setting: Setting, *, tell: Callable[[Progress], None]
) -> dict[str, dict[str, Any]]:
    """Return a report for each set of questions on a workspace, which is only read; raises `EmbedderError`.

    The index is made in a temporary folder. A run whose embedder fails is no measure of it, so that is an error here.
    """
    owner = Audience(OWNER)
    with TemporaryDirectory(prefix="scrubjay-eval-") as folder:
        memory = await Memory.open(
            Path(folder) / "memory.sqlite",
            workspace,
            embedder=setting.embedder,
            settings=SearchSettings(ranking=setting.ranking),
            clock=_AfterNotes(workspace),
        )
        try:
            status = await memory.index(report=tell)
            if status.degraded is not None and setting.embedder is not None:
                raise EmbedderUnusable(status.degraded)

            async def ask(text: str) -> tuple[Answer, Answer]:
                chunks = await memory.search(text, owner, limit=max(setting.ks), unit="chunk")
                return chunks, await memory.search(text, owner, limit=TOOL_RESULTS)

            return {name: report(await measure(questions, ask, ks=setting.ks)) for name, questions in asked.items()}
        finally:
            await memory.close()


async def evaluate_builtin(setting: Setting, *, tell: Callable[[Progress], None]) -> dict[str, dict[str, Any]]:
    """Return the reports of the built-in set, by the wording of its questions: `question` (Chinese) and `english`."""
    with TemporaryDirectory(prefix="scrubjay-eval-") as folder:
        file = write_builtin(Path(folder))
        asked = {field: read_questions(file, field=field) for field in FIELDS}
        return await evaluate(Path(folder), asked, setting, tell=tell)


def expected(model: str, ranking: str) -> Mapping[str, Mapping[str, float]] | None:
    """Return the figures of the built-in set that this version reaches, by wording; None for what was not measured."""
    known: dict[str, Any] = json.loads((files("memory.evaluation") / "expected.json").read_text(encoding="utf-8"))
    found: Mapping[str, Mapping[str, float]] | None = known.get(f"{model} {ranking}")
    return found


def worse(reports: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a sentence for each figure that lies more than two points below what is expected."""
    return [
        f"{field}: {figure} is {reports[field][figure]:.3f}, expected {value:.3f}"
        for field, figures in known.items()
        for figure, value in figures.items()
        if reports[field][figure] < value - MOST_LOST
    ]
