"""The home folder: where things lie in it, and the lock that lets one process own it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import GatewayError, HomeBusy

CONFIG_NAME = "scrubjay.yaml"
DEFAULT_HOME = "~/.scrubjay"


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one home; `prepare` makes the folders, for their owner only."""

    root: Path

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.root / CONFIG_NAME

    @property
    def state(self) -> Path:
        """What the gateway writes: its database, transcripts, indexes, logs."""
        return self.root / "state"

    @property
    def database(self) -> Path:
        """Inbox, outbox, sessions and people."""
        return self.state / "gateway.sqlite"

    @property
    def outgoing(self) -> Path:
        """Files that wait to be sent."""
        return self.state / "outgoing"

    @property
    def log(self) -> Path:
        """Where a chat window logs, because its terminal is taken."""
        return self.state / "logs" / "chat.log"

    def agent(self, agent: str) -> Path:
        """The state folder of an agent."""
        return self.state / "agents" / agent

    def prepare(self) -> None:
        """Make the folders that are missing, mode 0700; `GatewayError` where that cannot be done."""
        try:
            for folder in (self.root, self.state, self.outgoing, self.log.parent):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.state.chmod(0o700)
        except OSError as error:
            why = "a file is in the way" if isinstance(error, FileExistsError) else error.strerror
            sentence = f"{self.root} cannot be used: {why} ({error.filename}). Choose another with --home."
            raise GatewayError(sentence) from error

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Hold the exclusive lock on the home; `HomeBusy` when another process has it.

        The lock is the kernel's and ends with the process, however that ends.
        """
        self.prepare()
        descriptor = os.open(self.state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise HomeBusy(self.root) from error
            yield
        finally:
            os.close(descriptor)
