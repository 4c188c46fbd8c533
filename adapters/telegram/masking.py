"""Keeps a bot's token out of logs and error texts: Telegram has it in every URL."""

import logging

from adapters.masking import SecretMask

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


class TokenMask(SecretMask):
    """Masks one token, and in the SDK's log records between `attach` and `detach`."""

    def attach(self) -> None:
        """Begin to mask what the SDK and its HTTP client log."""
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)

    def detach(self) -> None:
        """Leave the loggers as they were."""
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self)
