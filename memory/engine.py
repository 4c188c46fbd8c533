"""The memory of an agent: the one door to its index, for searching and for keeping it up to date with the notes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memory.base import Answer, Progress, RankingName, SearchSettings, Status
from memory.chunks import Chunking
from memory.clock import Clock, user_day
from memory.cuts import both_ends
from memory.dates import QUERY_CHARACTERS
from memory.embedders.base import Embedder
from memory.errors import DatabaseError, EmbedderError
from memory.index import pending, serving, store
from memory.index.embedding import Embedding
from memory.index.failures import Failures, WatchedEmbedder
from memory.index.file import IndexFile, IndexReplaced
from memory.index.indexer import Changes, Indexer
from memory.index.models import Previous
from memory.index.pending import Counts
from memory.index.questions import Asked, Questions, by_words
from memory.index.upkeep import Upkeep
from memory.index.vectors import ModelReplaced
from memory.scan import Tree
from memory.search import Found, Unit, search
from memory.shelves import Audience

if TYPE_CHECKING:
    from memory.sqlite import Transaction

NO_EMBEDDER = "No embedder is set (memory.embedder.provider is none)."
_NO_EXTENSION = "The packages numpy and sqlite-vec are not both there; install scrubjay[local], and restart."
_DEAD_EXTENSION = "SQLite cannot load sqlite-vec; the log says why. Install scrubjay[local] anew, and restart."
_BEHIND = "Not everything in memory can be found at this moment."  # these three say no more than that
_BY_WORDS = "Memory is searched by words only."
_BY_MEANING_IN_PART = "Not everything in memory can be found by meaning so far, but all of it by its words."
_REPLACED = "The index was replaced again and again while it was searched; search once more."
_TRIES = 3

log = logging.getLogger(__name__)


class Memory:
    """What an agent remembers: the Markdown of its workspace and of the owner's extra paths, and an index to find it.

    Made by `open`, kept up to date by `run`, closed by `close`. The embedder is closed by its owner.
    """

    def __init__(
        self,
        file: IndexFile,
        indexer: Indexer,
        upkeep: Upkeep,
        embedding: Embedding | None,
        failures: Failures | None,
        *,
        embedder: Embedder | None,
        settings: SearchSettings,
        clock: Clock,
    ) -> None:
        self._file = file
        self._indexer = indexer
        self._upkeep = upkeep
        self._embedding = embedding
        self._failures = failures
        self._questions = Questions(embedding, clock) if embedding is not None else None
        self._embedder = embedder
        self._settings = settings
        self._clock = clock

    @classmethod
    async def open(
        cls,
        database: Path,
        workspace: Path,
        *,
        embedder: Embedder | None,
        previous: Previous = lambda identity: None,
        extra_paths: Sequence[Path] = (),
        chunking: Chunking = Chunking(),  # noqa: B008
        settings: SearchSettings = SearchSettings(),  # noqa: B008
        clock: Clock,
        quiet_seconds: float = 1.5,
        rescan_seconds: float = 300.0,
        rest_seconds: float = 0.0,
    ) -> "Memory":
        """Open or make the index at `database` of the notes in `workspace` and `extra_paths`.

        Without an embedder memory is searched by words only. `previous` gives, by its identity, the embedder whose vectors
        the index still has: they serve until `embedder` has embedded everything. A damaged index is moved aside and made
        anew, and that is said. `run` embeds after `rest_seconds`, or as soon as a file was touched: a start is busy enough
        without it. Raises `DatabaseError` if there can be no index.
        """
        file = await IndexFile.open(database, clock)
        tree = Tree(workspace, extra_paths)
        embedding = failures = None
        if embedder is not None and file.can_compare:
            watched = WatchedEmbedder(embedder, clock)
            failures = Failures(file, watched)
            embedding = Embedding(file, watched, previous, clock=clock, rest_seconds=rest_seconds)
        indexer = Indexer(file, tree, chunking, changed=embedding.wake if embedding else lambda: None)
        pace = {"quiet_seconds": quiet_seconds, "rescan_seconds": rescan_seconds}
        upkeep = Upkeep(file, tree, indexer, embedding, clock=clock, **pace)
        if embedding is not None:
            embedding.changed = upkeep.tell
        memory = cls(file, indexer, upkeep, embedding, failures, embedder=embedder, settings=settings, clock=clock)
        file.replaced = memory._begin_again
        return memory

    async def run(self) -> None:
        """Keep the index up to date with the notes until cancelled; raises for no file, embedder or disk."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._upkeep.run(), name="memory: upkeep")
            if self._failures is not None:
                group.create_task(self._failures.run(), name="memory: failures of the embedder")

    async def search(
        self,
        query: str,
        audience: Audience,
        *,
        limit: int = 6,
        min_score: float | None = None,
        ranking: RankingName | None = None,
        explain: bool = False,
        unit: Unit = "window",
    ) -> Answer:
        """Return what the notes that `audience` may read say on `query`, the best first; `unit` is for measuring.

        In the first five seconds it waits until all notes can be found by their words; after `touch`, until that file can
        be found, two seconds at most. What is less than it could be is said in `degraded`, never raised, and only to the
        owner with the reason: it may name paths, or how much others have written.
        """
        query = both_ends(query, QUERY_CHARACTERS)
        settings = self._settings if ranking is None else replace(self._settings, ranking=ranking)
        look = partial(
            search,
            query=query,
            audience=audience,
            settings=settings,
            limit=limit,
            min_score=min_score,
            explain=explain,
            unit=unit,
            today=user_day(self._clock.now(), self._clock.zone),
        )
        asked, found = Asked(None, None), Found(())
        trouble: str | None = None
        for _ in range(_TRIES):
            try:
                await self._file.look()  # first, because there may be much to wait for if it is another one now
                await self._upkeep.caught_up()
                asked = await self._ask(query, settings.ranking)
                found = await self._file.read_with(partial(look, vectors=asked.vectors))
                break
            except (IndexReplaced, ModelReplaced):
                continue  # with what there is now
            except DatabaseError as error:
                log.error("memory cannot be searched: %s", error, extra={"action": "search_failed"})
                trouble = str(error)
                break
        else:
            trouble = _REPLACED
        behind = trouble or self._upkeep.degraded
        degraded = behind or asked.degraded
        if degraded is not None and not audience.is_owner:
            degraded = _BEHIND if behind else _BY_WORDS if asked.vectors is None else _BY_MEANING_IN_PART
        return Answer(found.results, self._provider, self._model, degraded, found.weak)

    def touch(self, path: str) -> None:
        """Note that the file at `path`, as results name it, was just written: it is indexed before the next search."""
        self._upkeep.touch(path)

    async def index(self, *, force: bool = False, report: Callable[[Progress], None] | None = None) -> Status:
        """Index and embed everything now, with `force` all of it anew; what stops that is said in the status."""
        progress = _Progress(report or (lambda progress: None))
        for _ in range(_TRIES):
            if await self._upkeep.reconcile(force=force, report=progress.files):
                break
        if self._embedding is not None:
            with suppress(EmbedderError, DatabaseError, IndexReplaced):  # they are kept as trouble, or a scan is due
                await self._embedding.catch_up(anew=force, report=progress.vectors)
        if self._failures is not None:
            await self._failures.keep()
        await self._file.compact()
        return await self._told(self._status)

    async def purge(self) -> None:
        """Bring the index up to date, and leave nothing in its file of what the notes do not say any more.

        Raises `DatabaseError` when it cannot be written.
        """
        for _ in range(_TRIES):
            if await self._upkeep.reconcile():
                break
        with suppress(IndexReplaced):  # then nothing is left of it
            await self._file.write(lambda tx: (tx.run("chunks_fts_optimize"), tx.run("entries_fts_optimize")))
        await self._file.compact(always=True)

    async def status(self) -> Status:
        """Return what the index holds, what waits, and what is less than it could be; also what the embedder last failed
        with, be it in another process."""
        return await self._told(self._status_with_failure)

    async def _told(self, look: Callable[[], Awaitable[Status]]) -> Status:
        for _ in range(_TRIES):
            try:
                await self._file.look()
                return await look()
            except IndexReplaced:
                continue
            except DatabaseError as error:
                return self._empty(str(error))
        return self._empty(self._file.loss)

    async def close(self) -> None:
        """Close the index; may be called twice."""
        if self._embedding is not None:
            await self._embedding.models.close()
        if self._failures is not None:
            await self._failures.keep()
        await self._file.close()

    @property
    def _provider(self) -> str:
        return self._embedder.provider if self._embedder is not None else "none"

    @property
    def _model(self) -> str:
        return self._embedder.model if self._embedder is not None else ""

    async def _ask(self, query: str, ranking: RankingName) -> Asked:
        if ranking == "words":
            return Asked(None, None)
        if self._questions is None:
            return Asked(None, self._words_only())
        return await self._questions.ask(query)

    def _words_only(self) -> str:
        if self._embedder is None:
            return by_words(NO_EMBEDDER)
        return by_words(_DEAD_EXTENSION if self._file.has_extension else _NO_EXTENSION)

    async def _status(self) -> Status:
        embedding, questions = self._embedding, self._questions
        counts = Counts()
        degraded: str | None = self._words_only()
        if embedding is not None and questions is not None:
            target = await self._file.read(lambda tx: serving.known(tx, embedding.models.embedder.identity))
            counts = embedding.counts = await self._file.read(lambda tx: pending.counts(tx, target))
            degraded = await questions.degraded(await embedding.models.in_use())
        refused = dict(embedding.refused) if embedding is not None else {}
        row, skipped = await self._file.read(lambda tx: (store.counts(tx), _skipped(tx, refused)))
        return Status(
            row["files"],
            row["chunks"],
            row["entries"],
            counts.pending,
            self._provider,
            self._model,
            self._upkeep.degraded or degraded,
            dict(self._indexer.problems) | skipped,
        )

    async def _status_with_failure(self) -> Status:
        status = await self._status()
        failure = await self._failures.last() if self._failures is not None else None
        if failure is None or failure.said in (status.degraded or ""):
            return status
        said = failure.told(self._clock.zone)
        return replace(status, degraded=f"{status.degraded} {said}" if status.degraded else said)

    def _begin_again(self) -> None:
        """Fill the index that has just taken the place of another, or bring it up to date."""
        self._upkeep.scan_anew()
        if self._embedding is not None:
            self._embedding.wake()

    def _empty(self, degraded: str | None) -> Status:
        return Status(0, 0, 0, 0, self._provider, self._model, degraded, dict(self._indexer.problems))


class _Progress:
    """Adds up what the two halves of indexing report."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._now = Progress(0, 0, 0, 0, 0)

    def files(self, changes: Changes) -> None:
        now = replace(self._now, files=changes.files, files_total=changes.files_total, chunks=changes.chunks)
        self._say(now)

    def vectors(self, counts: Counts) -> None:
        self._say(replace(self._now, vectors=counts.done, vectors_total=counts.passages))

    def _say(self, now: Progress) -> None:
        self._now = now
        self._report(now)


def _skipped(tx: "Transaction", refused: dict[bytes, str]) -> dict[str, str]:
    """Return, by path, why a file or a passage of it is not in the index as it should be."""
    passages = {
        path: f"A passage is found by its words only: {why}"
        for hash_, why in refused.items()
        for path in pending.paths(tx, hash_)
    }
    return passages | store.problems(tx)
