"""Updates are offered until they are committed, and confirmed only then."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import pytest

from adapters.base import DeadLetter, Event
from adapters.telegram.mentions import Me
from adapters.telegram.polling import ATTEMPTS, LONGEST_WAIT_SECONDS, Updates
from adapters.telegram.translate import dead_letter, event
from memory.testing import FakeClock

pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")


def text(update_id: int, words: str = "hi") -> dict[str, Any]:
    chat = {"id": 1, "type": "private"}
    author = {"id": 1, "first_name": "A"}
    return {"update_id": update_id, "message": {"message_id": 1, "date": 1, "chat": chat, "from": author, "text": words}}
