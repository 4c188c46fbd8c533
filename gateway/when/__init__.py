"""When something shall happen: what people and models write, as instants and rules, and back into words."""

from gateway.when.errors import NotATime
from gateway.when.reading import When, parse_at, parse_when
from gateway.when.recurrence import Recurrence, describe

__all__ = ["NotATime", "Recurrence", "When", "describe", "parse_at", "parse_when"]
