"""What is learnt of an embedder before it is used."""

import math
from pathlib import Path

import pytest

from memory.calibration import Calibration, calibrate, measured
from memory.embedders.local import local_embedder
from memory.testing import WordEmbedder


async def test_most_unrelated_texts_lie_below_the_floor_and_more_below_the_bar() -> None:
    calibration = await calibrate(WordEmbedder())

    for language in ("latin", "cjk"):
        assert 0 < calibration.floor(language) < calibration.bar(language) < 1
    assert calibration.dimension == 64


async def test_a_calibration_is_stored_and_read_without_loss() -> None:
    calibration = await calibrate(WordEmbedder())

    again = Calibration.from_json(calibration.to_json())

    assert (again.floors, again.bars) == (calibration.floors, calibration.bars)
    assert all((again.mean(language) == calibration.mean(language)).all() for language in ("latin", "cjk"))


async def test_a_language_without_texts_of_its_own_is_judged_most_strictly() -> None:
    calibration = await calibrate(WordEmbedder())

    assert calibration.floor("cyrillic") == max(calibration.floors.values())
    assert (calibration.mean("cyrillic") == calibration.mean("latin")).all()
    assert all(math.isfinite(number) for number in calibration.mean("cyrillic"))


async def test_what_ships_for_the_built_in_embedder_is_what_is_measured(tmp_path: Path) -> None:
    embedder = local_embedder(tmp_path)
    shipped, now = await calibrate(embedder), await measured(embedder)
    await embedder.close()

    for language in ("latin", "cjk"):
        assert shipped.floor(language) == pytest.approx(now.floor(language), abs=0.01)
        assert shipped.bar(language) == pytest.approx(now.bar(language), abs=0.01)
        assert abs(shipped.mean(language) - now.mean(language)).max() < 0.005
