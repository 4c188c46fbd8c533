"""Fixtures of the index."""

from pathlib import Path

import pytest

from tests.memory.index.notes import Notes


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """A workspace, and the place of its index."""
    return Notes(tmp_path)
