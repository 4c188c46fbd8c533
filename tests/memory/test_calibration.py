"""What is learnt of an embedder before it is used."""

import math

from memory.calibration import Calibration, calibrate
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
