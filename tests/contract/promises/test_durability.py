"""Nothing that was said to us is lost on any platform: not by a store that fails, a lost connection, or while we are away."""

import asyncio
import socket
from collections.abc import Awaitable, Sequence
from typing import Literal

import pytest

from adapters.base import Adapter, DeadLetter, Event, Inbound, Outbound
from adapters.errors import Transient, Unauthorized
from tests.contract.committed import Store
from tests.contract.listening import MENU, Impatient, Readiness, ignore, running, supervised
from tests.contract.promises.rig import Fault, Rig

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_nothing_is_confirmed_before_its_commit_and_what_was_refused_is_offered_again(
    rig: Rig, resting: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    unconfirmed: list[int] = []

    class Reluctant(Store):
        async def receive(self, events: Sequence[Event], /) -> None:
            unconfirmed.append(await rig.unconfirmed())
            await super().receive(events)

    store = Reluctant()
    store.refuse = lambda events: len(store.offered) == 1
    async with running(resting, store):
        await rig.say("hello", await rig.private())
        [heard] = await store.messages()
        await rig.confirmed()

    assert store.offered == [heard, heard]
    assert "not committed" in caplog.text
    if why := rig.cannot.get("confirm"):
        assert unconfirmed == [0, 0], why
    else:
        assert unconfirmed == [1, 1]


async def test_what_the_store_refused_until_the_end_is_heard_by_the_next_run(
    rig: Rig, clock: Impatient, store: Store
) -> None:
    chat = await rig.private()
    first, second = (rig.adapter(clock, store.last_seen) for _ in range(2))
    async with running(first, store):
        await rig.say("before", chat)
        await store.messages()
        store.refuse = lambda events: True
        offered = len(store.offered)
        await rig.say("refused", chat)
        await store.until(lambda: len(store.offered) > offered)
    await first.close()

    store.refuse = lambda events: False
    async with running(second, store):
        heard = await store.different(2)
    await second.close()

    assert [message.text for message in heard] == ["before", "refused"]


async def test_an_event_that_cannot_be_committed_is_set_aside_and_holds_up_no_other(
    rig: Rig, adapter: Adapter, store: Store
) -> None:
    store.refuse = lambda events: any(isinstance(event, Inbound) and event.text == "poison" for event in events)
    chat = await rig.private()
    await rig.say("poison", chat)
    await rig.say("good", chat)

    await store.messages()
    await store.until(lambda: len(store.committed) == 2)

    letter, good = store.committed
    assert isinstance(letter, DeadLetter)
    assert "poison" in letter.raw
    assert isinstance(good, Inbound)
    assert good.text == "good"


async def test_a_restart_hears_once_what_was_said_meanwhile_in_every_known_place(
    rig: Rig, clock: Impatient, store: Store
) -> None:
    private, thread = await rig.private(), await rig.thread()
    first, second = (rig.adapter(clock, store.last_seen) for _ in range(2))
    async with running(first, store):
        for number, chat in enumerate((private, rig.group(), thread)):
            await rig.say(f"heard {number}", chat)
        await store.different(3)
        await rig.confirmed()
    await first.close()

    missed = {f"missed {number}": chat for number, chat in enumerate((private, rig.group(), thread))}
    for text, chat in missed.items():
        await rig.say(text, chat)
    async with running(second, store):
        await store.until(lambda: missed.items() <= places(store).items())
        await rig.say("now", private)
        await store.until(lambda: "now" in places(store))
    await second.close()

    told = [message.text for message in await store.different(7)]
    assert {text: told.count(text) for text in missed} == dict.fromkeys(missed, 1)


@pytest.mark.parametrize("kind", ["error", "page", "garbled", "cut"])
async def test_what_was_missed_is_read_again_when_the_platform_could_not_give_it(
    rig: Rig, clock: Impatient, store: Store, kind: Literal["error", "page", "garbled", "cut"]
) -> None:
    chat = await rig.private()
    first, second = (rig.adapter(clock, store.last_seen) for _ in range(2))
    async with running(first, store):
        await rig.say("before", chat)
        await store.messages()
        await rig.confirmed()
    await first.close()

    await rig.say("missed", chat)
    await rig.next(Fault(kind, "read"))
    async with supervised(second, store):
        heard = await store.different(2)
    await second.close()

    assert [message.text for message in heard] == ["before", "missed"]


def places(store: Store) -> dict[str, object]:
    """Where each text was heard."""
    return {event.text: event.chat for event in store.committed if isinstance(event, Inbound)}


async def test_a_new_account_answers_nothing_that_was_said_before_it_came(
    rig: Rig, resting: Adapter, store: Store
) -> None:
    if rig.platform != "telegram":  # Telegram keeps for a bot what was said to it, and to nobody else
        await rig.say("before it came", rig.group())
    async with running(resting, store):
        await rig.say("hello", rig.group())
        heard = await store.messages()

    assert [message.text for message in heard] == ["hello"]


async def test_a_lost_connection_is_made_again_and_nothing_is_missed(rig: Rig, resting: Adapter, store: Store) -> None:
    chat = await rig.private()
    async with supervised(resting, store):
        await rig.say("before", chat)
        await store.different(1)
        await rig.drop()
        await rig.say("meanwhile", chat)
        await store.different(2)
        await rig.say("after", chat)
        heard = await store.different(3)

    assert [message.text for message in heard] == ["before", "meanwhile", "after"]


async def test_hearing_is_dated_by_what_came_last(rig: Rig, adapter: Adapter, store: Store, clock: Impatient) -> None:
    clock.advance(30)
    await rig.say("hello", await rig.private())
    await store.messages()

    assert adapter.heard_at == clock.monotonic()
    assert adapter.healthy_within_seconds is not None


async def ends(run: Awaitable[None]) -> None:
    """Wait until a run ends by itself."""
    async with asyncio.timeout(60):
        await run


async def test_a_dead_token_ends_the_account(rig: Rig, clock: Impatient, store: Store) -> None:
    adapter = rig.adapter(clock, store.last_seen, token=f"{rig.secrets[0][:-4]}dead")

    with pytest.raises(Unauthorized):
        await ends(adapter.run(store.receive, ignore, MENU))

    await adapter.close()


async def test_a_token_that_is_revoked_while_we_listen_ends_the_account(rig: Rig, resting: Adapter) -> None:
    class Revoking(Store):
        async def receive(self, events: Sequence[Event], /) -> None:
            await rig.revoke()
            await super().receive(events)

    ready = Readiness()
    run = asyncio.create_task(resting.run(Revoking().receive, ready, MENU))
    await ready.times(1)
    await rig.say("hello", await rig.private())

    with pytest.raises(Unauthorized):
        await ends(run)


async def test_a_platform_that_cannot_be_reached_is_transient(rig: Rig, clock: Impatient, store: Store) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        adapter = rig.adapter(clock, store.last_seen, url=f"http://127.0.0.1:{nobody.getsockname()[1]}")

        with pytest.raises(Transient):
            await ends(adapter.run(store.receive, ignore, MENU))
        with pytest.raises(Transient):
            await adapter.send(Outbound(rig.group(), "hello", "k1"))

    await adapter.close()
