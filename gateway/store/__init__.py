"""The gateway's one SQLite file: inbox, outbox, sessions, usage, reminders, people and pairing codes."""

from gateway.store.conversations import Cause, Ending, SessionRow
from gateway.store.store import Store
from gateway.store.values import Failure, Guesses, KnownPerson, PendingPairing

__all__ = ["Cause", "Ending", "Failure", "Guesses", "KnownPerson", "PendingPairing", "SessionRow", "Store"]
