"""Failures that people met with connections that have died: what is asked next goes over a new one."""

import pytest

from adapters.slack.adapter import SlackAdapter
from tests.contract.committed import Store
from tests.contract.listening import Impatient, running
from tests.contract.promises.slack_rig import SlackRig
from tests.contract.servers import Servers

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_a_session_of_slacks_that_was_closed_is_made_anew_and_messages_come_again(servers: Servers) -> None:
    rig = await SlackRig.on(await servers.slack())
    store = Store()
    adapter = rig.adapter(Impatient(), store.last_seen)
    assert isinstance(adapter, SlackAdapter)
    try:
        async with running(adapter, store):
            await rig.say("before", await rig.private())
            await store.messages(1)
        await adapter.close()  # as a network that is lost does it: whatever the session held is gone

        async with running(adapter, store):
            await rig.say("after", await rig.private())
            heard = await store.different(2)  # what had not been acknowledged yet comes twice
    finally:
        await adapter.close()

    assert [message.text for message in heard] == ["before", "after"]
