"""What tokens cost: list prices by family of model, in US dollars for a million tokens. Pure.

Source: the provider's public price list of November 2025 (Opus 4.5, Sonnet 4.5, Haiku 4.5); cached input costs 1.25 times
the input price to write and a tenth of it to read. Newer models may cost something else; the configuration can say it.
"""

from dataclasses import dataclass

from agents.base import Usage

CACHE_WRITE, CACHE_READ = 1.25, 0.1

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens read and written."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        """Return what calls with this usage cost, in US dollars."""
        read = usage.input_tokens + CACHE_WRITE * usage.cache_write_tokens + CACHE_READ * usage.cache_read_tokens
        return (read * self.input + usage.output_tokens * self.output) / _MILLION


_FAMILIES = {"opus": Price(5, 25), "sonnet": Price(3, 15), "haiku": Price(1, 5)}


def list_price(model: str) -> Price | None:
    """Return the list price of a model by its name, or None for one of no known family."""
    return next((price for family, price in _FAMILIES.items() if family in model.lower()), None)
