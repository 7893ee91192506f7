"""In which order are queries answered, and which together? Those that wait while all cores are busy form a batch.

A query that finds a free core is searched for at once. The others wait, and whatever waits when a core becomes free,
with the same options, is one batch: encoded in one call, searched in one call without the GIL. So load makes batches,
and no query waits for company.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hi2.errors import Error
from hi2.server.answers import Wanted, answers
from hi2.types import Searcher

#: Queries of one batch: more would make the last of them wait for the answers of the others.
LARGEST_BATCH = 32


@dataclass(frozen=True)
class Asked:
    """One query: its text, its vector, or both, and a filter."""

    text: str | None
    vector: list[float] | None
    filter: str | None


@dataclass(frozen=True)
class Options:
    """How queries are answered. Those with equal options can form a batch."""

    k: int
    words: bool
    wanted: Wanted
    #: Further arguments of ``HybridIndex.search``, those that were given.
    arguments: tuple[tuple[str, Any], ...] = ()


@dataclass
class _Waiting:
    """Queries of one request that wait for their turn."""

    queries: Sequence[Asked]
    done: asyncio.Future[list[bytes]] = field(repr=False)


#: What queries of one batch share: who answers them, how, and whether they have texts and vectors.
_Kind = tuple[Searcher, Options, str]


class SearchQueue:
    """The queries that wait for a core, of all collections."""

    def __init__(self, threads: int, *, observe: Callable[[int, int], None]) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="hi2-search")
        self._threads = threads
        #: Called with the number of queries and of documents scored, of every batch.
        self._observe = observe
        self._waiting: dict[_Kind, deque[_Waiting]] = {}
        self._running = 0
        #: Queries that wait, and those that are being answered.
        self.n_waiting = 0
        self.n_running = 0

    async def search(self, searcher: Searcher, queries: Sequence[Asked], options: Options) -> list[bytes]:
        """Return the answers to queries as JSON, in their order."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(queries, loop.create_future())
        key = (searcher, options, _parts(queries[0]))
        if any(_parts(query) != key[2] for query in queries):
            apart = [self.search(searcher, [query], options) for query in queries]
            return [answer for (answer,) in await asyncio.gather(*apart)]
        self._waiting.setdefault(key, deque()).append(waiting)
        self.n_waiting += len(queries)
        self._start()
        try:
            return await waiting.done
        except asyncio.CancelledError:
            waiting.done.cancel()  # whoever asked is gone: it is left out of the batch
            raise

    def close(self) -> None:
        """Wait for the searches that run."""
        self._pool.shutdown(wait=True)

    def _start(self) -> None:
        """Give every free core a batch."""
        while self._running < self._threads and self._waiting:
            key = next(iter(self._waiting))
            batch = self._take(key)
            if not batch:
                continue
            n = sum(len(own.queries) for own in batch)
            self._running += 1
            self.n_running += n
            asyncio.get_running_loop().create_task(self._answer(key[0], batch, key[1], n))

    def _take(self, key: _Kind) -> list[_Waiting]:
        """Remove the first requests of a kind from the queue: as many as one batch may have."""
        queue, n = self._waiting[key], 0
        batch: list[_Waiting] = []
        while queue and (not batch or n + len(queue[0].queries) <= LARGEST_BATCH):
            own = queue.popleft()
            self.n_waiting -= len(own.queries)
            if not own.done.cancelled():
                batch.append(own)
                n += len(own.queries)
        if queue:  # the others have their turn first
            self._waiting[key] = self._waiting.pop(key)
        else:
            del self._waiting[key]
        return batch

    async def _answer(self, searcher: Searcher, batch: Sequence[_Waiting], options: Options, n: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._pool, _answer_batch, searcher, batch, options)
        except BaseException as error:  # such as a lack of memory; each request is told
            found = [error] * len(batch), 0
        finally:
            self._running -= 1
            self.n_running -= n
        self._observe(n, found[1])
        for waiting, result in zip(batch, found[0], strict=True):
            if not waiting.done.done():
                if isinstance(result, BaseException):
                    waiting.done.set_exception(result)
                else:
                    waiting.done.set_result(result)
        self._start()


def _parts(query: Asked) -> str:
    """What a query consists of; only queries of one kind are a batch."""
    return f"{query.text is not None}{len(query.vector) if query.vector is not None else None}"


def _answer_batch(
    searcher: Searcher, batch: Sequence[_Waiting], options: Options
) -> tuple[list[list[bytes] | BaseException], int]:
    """Return the answers to each request, or what is wrong with it, and how many documents were scored."""
    queries = [query for own in batch for query in own.queries]
    try:
        found, n_scored = _found(searcher, queries, options)
    except Error as error:
        if len(batch) == 1:
            return [error], 0
        apart = [_answer_batch(searcher, [own], options) for own in batch]  # one of them is wrong
        return [own[0][0] for own in apart], sum(own[1] for own in apart)
    answered, at = [], 0
    for own in batch:
        answered.append(found[at : at + len(own.queries)])
        at += len(own.queries)
    return list(answered), n_scored


def _found(searcher: Searcher, queries: Sequence[Asked], options: Options) -> tuple[list[bytes], int]:
    arguments: dict[str, Any] = {"k": options.k, "threads": 1, **dict(options.arguments)}
    first = queries[0]
    if len(queries) == 1:
        vector = None if first.vector is None else np.array(first.vector, np.float32)
        arguments["filter"] = first.filter
        hits = searcher.search(*_asked(vector, first.text, options.words), **arguments)
        return [answers(hits, options.wanted)], int(hits.n_scored)
    vectors = None if first.vector is None else np.array([query.vector for query in queries], np.float32)
    texts = None if first.text is None else [query.text for query in queries]
    if any(query.filter is not None for query in queries):
        arguments["filters"] = [query.filter for query in queries]
    batch = searcher.search(*_asked(vectors, texts, options.words), **arguments)
    return [answers(hits, options.wanted) for hits in batch.each], int(np.sum(batch.n_scored))


def _asked(vectors: Any, texts: Any, words: bool) -> tuple[Any, Any]:
    """The first two arguments of a search: text alone goes to the encoder, unless words alone are to rank."""
    return (texts, None) if vectors is None and not words else (vectors, texts)
