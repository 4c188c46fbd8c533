"""Texts that ship with the product, to measure memory and to calibrate embedders with.

MemoryBank (fifteen people, ten days of chat each, in Chinese and English, with questions) is by Wanjun Zhong and others,
MIT, LICENCE beside it; `memorybank_gold_cn.json` adds the answering exchanges and an English wording of each question.
`prose_zh.txt` is our own.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a person said and what was answered, on a day."""

    query: str
    response: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one person's days, in Chinese and in English; `gold` names the answering exchanges, `date#index`."""

    chinese: str
    english: str
    gold: tuple[str, ...]


def history(language: str) -> dict[str, dict[str, list[Exchange]]]:
    """Return the exchanges of MemoryBank by person and date (YYYY-MM-DD); `language` is `cn` or `en`."""
    people: dict[str, Any] = json.loads(_read(f"memorybank_{language}.json"))
    return {
        name: {
            date: [Exchange(_one_line(said["query"]), _one_line(said["response"])) for said in exchanges]
            for date, exchanges in sorted(person["history"].items())
        }
        for name, person in people.items()
    }


def questions() -> dict[str, list[Question]]:
    """Return the questions of MemoryBank by person."""
    gold: dict[str, Any] = json.loads(_read("memorybank_gold_cn.json"))
    return {name: [Question(q["q"], q["en"], tuple(q["gold"])) for q in asked] for name, asked in gold.items()}


def chinese_prose() -> list[str]:
    """Return sixty unrelated sentences."""
    return _read("prose_zh.txt").split("\n")[:-1]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _read(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
