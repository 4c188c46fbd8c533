"""Files come and go on every platform."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.base import Adapter, Outbound, OutFile
from adapters.errors import Rejected
from tests.contract.committed import Store
from tests.contract.promises.rig import Rig

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_a_file_that_came_is_named_and_fetched(rig: Rig, adapter: Adapter, store: Store) -> None:
    await rig.attach("report.txt", b"the report", "read this", await rig.private())

    [heard] = await store.messages()

    [attachment] = heard.attachments
    assert (heard.text, attachment.kind, attachment.name) == ("read this", "document", "report.txt")
    assert attachment.size_bytes == 10
    assert await adapter.fetch(attachment, max_bytes=10) == b"the report"


@pytest.mark.parametrize("claimed", [11, 5, None])
async def test_a_file_above_our_limit_is_refused_whatever_it_says_of_itself(
    rig: Rig, adapter: Adapter, store: Store, claimed: int | None
) -> None:
    await rig.attach("report.txt", b"the reports", "read this", await rig.private())
    [heard] = await store.messages()

    with pytest.raises(Rejected) as refusal:
        await adapter.fetch(replace(heard.attachments[0], size_bytes=claimed), max_bytes=10)

    assert refusal.value.reason == "too_long"


async def test_a_file_that_the_platform_does_not_know_is_rejected(rig: Rig, adapter: Adapter) -> None:
    with pytest.raises(Rejected):
        await adapter.fetch(rig.lost_file, max_bytes=10)


async def test_a_file_is_sent_with_its_name_and_caption_into_its_thread(
    rig: Rig, adapter: Adapter, tmp_path: Path
) -> None:
    thread = await rig.thread()
    (tmp_path / "1").write_bytes(b"text")

    await adapter.send(Outbound(thread, "the report", "k1", file=OutFile("report.txt", str(tmp_path / "1"))))

    [shown] = await rig.shown(1)
    assert (shown.chat, shown.text, shown.files) == (thread, "the report", (("report.txt", 4),))


async def test_a_file_that_is_gone_is_rejected_by_its_name(rig: Rig, adapter: Adapter, tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"report\.txt"):
        await adapter.send(Outbound(rig.group(), "", "k1", file=OutFile("report.txt", str(tmp_path / "none"))))

    assert await rig.shown() == []
