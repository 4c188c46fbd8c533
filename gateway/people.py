"""Who people are to us: the configured owner and people, and those approved by a code."""

from collections.abc import Iterable, Mapping, Sequence

from gateway.access import Standing
from gateway.store.values import KnownPerson

_AT_THE_MACHINE = ("terminal", "owner")


class People:
    """Answers what standing a sender has, and under which name a person's shelf is kept. Ids decide, names never.

    What the configuration says about somebody stands, whatever was approved by a code.
    """

    def __init__(
        self,
        *,
        owner: Mapping[str, Sequence[str]],
        linked: Mapping[str, Mapping[str, Sequence[str]]],
        approved: Iterable[KnownPerson],
    ) -> None:
        self._approved: dict[tuple[str, str], Standing] = {}
        self._configured: dict[tuple[str, str], Standing] = {_AT_THE_MACHINE: "owner"}
        self._names: dict[tuple[str, str], str] = {}
        for person in approved:
            self.add(person)
        for name, platforms in linked.items():
            for key in _ids(platforms):
                self._configured[key] = "person"
                self._names[key] = name
        for key in _ids(owner):
            self._configured[key] = "owner"

    def add(self, person: KnownPerson) -> None:
        """Take in somebody who has just been approved."""
        self._approved[person.platform, person.sender] = person.standing

    def standing(self, platform: str, sender: str) -> Standing:
        """Return what the sender is to the gateway."""
        key = (platform, sender)
        return self._configured.get(key) or self._approved.get(key, "stranger")

    def shelf_name(self, platform: str, sender: str) -> str:
        """Return the name of a person's shelf: that under `people:`, else `<platform>-<id>`."""
        return self._names.get((platform, sender), f"{platform}-{sender}")

    def is_linked(self, platform: str, sender: str) -> bool:
        """Tell whether the sender stands under `people:` in the configuration."""
        return (platform, sender) in self._names

    @property
    def owners(self) -> list[tuple[str, str]]:
        """The platform and id of every owner, that of the terminal among them."""
        return [key for key in {*self._configured, *self._approved} if self.standing(*key) == "owner"]

    @property
    def has_owner(self) -> bool:
        """Tell whether anybody beside the terminal is an owner."""
        return self.owners != [_AT_THE_MACHINE]


def _ids(platforms: Mapping[str, Sequence[str]]) -> Iterable[tuple[str, str]]:
    return ((platform, sender) for platform, senders in platforms.items() for sender in senders)
