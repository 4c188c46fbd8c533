"""What takes seconds to open is opened once for all who wait, and anew after a failure."""

import asyncio
import threading

import pytest

from memory.opening import Opening


async def test_all_who_wait_share_what_is_opened_once_and_one_that_is_cancelled_disturbs_no_other() -> None:
    built, may_end = [], threading.Event()

    def build() -> object:
        built.append(object())
        may_end.wait(20)
        return built[-1]

    opening = Opening(build, name="open")
    first, second = (asyncio.create_task(opening.get()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    may_end.set()

    assert [await second, await opening.get()] == [built[0], built[0]]
    assert first.cancelled()


async def test_what_could_not_be_opened_is_tried_anew_by_the_next_who_wants_it() -> None:
    attempts = iter([OSError("no such file"), None])

    def build() -> str:
        if (error := next(attempts)) is not None:
            raise error
        return "open"

    opening = Opening(build, name="open")
    with pytest.raises(OSError, match="no such file"):
        await opening.get()

    assert await opening.get() == "open"


@pytest.mark.parametrize(("fails", "released"), [(False, ["open"]), (True, [])])
async def test_only_what_was_opened_is_released(fails: bool, released: list[str]) -> None:
    def build() -> str:
        if fails:
            raise OSError
        return "open"

    async def release(value: str) -> None:
        let_go.append(value)

    let_go: list[str] = []
    opening = Opening(build, name="open")
    await opening.close(release)
    await asyncio.gather(opening.get(), return_exceptions=True)
    await opening.close(release)

    assert let_go == released
