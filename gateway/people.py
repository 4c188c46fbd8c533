"""Who people are to us: the configured owner and people, and those approved by a code."""

from collections.abc import Iterable, Mapping, Sequence

from gateway.access import Standing
from gateway.store.store import KnownPerson


class People:
    """Answers what standing a sender has, and under which name a person's shelf is kept. Ids decide, names never."""

    def __init__(
        self,
        *,
        owner: Mapping[str, Sequence[str]],
        linked: Mapping[str, Mapping[str, Sequence[str]]],
        approved: Iterable[KnownPerson],
    ) -> None:
        self._standing: dict[tuple[str, str], Standing] = {("terminal", "owner"): "owner"}
        self._names: dict[tuple[str, str], str] = {}
        for person in approved:
            self.add(person)
        for name, platforms in linked.items():
            for platform, ids in platforms.items():
                for sender in ids:
                    self._standing[platform, sender] = "person"
                    self._names[platform, sender] = name
        for platform, ids in owner.items():
            for sender in ids:
                self._standing[platform, sender] = "owner"

    def add(self, person: KnownPerson) -> None:
        """Take in somebody who has just been approved; an owner stays an owner."""
        key = (person.platform, person.sender)
        if self._standing.get(key) != "owner":
            self._standing[key] = person.standing

    def standing(self, platform: str, sender: str) -> Standing:
        """Return what the sender is to the gateway."""
        return self._standing.get((platform, sender), "stranger")

    def shelf_name(self, platform: str, sender: str) -> str:
        """Return the name of a person's shelf: that under `people:`, else `<platform>-<id>`."""
        return self._names.get((platform, sender), f"{platform}-{sender}")

    @property
    def has_owner(self) -> bool:
        """Tell whether anybody beside the terminal is an owner."""
        return sum(standing == "owner" for standing in self._standing.values()) > 1
