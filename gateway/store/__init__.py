"""The gateway's one SQLite file: inbox, outbox, sessions, people and pairing codes."""

from gateway.store.store import KnownPerson, PendingPairing, Store

__all__ = ["KnownPerson", "PendingPairing", "Store"]
