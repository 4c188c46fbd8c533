"""What the checks look at: the configuration as far as it could be read, and the file that it came from."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gateway.config.channels import Account
from gateway.config.models import Config
from gateway.config.words import Finding
from gateway.settings_file import KeyPath, SettingsFile, shown

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration under examination. What could not be read stands in `config` as its default."""

    config: Config
    source: SettingsFile
    zone_exists: Callable[[str], bool]

    def shown(self, path: KeyPath) -> str:
        """Return how the value at `path` may be spoken of."""
        return shown(self.source.at(path))

    def accounts(self) -> Iterator[tuple[str, KeyPath, Account]]:
        """Yield every account with its platform and its path."""
        for platform, accounts in self.config.channels.by_platform.items():
            for name, account in accounts.items():
                yield platform, ("channels", platform, "accounts", name), account


Check = Callable[[Case], Iterator[Finding]]


def name_findings(name: str, path: KeyPath, what: str) -> Iterator[Finding]:
    """Yield a finding when `name` cannot be the name of `what`: it becomes part of paths and session keys."""
    if not _NAME.fullmatch(name):
        yield Finding(
            path, f"{what} must have 1 to 32 characters of a-z, 0-9, - and _, and begin with a letter or digit"
        )
