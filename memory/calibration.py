"""Calibration: what the numbers of an embedder mean, found with texts that ship with the product.

Raw cosines of unrelated texts are high for many models (0.71–0.86 for e5), so they say nothing by themselves. What says
something is a cosine after the mean of the language was taken away, beside the cosines of texts that are known to be
unrelated.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from memory.embedders.base import Embedder, Kind
from memory.embedders.batches import BatchSize, embed_each
from memory.errors import TextRefused

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

SHIPPED = "calibrations.json"  # beside the texts, by identity; `python -m bench.calibration` writes it
PRIOR_WEIGHT = 100.0  # passages that a prior mean counts for

_FLOOR_QUANTILE = 0.95
_BAR_QUANTILE = 0.98
_STEP = 6  # every sixth exchange of the English half gives two hundred passages


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known of an embedder before it has seen a single note.

    `means` has the mean vector of a language (`latin`, `cjk`; not of unit length). Of centred cosines between a question
    and unrelated passages of a language, 95 % lie below `floors[language]` and 98 % below `bars[language]`.
    """

    means: "Mapping[str, Vectors]"
    floors: Mapping[str, float]
    bars: Mapping[str, float]

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.means["latin"].shape[0])

    def mean(self, language: str) -> "Vectors":
        """Return the mean of a language; of one without a mean of its own, that of `latin`."""
        return self.means.get(language, self.means["latin"])

    def floor(self, language: str) -> float:
        """Return the cosine that one passage in twenty reaches by chance; of an unknown language, the strictest known."""
        return self.floors.get(language, max(self.floors.values()))

    def bar(self, language: str) -> float:
        """Return the cosine that one passage in fifty reaches by chance; of an unknown language, the strictest known."""
        return self.bars.get(language, max(self.bars.values()))

    def to_json(self) -> str:
        """Return the calibration as text, exact."""
        means = {language: base64.b64encode(mean.tobytes()).decode() for language, mean in self.means.items()}
        return json.dumps({"means": means, "floors": dict(self.floors), "bars": dict(self.bars)})

    @classmethod
    def from_json(cls, text: str) -> "Calibration":
        """Return the calibration that `to_json` gave; ValueError or KeyError for anything else."""
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Calibration":
        """Return the calibration that decoded JSON holds; ValueError or KeyError for anything else."""
        import numpy as np

        means = {language: np.frombuffer(base64.b64decode(m), np.float32) for language, m in stored["means"].items()}
        return cls(means, stored["floors"], stored["bars"])


async def calibrate(embedder: Embedder, size: BatchSize | None = None) -> Calibration:
    """Return what is known of an embedder: for the built-in one it ships, others are measured, by batches of at most
    `size`; raises `EmbedderError`."""
    shipped = json.loads((files("memory.evaluation") / SHIPPED).read_text(encoding="utf-8"))
    if embedder.identity in shipped:
        return Calibration.of(shipped[embedder.identity])
    return await measured(embedder, size)


async def measured(embedder: Embedder, size: BatchSize | None = None) -> Calibration:
    """Embed about 440 short texts and return what they say of the embedder; raises `EmbedderError`."""
    import numpy as np

    from memory.evaluation import chinese_prose, history, questions

    said = [exchange for days in history("en").values() for day in days.values() for exchange in day][::_STEP]
    passages = {"latin": [text for e in said for text in (e.query, e.response)], "cjk": chinese_prose()}
    asked = [question for of_person in questions().values() for question in of_person]
    vectors = {language: await _embedded(embedder, texts, "passage", size) for language, texts in passages.items()}
    means = {language: rows.mean(axis=0).astype(np.float32) for language, rows in vectors.items()}
    queries = np.concatenate(
        [
            units(await _embedded(embedder, [q.english for q in asked], "query", size) - means["latin"]),
            units(await _embedded(embedder, [q.chinese for q in asked], "query", size) - means["cjk"]),
        ]
    )
    cosines = {language: units(rows - means[language]) @ queries.T for language, rows in vectors.items()}
    return Calibration(
        means,
        floors={language: float(np.quantile(c, _FLOOR_QUANTILE)) for language, c in cosines.items()},
        bars={language: float(np.quantile(c, _BAR_QUANTILE)) for language, c in cosines.items()},
    )


async def _embedded(embedder: Embedder, texts: Sequence[str], kind: Kind, size: BatchSize | None) -> "Vectors":
    """Embed a little at a time, so that questions pass in between, and a cap on items is met."""
    import numpy as np

    found = await embed_each(embedder, texts, kind=kind, size=size)
    for each in found:
        if isinstance(each, TextRefused):
            raise each
    return np.array(found, dtype=np.float32)


def units(rows: "Vectors") -> "Vectors":
    """Return rows scaled to unit length; a row of zeros stays."""
    import numpy as np

    scaled: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled
