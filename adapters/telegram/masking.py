"""Keeps a bot's token out of logs and error texts: Telegram has it in every URL."""

import logging

# Everything in the SDK and its HTTP client that logs URLs, answers or tokens. A filter counts for its own logger only.
_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.proxy",
    "telegram.Bot",
    "telegram.request.BaseRequest",
    "telegram.request.HTTPXRequest",
)


class TokenMask(logging.Filter):
    """Writes `***` for one token in texts, and in the SDK's log records between `attach` and `detach`."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def __call__(self, text: str) -> str:
        """Return `text` without the token."""
        return text.replace(self._token, "***") if self._token else text

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record's message; never drop it."""
        message = record.getMessage()
        if self._token and self._token in message:
            record.msg, record.args = self(message), None
        return True

    def attach(self) -> None:
        """Begin to mask what the SDK and its HTTP client log."""
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)

    def detach(self) -> None:
        """Leave the loggers as they were."""
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self)
