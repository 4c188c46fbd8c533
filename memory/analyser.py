"""The analyser: a text becomes the terms that the index holds and a query asks for, the same way for both. Pure; no I/O.

A term is a word's folded stem, a character or a pair of neighbours of a script without blanks, a number, an emoji. Its
ASCII characters are a–z and 0–9, the others are letters, marks, digits and symbols, and it has at most `TERM_CHARACTERS`:
FTS5 with the tokenizer `ascii` takes terms with blanks between them exactly as they are.
"""

import itertools
import operator
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import regex  # type: ignore[import-untyped]

from memory.scripts import ALPHABETIC, CJK, CJK_CLASS, OTHER, UNSPACED_CLASS, language_of
from memory.stems import fold, stem
from memory.stopwords import stop_words

__all__ = ["QUERY_TERMS", "TERM_CHARACTERS", "content_words", "language_of", "match_expression", "query_terms", "terms"]

TERM_CHARACTERS = 64
QUERY_TERMS = 128  # FTS5 reads an expression in time that grows with the square of its terms

_Pair = tuple[str, str]  # a word or sign as it is folded, and its term

_MARKS_KEPT = 16
_PIECES_KEPT = 3

# What is seen by nobody, and the Arabic tatweel, which only stretches. A zero-width space stays: it parts words.
_INVISIBLE = regex.compile(r"[[\p{Default_Ignorable_Code_Point}--\u200B]\u0640]+", regex.V1)
# Marks are put into order by a sort that is quadratic in the length of their run.
_MARKS = regex.compile(rf"([\p{{M}}\uFF9E\uFF9F]{{{_MARKS_KEPT}}})[\p{{M}}\uFF9E\uFF9F]+")
# ´ has to go before NFKC makes a blank of it. Hebrew abbreviations have a quotation mark before their last letter.
_APOSTROPHES = regex.compile(r"""[’‘ʼ´‛′՚׳]|(?<=\p{Hebrew})["״](?=\p{Hebrew})""")

_LETTER = rf"[\p{{Nd}}[[\p{{L}}\p{{M}}\p{{N}}]--[{CJK_CLASS}]--[{UNSPACED_CLASS}]]]"
_JOINER = r"(?:[-‐_./:@&'·]|(?<=\p{Nd}),(?=\p{Nd}))"
_RUNS = regex.compile(
    rf"(?P<word>{_LETTER}{{1,64}}(?:{_JOINER}{_LETTER}{{1,64}}){{0,7}}(?:\+\+|\#(?!{_LETTER}))?)"
    rf"|(?P<cjk>[{CJK_CLASS}]+)"
    rf"|(?P<unspaced>[{UNSPACED_CLASS}]+)"
    # A flag is two letters; a line drawn of box characters and a replacement character are no symbols.
    r"|(?P<symbol>[\U0001F1E6-\U0001F1FF]{2}|[[\p{So}\p{Sm}\p{Sc}]&&[\u20A0-\U0010FFFF]--[\u2500-\u259F\uFFFC\uFFFD]])",
    regex.V1,
)
_UNITS = regex.compile(rf"\p{{L}}\p{{M}}{{0,{_MARKS_KEPT - 1}}}")
_JOINERS = regex.compile(r"[-‐_./:@&·,]")
_ALPHABETIC = "".join(rf"\p{{{name}}}" for name in ALPHABETIC)
_PIECES = regex.compile(
    r"(?P<digits>(?:\p{Nd}\p{M}*)+)|"
    + "|".join(rf"(?P<{name}>(?:\p{{{name}}}\p{{M}}*)+)" for name in ALPHABETIC)
    + rf"|(?P<{OTHER}>(?:[[\p{{L}}\p{{N}}]--\p{{Nd}}--[{_ALPHABETIC}]]\p{{M}}*)+)",
    regex.V1,
)
# English endings that are words of their own, and French, Italian and Catalan words that lose their vowel before another.
_CLITICS = regex.compile(r"(?:'(?:s|ll|d|m|re|ve))+$")
_ELIDED = regex.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|un|all|dell|dall|nell|sull)'")


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, repeated as in the text.

    Case and accents do not matter. Scripts without blanks give each character and each pair of neighbours. What is
    written together of several parts gives its parts and the whole without signs: `TICKET-4821` gives ticket, 4821 and
    ticket4821, `wi-fi` also wifi, `node7` also node and 7. `don't` is dont, `Ann's` ann, `l'été` ete, `C++` c and
    cplusplus, `C#` c and csharp. An emoji is a term, without skin colour; punctuation gives none.
    """
    found: list[str] = []
    for token in _normal(text).split():
        found += _short_token(token) if len(token) <= TERM_CHARACTERS else _token(token)
    return found


def query_terms(text: str) -> list[str]:
    """Return the different terms of a question in order, without its stop words if anything else remains.

    At most `QUERY_TERMS`, the first ones.
    """
    pairs = list(_pairs(_normal(text)))
    stops = stop_words(text, (word for word, _ in pairs))
    asked = dict.fromkeys(term for word, term in pairs if word not in stops) or dict.fromkeys(term for _, term in pairs)
    return list(itertools.islice(asked, QUERY_TERMS))


def content_words(text: str) -> list[str]:
    """Return those of `query_terms` that are words: not the single characters of longer runs (of Chinese, of `v1.2.3`),
    which most notes have, if anything else remains. To find one of these in a note is to find what was asked for."""
    asked = query_terms(text)
    words = {term for _, term in _pairs(_normal(text), parts=False)}
    return [term for term in asked if term in words] or asked


def match_expression(found: Iterable[str]) -> str:
    """Return the FTS5 expression that finds any of the terms, each quoted; "" for none, which FTS5 would refuse."""
    return " OR ".join(f'"{term}"' for term in found)


def _pairs(normal: str, *, parts: bool = True) -> Iterator[_Pair]:
    """Yield what the runs of a normal text give; without `parts`, single characters of longer runs are left out."""
    for run in _RUNS.finditer(normal):
        kind = run.lastgroup
        if kind == "word":
            pairs = _words(run[0])
            yield from (pair for pair in pairs if parts or len(pairs) == 1 or len(pair[0]) > 1)
        elif kind == "symbol":
            yield run[0], run[0]
        else:
            signs = _signs(run[0] if kind == CJK else _UNITS.findall(run[0]))
            yield from ((sign, sign) for sign in (signs if parts or len(signs) == 1 else signs[1::2]))


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = _MARKS.sub(r"\1", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFKC", _APOSTROPHES.sub("'", text)).casefold()


@lru_cache(maxsize=16_384)
def _short_token(token: str) -> tuple[str, ...]:
    return tuple(_token(token))


def _token(token: str) -> list[str]:
    found: list[str] = []
    for run in _RUNS.finditer(token):
        kind = run.lastgroup
        if kind == "word":
            found += [term for _, term in _words(run[0])]
        elif kind == "symbol":
            found.append(run[0])
        else:
            found += _signs(run[0] if kind == CJK else _UNITS.findall(run[0]))
    return found


def _signs(units: Sequence[str]) -> list[str]:
    """Return units and pairs of neighbours by turns: a, ab, b, bc, c."""
    signs = [""] * max(0, 2 * len(units) - 1)
    signs[::2] = units
    signs[1::2] = map(operator.add, units, units[1:])
    return signs


@lru_cache(maxsize=16_384)
def _words(run: str) -> tuple[_Pair, ...]:
    """Return the parts of a run of letters, digits and joiners, and what they are when written together."""
    segments = [_pieces(segment) for segment in _JOINERS.split(run)]
    found: list[_Pair] = []
    for pieces in segments:
        if len(pieces) <= _PIECES_KEPT:  # more of them are a key or a sum, whose pieces mean nothing
            found += (_pair(word, script) for word, script in pieces)
        if len(pieces) > 1:
            found.append(_whole(pieces))
    if len(segments) > 1:
        found.append(_whole([piece for pieces in segments for piece in pieces]))
    if run.endswith(("++", "#")) and segments[-1]:
        word = segments[-1][-1][0]
        sign = "plusplus" if run.endswith("++") else "sharp" if len(word) == 1 else ""
        found += [(word + sign, word + sign)] if sign else []
    return tuple((word, term[:TERM_CHARACTERS]) for word, term in found if term)


def _pieces(segment: str) -> list[_Pair]:
    """Return the pieces of one script each, folded, with the name of the script; digits become ASCII digits."""
    if "'" in segment:
        segment = _ELIDED.sub("", _CLITICS.sub("", segment)).replace("'", "")
    if segment.isascii() and segment.isalpha():
        return [(segment, "latin")]
    pieces = []
    for piece in _PIECES.finditer(segment):
        script = piece.lastgroup
        if script == "digits":
            pieces.append(("".join(str(unicodedata.decimal(c)) for c in piece[0] if c.isdecimal()), script))
        elif word := fold(piece[0], script):
            pieces.append((word, script))
    return pieces


def _whole(pieces: Sequence[_Pair]) -> _Pair:
    whole = "".join(word for word, _ in pieces)
    if len(whole) > TERM_CHARACTERS:
        return whole, ""
    scripts = {script for _, script in pieces}
    return _pair(whole, scripts.pop() if len(scripts) == 1 else OTHER)


def _pair(word: str, script: str) -> _Pair:
    return word, stem(word, script)
