"""Keeps secrets out of logs and error texts."""

import logging


class SecretMask(logging.Filter):
    """Writes `***` for each of some secrets in texts, and in the records of every logger that has it as a filter."""

    def __init__(self, *secrets: str | None) -> None:
        super().__init__()
        self._secrets = [secret for secret in secrets if secret]

    def __call__(self, text: str) -> str:
        """Return `text` without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record's message; never drop it."""
        message = record.getMessage()
        if (masked := self(message)) != message:
            record.msg, record.args = masked, None
        return True
