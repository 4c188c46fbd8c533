"""A day of forty messages on three platforms with two agents: what became of each, as the gateway's own log tells it."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import say
from tests.contract.day.playing import Played, played_day

_HEAD = ("message", "matched", "agent", "session", "shelf", "delay", "parts")
_TEXT_CHARACTERS = 44


async def measure() -> None:
    """Play the day and print its table; the last lines are what the log has beside it."""
    with tempfile.TemporaryDirectory() as folder:
        async with played_day(Path(folder)) as day:
            for line in table(day.played):
                say(line)
            say("")
            for record in day.log.records:
                if record["level"] not in ("debug", "info"):
                    say(f"{record['level']}: {record['message']} ({record.get('account', record['logger'])})")


def table(played: Sequence[Played]) -> Iterator[str]:
    """Yield the table in Markdown, a message a row; one that was said again and again has one row."""
    yield _row(_HEAD)
    yield _row(["---"] * len(_HEAD))
    for line in dict.fromkeys(id(one.line) for one in played):
        yield _row(_cells([one for one in played if id(one.line) == line]))


def _cells(said: Sequence[Played]) -> Sequence[str]:
    """Return the cells of a message: what the log says, and where it says nothing, why."""
    first = said[0]
    text = " ".join(first.text.split())
    text = text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"
    again = f" (×{len(said)})" if len(said) > 1 else ""
    message = f"{first.line.who}, {first.place.name}: {text}{again}"
    parts = str(sum(len(one.heard) for one in said))
    record = first.record
    if record is None:
        why = {"overheard": "not addressed: context of the next answer", "noted": "edited too late: noted"}
        return (message, why[first.line.end], "", "", "", "", parts)
    if "agent" not in record:
        return (message, str(record["message"]), "", "", "", "", parts)
    delays = [one.delay_seconds for one in said if one.delay_seconds is not None]
    told = tuple(str(record[name]) for name in ("why", "agent", "session", "shelf"))
    return (message, *told, f"{max(delays):.2f} s", parts)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
