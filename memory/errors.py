"""What the cellar may raise: one root, and one leaf for each thing a caller does about it.

MemoryStoreError
├── PathRefused        a path that this conversation may not touch; the sentence is for the agent and reveals nothing
├── FileProblem        a path that it may touch, but not in this way (missing, a folder, too large, not text)
├── DatabaseError      a database file cannot be used
│   ├── DatabaseTooNew        it was written by a newer version; nothing was changed
│   ├── DatabaseDamaged       SQLite cannot read it; it is left as it is
│   ├── DatabaseFull          it cannot be written now: the disk is full, fails or may not be written; what it had is kept
│   └── DatabaseBusy          another program holds it for too long
├── EmbedderError      a text could not be turned into a vector; the sentence says why and what to do
│   ├── EmbedderUnavailable   it may work later: the server is down, slow, or asks to wait
│   ├── EmbedderUnusable      it needs somebody's hand: a wrong key, no such model, a missing package, a damaged file
│   └── TextRefused           these texts are the trouble: others go through
├── QuestionsInvalid   a file of questions to measure with that is not one; the sentence names the line
└── UnknownZone        no such time zone
"""


class MemoryStoreError(Exception):
    """The root: everything that `memory` raises on its own account."""


class PathRefused(MemoryStoreError):
    """The path is not on a shelf that this conversation may use in this way."""


class FileProblem(MemoryStoreError):
    """The path is allowed, but the operation cannot be done on it; the sentence says why and what to do."""


class DatabaseError(MemoryStoreError):
    """A database file cannot be used; the sentence says which, why and what to do."""


class DatabaseTooNew(DatabaseError):
    """The database file has a newer schema than this version knows."""


class DatabaseDamaged(DatabaseError):
    """The file is not a sound SQLite database; it was left as it is."""


class DatabaseFull(DatabaseError):
    """The database cannot be written now; nothing of what it had is lost."""


class DatabaseBusy(DatabaseError):
    """Another program has held the database for longer than SQLite waits."""


class UnknownZone(MemoryStoreError):
    """The time zone's name is not known."""


class EmbedderError(MemoryStoreError):
    """The embedder gave no vectors; the sentence says why, without secrets, and what the owner can do."""


class EmbedderUnavailable(EmbedderError):
    """The embedder may work later; `retry_after` is how many seconds it asked to be left alone, if it did."""

    def __init__(self, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class EmbedderUnusable(EmbedderError):
    """The embedder does not work until somebody mends its configuration, its key or its files."""


class TextRefused(EmbedderError):
    """The embedder refused these texts, or their number; fewer or others may go through."""


class QuestionsInvalid(MemoryStoreError):
    """A file of questions cannot be used; the sentence names the line and what it should look like."""
