"""The HTTP embedder against an embeddings server that others wrote."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from memory.embedders.http import HttpEmbedder
from memory.errors import EmbedderError, EmbedderUnavailable, EmbedderUnusable
from memory.testing import FakeClock
from tests.emulators.messages.llmock import LlmockProcess

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def llmock_process() -> Iterator[LlmockProcess]:
    with LlmockProcess() as process:
        yield process


def embedder_at(process: LlmockProcess, path: str = "/v1") -> HttpEmbedder:
    base_url = process.base_url.removesuffix("/anthropic") + path
    return HttpEmbedder(base_url, "text-embedding-3-small", "any-key", clock=FakeClock())


async def test_a_server_of_others_gives_vectors(llmock_process: LlmockProcess) -> None:
    embedder = embedder_at(llmock_process)

    rows = await embedder.embed(["one", "two", "one"], kind="passage")
    await embedder.close()

    assert rows.shape == (3, 1536)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.array_equal(rows[0], rows[2]) and not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize(
    ("behaviours", "leaf"),
    [
        ([{"type": "fail", "status": 401}], EmbedderUnusable),
        ([{"type": "fail", "status": 404}], EmbedderUnusable),
        ([{"type": "fail", "status": 400}] * 2, EmbedderUnusable),
        ([{"type": "fail", "status": 429, "retry_after": 90}], EmbedderUnavailable),
    ],
)
async def test_a_server_of_others_that_fails_is_understood(
    llmock_process: LlmockProcess, behaviours: list[dict[str, Any]], leaf: type[EmbedderError]
) -> None:
    llmock_process.script(*behaviours)
    embedder = embedder_at(llmock_process)

    with pytest.raises(leaf) as caught:
        await embedder.embed(["a text"], kind="passage")
    await embedder.close()

    assert behaviours[0].get("retry_after") == getattr(caught.value, "retry_after", None)
    assert llmock_process.seen() == len(behaviours)


async def test_a_path_that_makes_no_embeddings_is_named(llmock_process: LlmockProcess) -> None:
    embedder = embedder_at(llmock_process, "/elsewhere")

    with pytest.raises(EmbedderUnusable, match=r"memory\.embedder\.base_url"):
        await embedder.embed(["a text"], kind="passage")
    await embedder.close()
