"""Names are asked for once, and what anybody can write is not remembered without end."""

from adapters.slack.directory import FRESH_SECONDS, MOST_AT_ONCE, REMEMBERED, Card, Directory
from memory.testing import FakeClock


class Cards:
    """What Slack tells of people whose ids begin with `U`; of others it knows nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, id: str) -> Card | None:
        self.asked.append(id)
        return Card(f"name of {id}", is_bot=id == "UBOT") if id.startswith("U") else None


async def test_a_name_is_asked_for_once_until_it_is_old() -> None:
    cards, clock = Cards(), FakeClock()
    directory = Directory(clock, cards)

    for _ in range(2):
        await directory.learn({"U1", "UBOT", "W1"})
    assert (directory.names, directory.bots) == ({"U1": "name of U1", "UBOT": "name of UBOT"}, {"UBOT"})
    assert sorted(cards.asked) == ["U1", "UBOT", "W1"]

    clock.advance(FRESH_SECONDS)
    await directory.learn({"U1"})
    assert cards.asked.count("U1") == 2


async def test_ids_that_somebody_makes_up_do_not_fill_memory() -> None:
    cards = Cards()
    directory = Directory(FakeClock(), cards)
    await directory.learn({"UBOT"})

    for first in range(0, REMEMBERED + 1, MOST_AT_ONCE):
        await directory.learn({f"U{number}" for number in range(first, first + MOST_AT_ONCE)})

    assert len(directory.names) <= REMEMBERED + MOST_AT_ONCE
    assert (directory.names.get("UBOT"), directory.bots) == (None, set())
    await directory.learn({"UBOT"})
    assert directory.names["UBOT"] == "name of UBOT"
