"""Checks of what belongs to the agents: names, the default, workspaces, and numbers that must fit each other."""

import os
from collections.abc import Iterator
from pathlib import Path

from gateway.config.case import Case, Check, name_findings
from gateway.config.models import AgentConfig
from gateway.config.words import Finding
from gateway.settings_file import KeyPath


def _agents(case: Case) -> Iterator[Finding]:
    agents = case.config.agents
    if not agents:
        yield Finding(("agents",), 'missing; name at least one agent, for example "agents: {main: {}}"')
    for name in agents:
        yield from name_findings(name, ("agents", name), "an agent's id")
    marked = [name for name, agent in agents.items() if agent.default]
    if len(agents) > 1 and not marked:
        marks: tuple[KeyPath, ...] = tuple(("agents", name, "default") for name in agents)
        yield Finding(("agents",), 'none of them is the default; mark one with "default: true"', also=marks)
    for name in marked[1:]:
        sentence = f"agents.{marked[0]} is the default already; mark only one"
        yield Finding(("agents", name, "default"), sentence)


def _workspaces(case: Case) -> Iterator[Finding]:
    real = {name: Path(os.path.realpath(agent.workspace)) for name, agent in case.config.agents.items()}
    home = Path(os.path.realpath(case.config.effective_home))
    names = list(real)
    for index, name in enumerate(names):
        path, here = ("agents", name, "workspace"), real[name]
        if home.is_relative_to(here) or here.is_relative_to(home / "state"):
            sentence = "an agent must not reach the gateway's own files; choose a folder that does not hold them"
            yield Finding(path, sentence, also=(("home",),))
        for other in names[:index]:
            if how := _overlap(here, real[other]):
                sentence = f"this is {how} agents.{other}.workspace; every agent needs a folder of its own"
                yield Finding(path, sentence, also=(("agents", other, "workspace"),))


def _overlap(here: Path, there: Path) -> str | None:
    """Say how one folder lies to another, or None when they do not meet."""
    if here == there:
        return "the same folder as"
    if here.is_relative_to(there):
        return "inside"
    return "around" if there.is_relative_to(here) else None


def _windows(case: Case) -> Iterator[Finding]:
    for name, agent in case.config.agents.items():
        yield from _window(case, name, agent)


def _window(case: Case, name: str, agent: AgentConfig) -> Iterator[Finding]:
    compaction, flush = case.config.compaction, case.config.compaction.flush
    window, reserve, recent = agent.model.context_window, compaction.reserve_tokens, compaction.keep_recent_tokens
    at: KeyPath = ("agents", name, "model", "context_window")
    limits: tuple[KeyPath, ...] = (
        at,
        ("compaction", "reserve_tokens"),
        ("compaction", "keep_recent_tokens"),
        ("compaction", "flush", "soft_threshold_tokens"),
    )
    if reserve >= window:
        sentence = f'must be smaller than the context_window of agent "{name}": {reserve} is not less than {window}'
        yield _finding(case, limits[1], limits, f"reserve_tokens {sentence}")
    elif recent >= window - reserve:
        left = f"{window} - {reserve} = {window - reserve}"
        sentence = f'must be smaller than context_window - reserve_tokens of agent "{name}": {recent} is not less than'
        yield _finding(case, limits[2], limits, f"keep_recent_tokens {sentence} {left}")
    elif flush.enabled and flush.soft_threshold_tokens >= window - reserve - recent:
        left = f"{window} - {reserve} - {recent} = {window - reserve - recent}"
        sentence = f'must be smaller than what agent "{name}" has between keep_recent_tokens and reserve_tokens'
        found = f"{flush.soft_threshold_tokens} is not less than {left}"
        yield _finding(case, limits[3], limits, f"soft_threshold_tokens {sentence}: {found}")
    if agent.model.max_tokens >= window:
        tokens = agent.model.max_tokens
        sentence = f"must be smaller than context_window: {tokens} is not less than {window}"
        yield _finding(case, ("agents", name, "model", "max_tokens"), (at,), f"max_tokens {sentence}")
    elif reserve < agent.model.max_tokens and recent >= window - agent.model.max_tokens:
        sentence = (
            "leaves no room beside an answer: keep_recent_tokens must be smaller than context_window - max_tokens"
        )
        left = f"{recent} is not less than {window} - {agent.model.max_tokens} = {window - agent.model.max_tokens}"
        also: tuple[KeyPath, ...] = (at, ("compaction", "keep_recent_tokens"))
        yield _finding(case, ("agents", name, "model", "max_tokens"), also, f"{sentence}: {left}")


def _finding(case: Case, path: KeyPath, also: tuple[KeyPath, ...], sentence: str) -> Finding:
    """Place the finding at `path` when the file gives it, else at the first of `also`, which then it must be."""
    return Finding(path if case.source.has(path) else also[0], sentence, also=(path, *also))


def _memory(case: Case) -> Iterator[Finding]:
    memory, trim = case.config.memory, case.config.pruning.soft_trim
    if memory.overlap_tokens >= memory.chunk_tokens / 2:
        half = f"{memory.chunk_tokens} / 2"
        sentence = (
            f"overlap_tokens must be less than half of chunk_tokens: {memory.overlap_tokens} is not less than {half}"
        )
        yield _finding(case, ("memory", "overlap_tokens"), (("memory", "chunk_tokens"),), sentence)
    if not (memory.search.vector_weight or memory.search.text_weight):
        weights: tuple[KeyPath, ...] = tuple(("memory", "search", name) for name in ("vector_weight", "text_weight"))
        yield Finding(weights[0], "vector_weight and text_weight must not both be 0", also=weights)
    if trim.head_chars + trim.tail_chars > trim.max_chars:
        at: KeyPath = ("pruning", "soft_trim")
        parts: tuple[KeyPath, ...] = tuple((*at, name) for name in ("max_chars", "head_chars", "tail_chars"))
        numbers = f"{trim.head_chars} + {trim.tail_chars} is more than {trim.max_chars}"
        yield Finding(at, f"head_chars and tail_chars must fit in max_chars: {numbers}", also=parts)
    if memory.embedder.provider == "http":
        for name in ("base_url", "model"):
            if getattr(memory.embedder, name) is None:
                path = ("memory", "embedder", name)
                yield Finding(path, "missing; the http embedder needs base_url and model", also=(path[:2],))


def _media(case: Case) -> Iterator[Finding]:
    transcriber = case.config.media.transcriber
    path: KeyPath = ("media", "transcriber")
    if transcriber.base_url is not None and transcriber.model is None:
        yield Finding((*path, "model"), "missing; a transcriber needs base_url and model", also=(path,))
    elif transcriber.base_url is None and (transcriber.model or transcriber.api_key):
        yield Finding((*path, "base_url"), "missing; a transcriber needs base_url and model", also=(path,))


def _prices(case: Case) -> Iterator[Finding]:
    for name, agent in case.config.agents.items():
        prices = {"input_price": agent.model.input_price, "output_price": agent.model.output_price}
        missing = [field for field, price in prices.items() if price is None]
        if len(missing) == 1:
            at: KeyPath = ("agents", name, "model")
            given = next(field for field in prices if field not in missing)
            yield Finding(
                (*at, given), f"{missing[0]} is missing beside it; give both or none", also=((*at, missing[0]),)
            )


def _zone(case: Case) -> Iterator[Finding]:
    zone = case.config.timezone
    if zone is not None and not case.zone_exists(zone):
        sentence = f'unknown time zone {case.shown(("timezone",))}; use a name such as "Europe/Berlin"'
        yield Finding(("timezone",), sentence)


CHECKS: tuple[Check, ...] = (_agents, _workspaces, _windows, _prices, _memory, _media, _zone)
