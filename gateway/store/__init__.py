"""The gateway's one SQLite file: inbox, outbox, sessions, people and pairing codes."""

from gateway.store.store import Store
from gateway.store.values import Guesses, KnownPerson, PendingPairing

__all__ = ["Guesses", "KnownPerson", "PendingPairing", "Store"]
