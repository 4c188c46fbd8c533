"""The tokeniser of the packed model: its own normalisation, then sentencepiece on its own pieces."""

from typing import TYPE_CHECKING, Any

from memory.paths import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.embedders.e5.pack import Bytes, Shape, Vocabulary

_LONGEST_PIECE = 16  # characters; what follows that many for each token cannot be among the tokens
_RAW_PER_NORMAL = 4  # characters read for each that is kept: some are dropped, and blanks in a row become one


class Tokenizer:
    """Turns a text into at most as many token ids as the model has positions, in time that the text's length cannot raise.

    Not for several threads at once.
    """

    def __init__(self, vocabulary: "Vocabulary", normalisation: dict[int, str], shape: "Shape") -> None:
        from sentencepiece import SentencePieceProcessor

        self._normalisation = normalisation
        self._shape = shape
        self._longest = _LONGEST_PIECE * shape.positions
        self._pieces = SentencePieceProcessor()
        self._pieces.LoadFromSerializedProto(_model(vocabulary, shape))

    def ids(self, text: str) -> list[int]:
        """Return the ids of `text` with those of its begin and end; a text of nothing has only these two."""
        raw = well_formed(text.lstrip()[: self._longest * _RAW_PER_NORMAL])
        normal = " ".join(raw.translate(self._normalisation).split())[: self._longest]
        ids: list[int] = self._pieces.encode(normal, out_type=int)
        return [self._shape.bos, *ids[: self._shape.positions - 2], self._shape.eos]


def _model(vocabulary: "Vocabulary", shape: "Shape") -> bytes:
    """Assemble sentencepiece's model of the vocabulary, which normalises nothing but blanks.

    The special tokens are the first four and the last; they are marked as such, so that no text can contain them.
    Messages of this format are joined by writing them one after the other.
    """
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2  # generated when it is loaded: a type checker sees nothing in it
    kinds = proto.ModelProto.SentencePiece
    first, last = proto.ModelProto(), proto.ModelProto()
    for number, name in enumerate(("<s>", "<pad>", "</s>", "<unk>")):
        first.pieces.add(piece=name, score=0, type=kinds.UNKNOWN if number == shape.unknown else kinds.CONTROL)
    last.pieces.add(piece="<mask>", score=0, type=kinds.CONTROL)
    last.trainer_spec.model_type = proto.TrainerSpec.UNIGRAM
    last.trainer_spec.unk_id, last.trainer_spec.pad_id = shape.unknown, shape.pad
    last.trainer_spec.bos_id, last.trainer_spec.eos_id = shape.bos, shape.eos
    last.normalizer_spec.name = "identity"
    last.normalizer_spec.add_dummy_prefix = True
    last.normalizer_spec.remove_extra_whitespaces = True
    last.normalizer_spec.escape_whitespaces = True
    head = int(vocabulary.lengths[: len(first.pieces)].sum())
    tail = int(vocabulary.lengths[-1])
    ordinary = _pieces(
        vocabulary.text[head : len(vocabulary.text) - tail],
        vocabulary.lengths[len(first.pieces) : -1],
        vocabulary.scores[len(first.pieces) : -1].view("u1").reshape(-1, 4),
    )
    return b"".join((first.SerializeToString(), ordinary, last.SerializeToString()))


def _pieces(text: "Bytes", lengths: "NDArray[np.uint32]", scores: "Bytes") -> bytes:
    """Return the wire form of a quarter of a million pieces: at once, because one by one takes most of a second.

    A piece is a field 1 (`0A`, length) that holds a field 1 (`0A`, length, its UTF-8) and a field 2 (`15`, its score).
    Every length is below 128, and so one byte.
    """
    import numpy as np

    if lengths.max() + 7 > 127:
        raise ValueError("a piece of the vocabulary is longer than any should be")
    starts = np.concatenate([[0], np.cumsum(lengths + 9)[:-1]]).astype(np.int64)
    wire = np.zeros(int(lengths.sum()) + 9 * len(lengths), np.uint8)
    of_text = np.ones(len(wire), bool)
    scored = starts + 4 + lengths
    for at, value in ((starts, 0x0A), (starts + 1, lengths + 7), (starts + 2, 0x0A), (starts + 3, lengths)):
        wire[at], of_text[at] = value, False
    wire[scored], of_text[scored] = 0x15, False
    for byte in range(4):
        wire[scored + 1 + byte], of_text[scored + 1 + byte] = scores[:, byte], False
    wire[of_text] = text
    return wire.tobytes()
