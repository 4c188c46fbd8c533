"""Mentions: the lines of a text that speak of something, whole, so that they can be taken out. Pure; no I/O."""

from dataclasses import dataclass

from memory.analyser import content_words, terms


@dataclass(frozen=True, slots=True)
class Mention:
    """One line: its number, counted from 1, where it begins and ends in the text (without its line end), and itself."""

    line: int
    start: int
    end: int
    text: str


class Mentions:
    """Finds the lines that hold every content word of `words`, in whatever form, case and order."""

    def __init__(self, words: str) -> None:
        self._terms = frozenset(content_words(words) or terms(words))

    @property
    def is_empty(self) -> bool:
        """True when there is no word to look for: then nothing is found."""
        return not self._terms

    def __call__(self, text: str) -> list[Mention]:
        """Return the lines of `text` that hold all words, in order."""
        if self.is_empty or not self._terms.issubset(terms(text)):
            return []
        found: list[Mention] = []
        start = 0
        for number, line in enumerate(text.split("\n"), 1):
            bare = line.removesuffix("\r")
            if self._terms.issubset(terms(bare)):
                found.append(Mention(number, start, start + len(bare), bare))
            start += len(line) + 1
        return found
