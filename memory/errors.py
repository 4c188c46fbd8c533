"""What the cellar may raise: one root, and one leaf for each thing a caller does about it.

MemoryStoreError
├── PathRefused        a path that this conversation may not touch; the sentence is for the agent and reveals nothing
├── FileProblem        a path that it may touch, but not in this way (missing, a folder, too large, not text)
├── DatabaseTooNew     a database written by a newer version; nothing was changed
├── DatabaseDamaged    a file that SQLite cannot read; it is left as it is
└── UnknownZone        no such time zone
"""


class MemoryStoreError(Exception):
    """The root: everything that `memory` raises on its own account."""


class PathRefused(MemoryStoreError):
    """The path is not on a shelf that this conversation may use in this way."""


class FileProblem(MemoryStoreError):
    """The path is allowed, but the operation cannot be done on it; the sentence says why and what to do."""


class DatabaseTooNew(MemoryStoreError):
    """The database file has a newer schema than this version knows."""


class DatabaseDamaged(MemoryStoreError):
    """The file is not a sound SQLite database; it was left as it is."""


class UnknownZone(MemoryStoreError):
    """The time zone's name is not known."""
