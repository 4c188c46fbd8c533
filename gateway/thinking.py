"""How long a model thinks before it answers: the levels that people choose from, in tokens."""

from collections.abc import Mapping

THINKING: Mapping[str, int | None] = {"off": None, "low": 2_048, "medium": 8_192, "high": 16_384}
