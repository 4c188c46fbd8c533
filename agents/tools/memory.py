"""The tools for memory: memory_search finds passages, memory_get reads lines; both give JSON."""

import json
from collections.abc import Mapping
from typing import Any

from agents.base import Tool
from agents.errors import ToolFailed
from agents.tools.base import ToolContext, as_json, count, share, text, tool
from agents.tools.pages import RESULT_CHARACTERS, read_page
from memory.base import MAX_RESULTS, Answer, Result

NOTHING = "Nothing in memory matches."
NOTHING_FOUND = "Nothing was found, but memory could not be searched as well as usual; other words may find it."
WEAK = "Nothing in memory is near the question; these may have nothing to do with it."

_SCORE_DIGITS = 3


async def _search(context: ToolContext, given: Mapping[str, Any]) -> str:
    if not given["query"].strip():
        raise ToolFailed("There is nothing to search for; give the question, or words that the notes may have.")
    if context.memory is None:
        raise ToolFailed("There is no memory to search here; list and read files instead.")
    limit = min(given.get("maxResults", context.max_results), MAX_RESULTS)
    answer = await context.memory.search(given["query"], context.audience, limit=limit, min_score=given.get("minScore"))
    return _within_a_result(answer)


def _within_a_result(answer: Answer) -> str:
    """Return an answer as JSON, without the last finds where all of them are too long for one result."""
    shown = len(answer.results)
    while len(text := as_json(told(answer, shown))) > RESULT_CHARACTERS and shown:
        shown -= 1
    return text


def told(answer: Answer, shown: int = MAX_RESULTS) -> dict[str, Any]:
    """Return the first finds of an answer, who found them, and what else there is to say, as existing agents know it."""
    finds = [_find(result) for result in answer.results[:shown]]
    said: dict[str, Any] = {"results": finds, "provider": answer.provider, "model": answer.model}
    notes = []
    if answer.degraded is not None:
        said["degraded"] = answer.degraded
    if not answer.results:
        notes.append(NOTHING if answer.degraded is None else NOTHING_FOUND)
    elif answer.weak:
        said["weak"] = True
        notes.append(WEAK)
    if shown < len(answer.results):
        notes.append(f"{len(answer.results) - shown} more did not fit here; ask more precisely.")
    return {**said, "note": " ".join(notes)} if notes else said


def _find(result: Result) -> dict[str, Any]:
    find = {
        "path": result.path,
        "startLine": result.start_line,
        "endLine": result.end_line,
        "score": round(result.score, _SCORE_DIGITS),
        "snippet": result.snippet,
        "source": result.source,
    }
    return {**find, "parts": dict(result.parts)} if result.parts else find


async def _get(context: ToolContext, given: Mapping[str, Any]) -> str:
    path = given["path"]
    page = await read_page(context, path, first=given.get("from", 1), lines=given.get("lines"), size=_size_in_json)
    lines = {"path": path, "text": page.text}
    return as_json({**lines, "note": page.note} if page.note else lines)


def _size_in_json(line: str) -> int:
    """Return how many characters a line takes in JSON, its end included."""
    return len(json.dumps(line, ensure_ascii=False))


MEMORY_TOOLS: dict[str, Tool] = {
    "memory_search": tool(
        "memory_search",
        "Search your notes by meaning and by words, in any language. Do it before you answer about past work, decisions, "
        "dates, people, preferences or tasks.",
        {"query": text(), "maxResults": count(), "minScore": share()},
        _search,
        required=["query"],
    ),
    "memory_get": tool(
        "memory_get",
        "Read lines of a file that memory_search found.",
        {"path": text(), "from": count("First line"), "lines": count("How many")},
        _get,
        required=["path"],
    ),
}
