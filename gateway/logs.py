"""Logging: one line an action, as text or JSON, with every secret masked."""

import json
import logging
import logging.handlers
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from gateway.config import Config
from gateway.config.secret_checks import secrets_in

SHORTEST = 6  # a shorter secret is none, and to mask it would garble the log

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_QUIET = (
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "telegram",
    "discord",
    "anthropic",
    "asyncio",
    "markdown_it",
    "watchfiles",
    "apscheduler",
)


class Masked(logging.Formatter):
    """Formats a record with its facts, and replaces every known secret by `***`, wherever it stands."""

    def __init__(self, secrets: Iterable[str], form: Literal["text", "json"]) -> None:
        super().__init__()
        written = {form for secret in secrets if len(secret) >= SHORTEST for form in _written(secret)}
        self._secrets = sorted(written, key=len, reverse=True)
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, or more where a traceback belongs to it."""
        return self._json(record) if self._form == "json" else self._mask(self._text(record))

    def _mask(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _text(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).astimezone()
        facts = " ".join(f"{key}={value}" for key, value in _facts(record).items() if key != "action")
        said = f"{record.getMessage()} {facts}".rstrip().replace("\r", "\\r").replace("\n", "\\n")
        line = f"{when:%Y-%m-%d %H:%M:%S} {record.levelname.lower():7} {said}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line

    def _json(self, record: logging.LogRecord) -> str:
        values: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        # Masked before JSON escapes it once more, and a secret is none of its own numbers.
        plain = {
            key: value if isinstance(value, int | float | None) else self._mask(str(value))
            for key, value in values.items()
        }
        return json.dumps(plain, ensure_ascii=False)


def _written(secret: str) -> Iterable[str]:
    """Yield a secret as it may stand in a log: as it is, in a URL, in JSON, and as Python shows it."""
    yield from (secret, quote(secret, safe=""), quote(secret), repr(secret)[1:-1])
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])


def _facts(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


def start_logging(config: Config, *, file: Path | None = None, level: str | None = None) -> None:
    """Send the log to stderr, or to a rotating file; the SDKs speak up from warnings on."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        handler = logging.handlers.RotatingFileHandler(file, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    handler.setFormatter(Masked(secrets_of(config), config.log.format))
    logging.basicConfig(handlers=[handler], level=(level or config.log.level).upper(), force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def secrets_of(config: Config) -> list[str]:
    """Return every secret of the configuration, in the clear: what a log must never show."""
    return [secret for _, secret in secrets_in(config)]
