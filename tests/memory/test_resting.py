"""What is large is built when it is wanted, once, and let go of after a rest."""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.resting import Resting


class Large:
    """A value that tells when it is gone."""

    def __init__(self, gone: threading.Event) -> None:
        weakref.finalize(self, gone.set)


def test_many_threads_that_want_it_at_once_share_one() -> None:
    built = []
    resting = Resting(lambda: built.append(1) or object(), idle_seconds=60)  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: resting.get(), range(64)))

    assert (len(set(map(id, found))), built) == (1, [1])


def test_after_a_rest_it_is_let_go_of_and_built_anew_when_it_is_wanted() -> None:
    gone = threading.Event()
    resting = Resting(lambda: Large(gone), idle_seconds=0.01)
    resting.get()

    assert gone.wait(20)
    gone.clear()
    resting.get()
    assert gone.wait(20)


def test_what_cannot_be_built_is_tried_again() -> None:
    attempts = iter([OSError("no such file"), None])

    def build() -> str:
        if (error := next(attempts)) is not None:
            raise error
        return "built"

    resting = Resting(build, idle_seconds=60)
    with pytest.raises(OSError, match="no such file"):
        resting.get()

    assert resting.get() == "built"
