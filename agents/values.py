"""What must not be lost in other words: names, numbers, dates, addresses, paths, codes, and when two are the same. Pure."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex  # type: ignore[import-untyped]

from memory.analyser import terms
from memory.date_words import WORDS, plain
from memory.stopwords import stop_words

Kind = Literal["name", "number", "date", "time", "address", "phone", "path", "code", "task", "promise"]

MONTHS = {word: found[0][1][0] for word, found in WORDS.items() if found[0][0] in "MEma" and len(found) == 1}
WEEKDAYS = {word: found[0][1][0] for word, found in WORDS.items() if found[0][0] == "w"}

_GROUPS = regex.compile(r"(?<![\d.,])(\d{1,3})((?:([.,'’\u00a0\u202f])\d{3})(?:\3\d{3})*)(?!\d|\3\d)")
_GROUP_SIGNS = regex.compile(r"[.,'’\u00a0\u202f]")
_SIGNS = regex.compile(r"[^\w\s'’]+")
_LETTER = r"[^\W\d_\u0900-\u0DFF]|[\u0900-\u0DFF]"  # Indic vowel signs are part of their words
_WORDS = re.compile(rf"(?:{_LETTER})+(?:['-](?:{_LETTER})+)*")
_SAID = {"%": "percent", "$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr", "°": "degree"}
_SIGN_SAID = str.maketrans({sign: f" {word} " for sign, word in _SAID.items()})


@dataclass(frozen=True, slots=True)
class Value:
    """What stands at `start` to `end` of a sentence. Two are the same when they have the same first key.

    A text in which any of the keys occurs has it. `sure` is False for the first word of a sentence, which has its capital
    anyway, and for a German noun.
    """

    kind: Kind
    text: str
    start: int
    end: int
    keys: tuple[str, ...]
    sure: bool = True


Read = Callable[[str, Collection[str]], Iterator[Value]]
"""Finds values in a sentence; gets the words that are written small elsewhere, too."""


@lru_cache(maxsize=32_768)
def normal(text: str) -> str:
    """Return the terms of a text with a blank between: texts that differ in case, accents and signs give the same.

    Thousands are written together: 1,000 is 1000. Signs of currencies and percent are words.
    """
    joined = _GROUPS.sub(lambda match: match[1] + _GROUP_SIGNS.sub("", match[2]), text)
    return " ".join(terms(_SIGNS.sub(" ", joined.translate(_SIGN_SAID))))


@lru_cache(maxsize=8_192)
def says_nothing(word: str) -> bool:
    """Tell whether a word, in lower case, is one of the commonest of its language."""
    return bool(stop_words("", (plain(word).replace("'", ""),)))


@lru_cache(maxsize=4)  # several readers ask for those of the same sentence
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, folded as `memory.date_words.plain` does."""
    return tuple(_WORDS.findall(plain(text)))
