"""Scripts: which writing system a character and a text are in. Pure; no I/O."""

from collections import Counter
from functools import lru_cache

import regex  # type: ignore[import-untyped]

CJK = "cjk"
OTHER = "other"
DEFAULT = "latin"

ALPHABETIC = (
    *("latin", "cyrillic", "greek", "arabic", "hebrew", "armenian", "georgian", "ethiopic", "mongolian", "tibetan"),
    *("devanagari", "bengali", "gurmukhi", "gujarati", "oriya", "tamil", "telugu", "kannada", "malayalam", "sinhala"),
)
UNSPACED = ("thai", "lao", "khmer", "myanmar")  # written without blanks between words, and not CJK

# Characters of a class, to be put between square brackets; the set operators need the flag V1.
CJK_CLASS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}〆ー\u3099\u309A]&&[\p{L}\p{N}\u3099\u309A]"
UNSPACED_CLASS = "[" + "".join(rf"\p{{{name}}}" for name in UNSPACED) + r"]&&[\p{L}\p{M}]"

_CJK_SHARE = 0.2
_SCRIPT = regex.compile(
    "|".join([f"(?P<{CJK}>[{CJK_CLASS}])"] + [rf"(?P<{name}>\p{{{name}}})" for name in (*ALPHABETIC, *UNSPACED)]),
    regex.V1,
)


@lru_cache(maxsize=16_384)
def script_of(character: str) -> str:
    """Return the script of one character in lower case: `cjk` for any of Chinese, Japanese and Korean, or `other`."""
    match = _SCRIPT.match(character)
    return str(match.lastgroup) if match else OTHER


def language_of(text: str) -> str:
    """Return which group of languages a text belongs to, by the letters that it is written in.

    `cjk` if more than a fifth of its letters are Chinese, Japanese or Korean, which say more a letter than others do; else
    the script that most of the other letters have (`latin`, `cyrillic`, `arabic`, … or `other`); `latin` without letters.
    """
    if text.isascii():
        return DEFAULT
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            letters[script_of(character)] += count
    if letters.pop(CJK, 0) > _CJK_SHARE * sum(map(str.isalpha, text)):
        return CJK
    return max(letters, key=lambda script: (letters[script], script)) if letters else DEFAULT
