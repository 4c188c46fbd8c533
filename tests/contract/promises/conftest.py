"""Each promise is kept on each platform: a fresh one for every test, an adapter, and the store that it commits to."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.base import Adapter
from tests.contract.committed import Store
from tests.contract.listening import Impatient, running
from tests.contract.promises.rig import Rig
from tests.contract.servers import PLATFORMS, Servers


@pytest_asyncio.fixture(loop_scope="session", params=PLATFORMS)
async def rig(request: pytest.FixtureRequest, servers: Servers) -> Rig:
    return await servers.rig(request.param)


@pytest.fixture
def clock() -> Impatient:
    return Impatient()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest_asyncio.fixture(loop_scope="session")
async def resting(rig: Rig, clock: Impatient, store: Store) -> AsyncIterator[Adapter]:
    """An adapter that nobody runs."""
    adapter = rig.adapter(clock, store.last_seen)
    yield adapter
    await adapter.close()


@pytest_asyncio.fixture(loop_scope="session")
async def adapter(resting: Adapter, store: Store) -> AsyncIterator[Adapter]:
    """An adapter that listens."""
    async with running(resting, store):
        yield resting
