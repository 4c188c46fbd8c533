"""Which messages carry our sign that somebody works on them, as far as this process knows. Pure."""

from collections import OrderedDict
from datetime import datetime

_REMEMBERED = 1_000

Marked = tuple[str, str]  # a chat or channel, and a message in it


class Signs:
    """The newest thousand messages that carry the sign.

    What was written before `began` may carry it from an earlier connection or another process; None: that is not looked at.
    """

    def __init__(self, *, began: datetime | None = None) -> None:
        self._began = began
        self._signed: OrderedDict[Marked, None] = OrderedDict()

    def is_due(self, message: Marked, *, working: bool, sent_at: datetime | None = None) -> bool:
        """Tell whether the sign has yet to be set on a message (`working`), or yet to be taken away."""
        if working:
            return message not in self._signed
        is_older = self._began is not None and sent_at is not None and sent_at < self._began
        return is_older or message in self._signed

    def note(self, message: Marked, *, working: bool) -> None:
        """Take note that the sign was set on a message, or taken away."""
        if not working:
            self._signed.pop(message, None)
            return
        self._signed[message] = None
        if len(self._signed) > _REMEMBERED:
            self._signed.popitem(last=False)
