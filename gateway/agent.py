"""An agent as the gateway runs it."""

from dataclasses import dataclass
from pathlib import Path

from agents.base import Model
from agents.journal import Journal
from agents.prices import Price
from agents.session_index import SessionIndex
from agents.workspace import FileCache, Limits
from memory.engine import Memory
from memory.scan import Tree


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as the gateway runs it.

    `sessions` is the search over past conversations, None as `memory` is.
    `tree` opens the files of its workspace and of the owner's extra paths. `memory` is None where its index cannot be
    opened; a search gives `max_results` finds where nobody says how many. `note` is one line for people who wonder what
    answers them; `price` is what the configuration says that tokens cost.
    """

    id: str
    workspace: Path
    tree: Tree
    model: Model
    max_tokens: int
    window_tokens: int
    max_results: int
    limits: Limits
    cache: FileCache
    journal: Journal
    note: str | None = None
    price: Price | None = None
    memory: Memory | None = None
    sessions: SessionIndex | None = None
