"""When memory looks at the disk again: whatever happens to the folders, a change is heard of."""

import asyncio
import logging
import os
import shutil
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.clock import SystemClock
from memory.scan import Tree
from memory.testing import FakeClock
from memory.watch import BLIND_SECONDS, LONGEST_SECONDS, Cause, Ground, Pace, Watch, changes, watched

CLOCK = SystemClock(ZoneInfo("UTC"))


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    put(tmp_path / "ws" / "MEMORY.md")
    put(tmp_path / "ws" / "memory" / "2026-01-26.md")
    return tmp_path / "ws"


def put(path: Path, text: str = "a note\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def save(path: Path, text: str) -> None:
    """Save as most editors do: beside it, then renamed over it."""
    put(path.with_name(f".{path.name}.tmp"), text).replace(path)


def move(path: Path, target: Path) -> None:
    path.rename(target)


class Follower:
    """Follows a tree as the index does: scans at every cause, and remembers what it saw last."""

    def __init__(self, tree: Tree, causes: AsyncGenerator[Cause, None]) -> None:
        self.causes: list[Cause] = []
        self._tree = tree
        self._changes = causes

    async def sees(self, *paths: str, size: int | None = None, without: str | None = None) -> None:
        """Wait until a scan at a cause finds these files, of this size, and the one other no more."""
        async with asyncio.timeout(60):
            while True:
                await self.next()
                files = (await asyncio.to_thread(self._tree.scan)).files
                found = [files[path].stamp.size_bytes for path in paths if path in files]
                if len(found) == len(paths) and without not in files and (size is None or {*found} == {size}):
                    return

    async def next(self) -> Cause:
        async with asyncio.timeout(60):
            self.causes.append(await anext(self._changes))
            return self.causes[-1]


@asynccontextmanager
async def following(*roots: Path, rescan_seconds: float = 300, watch: Watch | None = None) -> AsyncIterator[Follower]:
    """Follow a workspace and extra paths, from the moment on that they are watched."""
    tree = Tree(roots[0], roots[1:])
    async with aclosing(
        changes(tree, clock=CLOCK, quiet_seconds=0.05, rescan_seconds=rescan_seconds, watch=watch)
    ) as causes:
        follower = Follower(tree, causes)
        assert await follower.next() == "start"
        assert await follower.next() in ("change", "rescan")
        yield follower
    await until(lambda: watchers() == 0)


def watchers() -> int:
    return sum(thread.name.startswith("memory-watch") for thread in threading.enumerate())


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - a thread that ends and a file that is there set no event
            await asyncio.sleep(0.01)


# What is heard of


async def test_notes_that_were_there_before_are_told_of_at_once(ws: Path) -> None:
    async with aclosing(changes(Tree(ws), clock=CLOCK)) as causes:
        assert await anext(causes) == "start"


async def test_a_note_saved_twice_by_rename_is_heard_of_twice(ws: Path) -> None:
    async with following(ws) as follower:
        for size in (100, 200):
            save(ws / "MEMORY.md", "x" * size)
            await follower.sees("MEMORY.md", size=size)

        assert set(follower.causes[1:]) == {"change"}


async def test_a_note_written_in_place_deleted_and_renamed_is_heard_of(ws: Path) -> None:
    async with following(ws) as follower:
        put(ws / "memory" / "new.md", "12345")
        await follower.sees("memory/new.md", size=5)
        (ws / "memory" / "new.md").rename(ws / "renamed.md")
        await follower.sees("renamed.md", without="memory/new.md")
        (ws / "renamed.md").unlink()
        await follower.sees(without="renamed.md")


async def test_a_folder_that_is_made_filled_and_renamed_is_heard_of_to_its_depths(ws: Path) -> None:
    async with following(ws) as follower:
        put(ws / "a" / "b" / "c" / "d" / "x.md")
        await follower.sees("a/b/c/d/x.md")
        put(ws / "a" / "b" / "c" / "d" / "y.md")
        await follower.sees("a/b/c/d/y.md")
        (ws / "a").rename(ws / "v1.2")
        await follower.sees("v1.2/b/c/d/y.md", without="a/b/c/d/y.md")
        put(ws / "v1.2" / "b" / "c" / "z.md")
        await follower.sees("v1.2/b/c/z.md")


async def test_a_folder_moved_in_from_elsewhere_is_heard_of_and_so_is_what_changes_in_it_later(
    tmp_path: Path, ws: Path
) -> None:
    put(tmp_path / "elsewhere" / "deep" / "x.md")
    async with following(ws) as follower:
        (tmp_path / "elsewhere").rename(ws / "moved.md")
        await follower.sees("moved.md/deep/x.md")
        put(ws / "moved.md" / "deep" / "y.md")
        await follower.sees("moved.md/deep/y.md")


async def test_a_folder_removed_and_made_again_is_watched_again(ws: Path) -> None:
    async with following(ws) as follower:
        for turn in range(3):
            shutil.rmtree(ws / "memory")
            put(ws / "memory" / f"x{turn}.md")
            await follower.sees(f"memory/x{turn}.md")
            put(ws / "memory" / f"y{turn}.md")
            await follower.sees(f"memory/y{turn}.md")


async def test_a_workspace_removed_and_made_again_is_watched_again(ws: Path) -> None:
    async with following(ws) as follower:
        for turn in range(2):
            shutil.rmtree(ws)
            put(ws / "memory" / f"x{turn}.md")
            await follower.sees(f"memory/x{turn}.md")
            put(ws / "memory" / f"y{turn}.md")
            await follower.sees(f"memory/y{turn}.md")


async def test_a_workspace_that_is_moved_away_and_back_later_is_waited_for(tmp_path: Path, ws: Path) -> None:
    async with following(ws) as follower:
        move(ws, tmp_path / "away")
        await follower.sees(without="MEMORY.md")
        put(tmp_path / "away" / "x.md")
        move(tmp_path / "away", ws)
        await follower.sees("x.md")
        put(ws / "y.md")
        await follower.sees("y.md")


async def test_a_workspace_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    async with following(tmp_path / "home" / "ws") as follower:
        put(tmp_path / "home" / "ws" / "memory" / "x.md")
        await follower.sees("memory/x.md")


async def test_a_workspace_behind_a_link_is_watched_and_also_when_the_link_is_turned(tmp_path: Path, ws: Path) -> None:
    put(tmp_path / "other" / "z.md")
    link = tmp_path / "link"
    link.symlink_to(ws)
    async with following(link) as follower:
        put(ws / "memory" / "x.md")
        await follower.sees("memory/x.md")
        (tmp_path / "new").symlink_to(tmp_path / "other")
        (tmp_path / "new").replace(link)
        await follower.sees("z.md", without="MEMORY.md")


async def test_extra_folders_and_files_are_watched(tmp_path: Path, ws: Path) -> None:
    single = put(tmp_path / "private" / "diary.md")
    notes = put(tmp_path / "notes" / "deep" / "x.md").parent.parent
    async with following(ws, notes, single) as follower:
        put(notes / "deep" / "y.md")
        await follower.sees(f"{notes}/deep/y.md")
        for size in (100, 200):
            save(single, "x" * size)
            await follower.sees(str(single), size=size)


async def test_an_extra_path_that_appears_later_is_watched_from_then_on(tmp_path: Path, ws: Path) -> None:
    async with following(ws, tmp_path / "usb" / "notes", tmp_path / "one.md") as follower:
        put(tmp_path / "usb" / "notes" / "x.md")
        put(tmp_path / "one.md")
        await follower.sees(f"{tmp_path}/usb/notes/x.md", f"{tmp_path}/one.md")
        put(tmp_path / "usb" / "notes" / "y.md")
        await follower.sees(f"{tmp_path}/usb/notes/y.md")


async def test_a_name_that_is_not_utf_8_does_not_end_the_watching(ws: Path) -> None:
    async with following(ws) as follower:
        for turn in range(2):
            put(Path(os.fsdecode(os.fsencode(ws) + b"/caf\xe9%d.md" % turn)))
            put(ws / f"x{turn}.md")
            await follower.sees(f"x{turn}.md")


async def test_hundreds_of_files_written_at_once_are_all_seen(ws: Path) -> None:
    async with following(ws) as follower:
        for number in range(400):
            put(ws / f"folder {number % 20}" / f"{number}.md")
        await follower.sees(*(f"folder {number % 20}/{number}.md" for number in range(400)))


# What is not


@pytest.mark.parametrize(
    ("path", "is_file", "is_folder"),
    [
        ("ws/memory/x.md", True, False),
        ("ws/memory", False, True),
        ("ws", False, True),
        ("ws/new", False, True),
        ("ws/folder.md", True, True),
        ("ws/gone.md", True, False),
        ("ws/gone", False, False),
        ("ws/AGENTS.md", False, False),
        ("ws/people/anna/HEARTBEAT.md", False, False),
        ("ws/memory/x.txt", False, False),
        ("ws/memory/.x.md.tmp", False, False),
        ("ws/.git", False, False),
        ("ws/.git/x.md", False, False),
        ("ws/node_modules", False, False),
        ("ws/link", False, False),
        ("outside", False, False),
        ("outside/x.md", False, False),
        ("private/diary.md", True, False),
        ("private/other.md", False, False),
        ("private", False, True),
    ],
)
def test_only_what_a_scan_would_take_wakes_it(
    path: str, is_file: bool, is_folder: bool, tmp_path: Path, ws: Path
) -> None:
    for folder in ("new", "folder.md", ".git", "node_modules", "../outside"):
        (ws / folder).mkdir()
    (ws / "link").symlink_to(tmp_path / "outside")
    single = put(tmp_path / "private" / "diary.md")
    ground = Ground(Tree(ws, [single]))

    assert ground.is_file(str(tmp_path / path)) is is_file
    assert ground.is_folder(str(tmp_path / path)) is is_folder


def test_no_folder_behind_a_link_is_watched(tmp_path: Path, ws: Path) -> None:
    (ws / "outside").symlink_to(put(tmp_path / "outside" / "deep" / "x.md").parent.parent)
    put(ws / ".git" / "x")
    put(ws / "node_modules" / "x")

    assert sorted(Ground(Tree(ws)).folders) == [str(ws), str(ws / "memory")]


# When


@pytest.fixture
def pace() -> Pace:
    return Pace(quiet_seconds=1.5, rescan_seconds=300, told_at=0)


def test_a_change_is_told_after_the_quiet(pace: Pace) -> None:
    pace.heard(10)
    pace.heard(11)

    assert pace.next(11.5) == ("change", 1.0)
    pace.told("change", 12.5)
    assert pace.next(12.5) == ("rescan", 300)


def test_changes_without_an_end_are_told_all_the_same(pace: Pace) -> None:
    for tenth in range(110):
        pace.heard(10 + tenth / 10)

    assert pace.next(20.9)[0] == "change"
    assert pace.next(10 + LONGEST_SECONDS) == ("change", 0)


def test_a_rescan_comes_whatever_happens(pace: Pace) -> None:
    pace.heard(299)

    assert pace.next(299) == ("rescan", 1)
    pace.told("rescan", 300)
    assert pace.next(300) == ("change", 0.5)


def test_without_the_systems_help_rescans_come_every_few_seconds(pace: Pace) -> None:
    pace.is_blind = True

    assert pace.next(0) == ("rescan", BLIND_SECONDS)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=30),
    st.integers(1, 30),
    st.integers(1, 400),
    st.booleans(),
)
def test_what_was_heard_is_told_in_time(steps: list[tuple[int, bool]], quiet: int, rescan: int, is_blind: bool) -> None:
    pace = Pace(quiet, rescan, told_at=0, is_blind=is_blind)
    now, heard = 0, False
    for seconds, is_change in steps:
        now += seconds
        if is_change:
            pace.heard(now)
            heard = True
        cause, wait = pace.next(now)
        assert wait <= rescan
        assert not heard or wait <= max(quiet, LONGEST_SECONDS)
        assert cause == "rescan" or heard
        if wait <= 0:
            pace.told(cause, now)
            heard = heard and cause == "rescan"


class CountingClock(FakeClock):
    """A clock that knows how often somebody went to sleep by it."""

    slept = 0

    async def sleep(self, seconds: float) -> None:
        self.slept += 1
        await super().sleep(seconds)


async def test_the_quiet_and_the_rescan_go_by_the_clock_and_between_them_nothing_is_done(ws: Path) -> None:
    clock = CountingClock()
    async with aclosing(changes(Tree(ws), clock=clock)) as causes:
        assert await anext(causes) == "start"
        assert await passing(clock, 0.1, anext(causes)) == "change"
        for _ in range(2):
            coming = asyncio.ensure_future(anext(causes))
            await until(lambda: clock.sleeping == 1)
            slept = clock.slept
            clock.advance(299)
            for _ in range(100):
                await asyncio.sleep(0)
            assert (clock.slept, coming.done()) == (slept, False)
            clock.advance(1)
            assert await asyncio.wait_for(coming, 60) == "rescan"


async def passing(clock: FakeClock, seconds: float, coming: Awaitable[Cause]) -> Cause:
    """Let the seconds pass as often as it takes until the folders are watched and something is told."""
    task = asyncio.ensure_future(coming)
    async with asyncio.timeout(60):
        while not task.done():
            clock.advance(seconds)
            await asyncio.sleep(0.01)
    return task.result()


# When the system does not help


def refused(folders: Sequence[str], step_seconds: float, stop: threading.Event) -> Generator[set[str], None, None]:
    raise OSError("OS file watch limit reached.")
    yield set()


async def test_a_reached_limit_is_said_once_with_what_to_do_and_the_folders_are_looked_through(
    ws: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="memory.watch"):
        async with following(ws, rescan_seconds=0.2, watch=refused) as follower:
            await until(lambda: bool(caplog.records))
            for number in range(3):
                put(ws / f"{number}.md")
                await follower.sees(f"{number}.md")

            assert set(follower.causes[1:]) == {"rescan"}
    [record] = caplog.records
    assert "fs.inotify.max_user_watches" in record.getMessage()


async def test_watching_that_breaks_off_is_taken_up_again(ws: Path) -> None:
    begun: list[int] = []

    def brittle(folders: Sequence[str], step_seconds: float, stop: threading.Event) -> Generator[set[str], None, None]:
        begun.append(1)
        if len(begun) % 2:
            raise FileNotFoundError("a folder went away before it was watched")
        yield from watched(folders, step_seconds, stop)

    async with following(ws, watch=brittle) as follower:
        for number in range(3):
            put(ws / f"folder {number}" / "x.md")
            await follower.sees(f"folder {number}/x.md")


async def test_a_folder_made_while_the_watches_are_set_is_watched_too(ws: Path) -> None:
    def late(folders: Sequence[str], step_seconds: float, stop: threading.Event) -> Generator[set[str], None, None]:
        put(ws / "late" / "x.md")
        yield from watched(folders, step_seconds, stop)

    async with following(ws, watch=late) as follower:
        put(ws / "late" / "y.md")
        await follower.sees("late/x.md", "late/y.md")


async def test_folders_that_the_watching_missed_are_found_with_the_rescan(ws: Path) -> None:
    seen: list[Sequence[str]] = []

    def deaf(folders: Sequence[str], step_seconds: float, stop: threading.Event) -> Generator[set[str], None, None]:
        seen.append(folders)
        while not stop.wait(step_seconds):
            yield set()

    async with following(ws, rescan_seconds=0.2, watch=deaf):
        put(ws / "new" / "x.md")
        await until(lambda: str(ws / "new") in seen[-1])


async def test_a_fault_of_ours_is_raised(ws: Path) -> None:
    def faulty(folders: Sequence[str], step_seconds: float, stop: threading.Event) -> Generator[set[str], None, None]:
        yield set()
        raise LookupError("a fault")

    async with aclosing(changes(Tree(ws), clock=CLOCK, quiet_seconds=0.05, watch=faulty)) as causes:
        with pytest.raises(LookupError, match="a fault"):
            async with asyncio.timeout(60):
                async for _ in causes:
                    pass


# The end


async def test_a_cancelled_follower_leaves_no_thread(ws: Path) -> None:
    async def follow(begun: asyncio.Event) -> None:
        async with aclosing(changes(Tree(ws), clock=CLOCK, quiet_seconds=0.05)) as causes:
            async for cause in causes:
                if cause == "change":
                    begun.set()

    begun = asyncio.Event()
    task = asyncio.create_task(follow(begun))
    await asyncio.wait_for(begun.wait(), 60)
    assert watchers() == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await until(lambda: watchers() == 0)


def test_a_follower_that_is_never_closed_ends_with_its_loop(ws: Path) -> None:
    async def begin() -> AsyncGenerator[Cause, None]:
        causes = changes(Tree(ws), clock=CLOCK, quiet_seconds=0.05)
        await anext(causes)
        await anext(causes)
        return causes

    asyncio.run(begin())

    deadline = time.monotonic() + 60
    while watchers():
        assert time.monotonic() < deadline
