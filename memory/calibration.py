"""Calibration: what the numbers of an embedder mean, found with texts that ship with the product.

Raw cosines of unrelated texts are high for many models (0.71–0.86 for e5), so they say nothing by themselves. What says
something is a cosine after the mean of the language was taken away, beside the cosines of texts that are known to be
unrelated.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from memory.embedders.base import Embedder

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
        import numpy as np

        stored = json.loads(text)
        means = {language: np.frombuffer(base64.b64decode(m), np.float32) for language, m in stored["means"].items()}
        return cls(means, stored["floors"], stored["bars"])


async def calibrate(embedder: Embedder) -> Calibration:
    """Return what is known of an embedder: for the built-in one it ships, others are measured; raises `EmbedderError`."""
    shipped = json.loads((files("memory.evaluation") / SHIPPED).read_text(encoding="utf-8"))
    if embedder.identity in shipped:
        return Calibration.from_json(json.dumps(shipped[embedder.identity]))
    return await measured(embedder)


async def measured(embedder: Embedder) -> Calibration:
    """Embed about 440 short texts and return what they say of the embedder; raises `EmbedderError`."""
    import numpy as np

    from memory.evaluation import chinese_prose, history, questions

    said = [exchange for days in history("en").values() for day in days.values() for exchange in day][::_STEP]
    passages = {"latin": [text for e in said for text in (e.query, e.response)], "cjk": chinese_prose()}
    asked = [question for of_person in questions().values() for question in of_person]
    vectors = {language: await embedder.embed(texts, kind="passage") for language, texts in passages.items()}
    means = {language: rows.mean(axis=0).astype(np.float32) for language, rows in vectors.items()}
    queries = np.concatenate(
        [
            _centred(await embedder.embed([q.english for q in asked], kind="query"), means["latin"]),
            _centred(await embedder.embed([q.chinese for q in asked], kind="query"), means["cjk"]),
        ]
    )
    cosines = {language: _centred(rows, means[language]) @ queries.T for language, rows in vectors.items()}
    return Calibration(
        means,
        floors={language: float(np.quantile(c, _FLOOR_QUANTILE)) for language, c in cosines.items()},
        bars={language: float(np.quantile(c, _BAR_QUANTILE)) for language, c in cosines.items()},
    )


def _centred(rows: "Vectors", mean: "Vectors") -> "Vectors":
    import numpy as np

    moved = rows - mean
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    centred: Vectors = moved / np.maximum(lengths, 1e-12)
    return centred
