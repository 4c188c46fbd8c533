"""Folding and stemming: the written forms of one word become one term, by the rules of its script. Pure; no I/O."""

import threading
import unicodedata

import regex  # type: ignore[import-untyped]
import Stemmer  # type: ignore[import-not-found]

_ALGORITHMS = {
    "latin": "porter",
    "cyrillic": "russian",
    "greek": "greek",
    "armenian": "armenian",
    "devanagari": "hindi",
    "tamil": "tamil",
}
_STEMMERS = {script: Stemmer.Stemmer(algorithm, 0) for script, algorithm in _ALGORITHMS.items()}
_stemming = threading.Lock()  # a stemmer has state of its own

_MARKS = regex.compile(r"\p{M}+")
_BARE = frozenset({"latin", "greek", "arabic", "hebrew"})  # scripts whose readers search without any marks
_LATIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_CYRILLIC = str.maketrans({"ё": "е", "ѐ": "е", "ѝ": "и"})
# What keyboards and habits write in two ways: alef wasla, alef maksura, Farsi yeh and kaf, teh marbuta, Urdu heh.
_ARABIC = str.maketrans({"ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ہ": "ه", "ھ": "ه", "ە": "ه"})

_ARABIC_PREFIXES = ("ال", "وال", "بال", "كال", "فال", "لل", "و")
_ARABIC_SUFFIXES = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")


def fold(word: str, script: str) -> str:
    """Return a case-folded word as search compares it: without what people leave out when they type.

    Latin, Greek and Hebrew lose all marks (é → e, ü → u, ά → α, niqqud) and Latin letters with a stroke become plain
    (ø → o, ł → l, æ → ae). Cyrillic loses stress marks, and ё becomes е, but й, ї and ў are letters of their own and
    stay. Arabic loses vowel signs, and the forms of alef, hamza seats, yeh, kaf and heh meet. In every other
    script a mark is part of its letter: Indic vowel signs, Thai tones, Japanese voicing.
    """
    if script in _BARE:
        word = _MARKS.sub("", unicodedata.normalize("NFD", word))
    if script == "latin":
        return word.translate(_LATIN)
    if script == "cyrillic":
        return str(_MARKS.sub("", word.translate(_CYRILLIC)))
    return word.translate(_ARABIC) if script == "arabic" else word


def stem(word: str, script: str) -> str:
    """Return the stem of a folded word, never "": Snowball's for six scripts, light stemming for Arabic, else the word."""
    if script == "arabic":
        return _stem_arabic(word)
    stemmer = _STEMMERS.get(script)
    if stemmer is None:
        return word
    with _stemming:
        return str(stemmer.stemWord(word)) or word


def _stem_arabic(word: str) -> str:
    """Take off an article with its particle, then endings, as light stemming does.

    Snowball's Arabic stemmer leaves و before the article, stems a word with the article otherwise than without, and takes
    the first letter of words in س for a sign of the future.
    """
    for prefix in _ARABIC_PREFIXES:
        if word.startswith(prefix) and len(word) >= len(prefix) + (3 if prefix == "و" else 2):
            word = word[len(prefix) :]
            break
    for suffix in _ARABIC_SUFFIXES:
        if word.endswith(suffix) and len(word) >= len(suffix) + 2:
            word = word[: -len(suffix)]
    return word
