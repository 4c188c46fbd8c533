"""`scrubjay memory eval`: measures how much a memory finds, on the built-in set or on one's own questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.config import Config
from gateway.home import Home
from gateway.logs import start_logging
from gateway.memories import build_embedder
from gateway.memory_cli import print_json, print_line, progress, say
from gateway.tasks import finished
from memory.base import RankingName
from memory.clock import SystemClock, zone_named
from memory.evaluation.measure import read_questions
from memory.evaluation.run import Setting, evaluate, evaluate_builtin, expected, worse

_NAMES = {"question": "MemoryBank, Chinese", "english": "MemoryBank, English questions on Chinese notes"}

Reports = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure; without a workspace and a file of questions, the built-in set."""

    workspace: Path | None
    questions: Path | None
    field: str
    ks: Sequence[int]
    ranking: RankingName
    embedder: str | None
    as_json: bool


def evaluate_here(config: Config, home: Home, wanted: Wanted) -> int:
    """Measure, print the figures, and return the exit code: 1 if the built-in set has become worse than it should be."""
    start_logging(config, level="error")
    return finished(_evaluate(config, home, wanted))


async def _evaluate(config: Config, home: Home, wanted: Wanted) -> int:
    asked = {wanted.field: read_questions(wanted.questions, field=wanted.field)} if wanted.questions else {}
    if wanted.embedder is not None:
        chosen = config.memory.embedder.model_copy(update={"provider": wanted.embedder})
        config = config.model_copy(update={"memory": config.memory.model_copy(update={"embedder": chosen})})
    if config.memory.embedder.provider == "local":
        home.prepare()  # its model is kept there
    embedder = build_embedder(config, home, SystemClock(zone_named(config.timezone)))
    setting = Setting(embedder, wanted.ranking, wanted.ks)
    try:
        with progress() as tell:
            if wanted.workspace is None:
                reports: Reports = await evaluate_builtin(setting, tell=tell)
            else:
                reports = await evaluate(wanted.workspace, asked, setting, tell=tell)
    finally:
        if embedder is not None:
            await embedder.close()
    if wanted.workspace is not None:
        _show(wanted, {str(wanted.workspace): reports[wanted.field]})
        return 0
    _show(wanted, {_NAMES[field]: report for field, report in reports.items()} if not wanted.as_json else reports)
    return _verdict(reports, model=embedder.model if embedder else "none", ranking=wanted.ranking)


def _show(wanted: Wanted, reports: Reports) -> None:
    if wanted.as_json:
        alone = next(iter(reports.values())) if wanted.workspace is not None else reports
        print_json(alone)
        return
    columns = [*(f"recall@{k}" for k in wanted.ks), "mrr", "tool_recall", "weak"]
    for name, report in reports.items():
        asked = "1 question" if report["questions"] == 1 else f"{report['questions']} questions"
        print_line(f"{name}: {asked}, ranking {wanted.ranking}")
        print_line(" " * 14 + "".join(f"{column:>13}" for column in columns))
        rows = {"all": report} | {f"category {c}": figures for c, figures in report["categories"].items()}
        for label, figures in rows.items() if len(report["categories"]) > 1 else [("all", report)]:
            print_line(f"  {label:<12}" + "".join(f"{figures[column]:13.3f}" for column in columns))
    print_line("tool_recall: of one default call of memory_search, by the lines that its snippets show")


def _verdict(reports: Reports, *, model: str, ranking: str) -> int:
    """Say whether the built-in set gives what it should, and return the exit code."""
    known = expected(model, ranking)
    if known is None:
        say(f"What {model} should reach with {ranking} is not on record, so these figures are not judged.")
        return 0
    lost = worse(reports, known)
    for sentence in lost:
        say(f"worse than it should be: {sentence}")
    if not lost:
        say("as expected")
    return 1 if lost else 0
