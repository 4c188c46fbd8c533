"""When memory should look at the disk again: at the start, after changes that have come to rest, and now and then."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from memory.clock import Clock
from memory.roots import below, takes_folder
from memory.scan import Tree

log = logging.getLogger(__name__)

Cause = Literal["start", "change", "rescan"]

# `watch(folders, step_seconds, stop)` watches folders, but not what is below them. About every step it yields the
# absolute paths that changed, mostly none; the first time says that it watches. It ends when `stop` is set, and raises
# OSError or RuntimeError when it cannot go on.
Watch = Callable[[Sequence[str], float, threading.Event], Generator[set[str], None, None]]

LONGEST_SECONDS = 10.0  # changes that do not come to rest are told after this time
BLIND_SECONDS = 5.0  # how often to look where the system does not tell of changes

_STEP_SECONDS = 0.1
_SHORTEST_STEP_SECONDS = 0.01
_POLL_SECONDS = 2.0
_LOOK_SECONDS = 1.0  # how often the roots are compared with those that are watched
_AGAIN_SECONDS = 60.0
_TRIES = 4


async def changes(
    tree: Tree,
    *,
    clock: Clock,
    quiet_seconds: float = 1.5,
    rescan_seconds: float = 300.0,
    watch: Watch | None = None,
) -> AsyncGenerator[Cause, None]:
    """Yield whenever memory should be brought up to date with the disk; close it with `contextlib.aclosing`.

    `start` comes at once. `change` comes when files that a scan takes, or folders, have changed and then been quiet for
    `quiet_seconds`, or at the latest after 10 s of changes; also a moment after the start, for what changed before the
    folders were watched. `rescan` comes when there was nothing else for `rescan_seconds`. A root that is missing, taken
    away or replaced is waited for. Where the system does not tell of changes, it says so in the log once and comes
    every 5 s; for a network drive, the environment variable `WATCHFILES_FORCE_POLLING=1` makes watchfiles look itself.
    """
    pace = Pace(quiet_seconds, rescan_seconds, told_at=clock.monotonic())
    news = asyncio.Event()

    def hear(trouble: str | None) -> None:
        if trouble is None:
            pace.heard(clock.monotonic())
        _log_sight(pace.is_blind, trouble)
        pace.is_blind = trouble is not None
        news.set()

    async def ring(seconds: float) -> None:
        await clock.sleep(seconds)
        news.set()

    loop = asyncio.get_running_loop()
    observer = _Observer(
        tree,
        watch or watched,
        lambda trouble: loop.call_soon_threadsafe(hear, trouble),
        step_seconds=max(_SHORTEST_STEP_SECONDS, min(_STEP_SECONDS, quiet_seconds / 2)),
        rescan_seconds=rescan_seconds,
    )
    thread = ThreadPoolExecutor(1, "memory-watch")
    observing = loop.run_in_executor(thread, observer.run)
    observing.add_done_callback(lambda _: news.set())
    try:
        yield "start"
        while not observing.done():
            news.clear()
            cause, wait_seconds = pace.next(clock.monotonic())
            if wait_seconds <= 0:
                pace.told(cause, clock.monotonic())
                yield cause
                continue
            timer = asyncio.create_task(ring(wait_seconds), name="memory-watch timer")
            try:
                await news.wait()
            finally:
                timer.cancel()
        observing.result()  # it ends by itself with an exception only: a fault of ours, to be heard of
    finally:
        observer.stop.set()
        thread.shutdown(wait=False)
        await asyncio.wait([observing])


@dataclass(slots=True)
class Pace:
    """When to tell what, in seconds of a monotonic clock. Pure."""

    quiet_seconds: float
    rescan_seconds: float
    told_at: float
    is_blind: bool = False
    first: float | None = None  # of the changes that have not been told
    last: float = 0.0

    def heard(self, now: float) -> None:
        """Note that something has changed."""
        self.first = now if self.first is None else self.first
        self.last = now

    def next(self, now: float) -> tuple[Cause, float]:
        """Return what is to be told next, and in how many seconds; 0 or less is now."""
        rescan = self.told_at + (min(BLIND_SECONDS, self.rescan_seconds) if self.is_blind else self.rescan_seconds)
        if self.first is not None:
            rest = min(self.last + self.quiet_seconds, self.first + max(LONGEST_SECONDS, self.quiet_seconds))
            if rest <= rescan:
                return "change", rest - now
        return "rescan", rescan - now

    def told(self, cause: Cause, now: float) -> None:
        """Note what was told; changes that are not at rest yet are told once more when they are."""
        self.told_at = now
        if cause == "change":
            self.first = None


class Ground:
    """The folders that are watched, and what a change of a path in one of them means."""

    def __init__(self, tree: Tree) -> None:
        self.marks = tree.marks()  # before the scan: what is replaced meanwhile must be noticed
        self.folders = tree.scan().folders
        self._known = frozenset(self.folders)
        self._roots = [(os.path.realpath(root.path), root) for root in self.marks]

    def is_folder(self, path: str) -> bool:
        """Tell whether a path is a folder that is watched or should be, so that the watches must be set anew."""
        if path in self._known:
            return True
        inside = any(below(real, path) for real, _ in self._roots)
        return inside and takes_folder(os.path.basename(path)) and os.path.isdir(path) and not os.path.islink(path)

    def is_file(self, path: str) -> bool:
        """Tell whether a scan takes a file of this path."""
        places = ((root, below(real, path)) for real, root in self._roots)
        return any(
            root.takes(relative) if relative else path not in self._known  # a root that is a file
            for root, relative in places
            if relative is not None
        )


class _Observer:
    """The thread that watches. It tells None when something changed or may have, and a sentence when it is blind."""

    def __init__(
        self,
        tree: Tree,
        watch: Watch,
        tell: Callable[[str | None], object],
        *,
        step_seconds: float,
        rescan_seconds: float,
    ) -> None:
        self.stop = threading.Event()
        self._tree = tree
        self._watch = watch
        self._tell = tell
        self._step_seconds = step_seconds
        self._rescan_seconds = rescan_seconds

    def run(self) -> None:
        """Watch until told to stop: again and again, because watches go with the folder that they were set on."""
        failures = 0
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                self._hold(Ground(self._tree))
                failures = 0
            except (OSError, RuntimeError) as error:
                # A folder that went away before it was watched, or a name that is not UTF-8, is over the next time.
                failures = 1 if time.monotonic() > begun + _LOOK_SECONDS else failures + 1
                if failures >= _TRIES:
                    self._say(str(error))
                self.stop.wait(self._step_seconds if failures < _TRIES else _AGAIN_SECONDS)

    def _hold(self, ground: Ground) -> None:
        """Watch until the folders are not the same any more."""
        rescan = time.monotonic()  # at once: a folder may have come between the scan and the watches
        look = rescan + _LOOK_SECONDS
        is_new = True
        with closing(self._watch(ground.folders, self._step_seconds, self.stop)) as batches:
            for paths in batches:
                is_stale = any(map(ground.is_folder, paths))
                if is_new or is_stale or any(map(ground.is_file, paths)):
                    self._say(None)
                is_new = False
                now = time.monotonic()
                if now >= look:
                    look = now + _LOOK_SECONDS
                    is_stale = is_stale or self._tree.marks() != ground.marks
                if now >= rescan:
                    rescan = now + self._rescan_seconds
                    is_stale = is_stale or self._tree.scan().folders != ground.folders
                if is_stale:
                    return

    def _say(self, trouble: str | None) -> None:
        if not self.stop.is_set():  # after that, the loop may be closed
            self._tell(trouble)


def watched(folders: Sequence[str], step_seconds: float, stop: threading.Event) -> Generator[set[str], None, None]:
    """Watch folders by what the system offers: inotify, FSEvents and the like; a `Watch`."""
    from watchfiles import watch

    step = max(1, round(step_seconds * 1000))
    # Not recursive: that would follow links, out of the workspace too. `ignore_permission_denied` hides every failure
    # to set a watch, also that the limit is reached; unreadable folders are not among ours.
    for batch in watch(
        *folders,
        watch_filter=None,
        debounce=4 * step,
        step=step,
        stop_event=stop,
        rust_timeout=step,
        yield_on_timeout=True,
        poll_delay_ms=round(_POLL_SECONDS * 1000),
        recursive=False,
        ignore_permission_denied=False,
    ):
        yield {path for _, path in batch}


def _log_sight(was_blind: bool, trouble: str | None) -> None:
    if trouble and not was_blind:
        log.warning(
            "the system does not tell of changed notes (%s), so they are looked through every %g s; on Linux it helps "
            "to raise the limits fs.inotify.max_user_watches and fs.inotify.max_user_instances",
            trouble,
            BLIND_SECONDS,
            extra={"action": "watch_blind"},
        )
    elif was_blind and not trouble:
        log.info("the system tells of changed notes again", extra={"action": "watch_restored"})
