"""Queries that wait form batches with the answers they have alone; too many are refused; a bad one spoils no other."""

from __future__ import annotations

import asyncio
import json
import threading

import numpy as np
import pytest

import hi2
from hi2.server.answers import Wanted
from hi2.server.search_queue import LARGEST_BATCH, Asked, Options, SearchQueue

OPTIONS = Options(3, words=False, wanted=Wanted())


class Recording:
    """A searcher that notes the size of each batch, and may be held up."""

    def __init__(self, index):
        self.index, self.sizes, self.go = index, [], threading.Event()
        self.go.set()

    def search(self, vectors, texts=None, **options):
        asked = texts if vectors is None else vectors
        alone = isinstance(asked, str) or (np.ndim(asked) == 1 and not isinstance(asked, list))
        self.sizes.append(1 if alone else len(asked))
        self.go.wait(10)
        return self.index.search(vectors, texts, **options)


@pytest.fixture
def recording(index_path):
    return Recording(hi2.HybridIndex.open(index_path))


def queue(threads=1):
    return SearchQueue(threads, observe=lambda queries, scored: None)


def test_what_waits_is_answered_together_as_it_would_be_alone(recording, encoder):
    texts = [f"a fruit number {i}" for i in range(40)]
    vectors = encoder(texts)

    async def run():
        searches = queue()
        recording.go.clear()
        asked = [
            searches.search(recording, [Asked(text, vector.tolist(), None)], OPTIONS)
            for text, vector in zip(texts, vectors, strict=True)
        ]
        tasks = [asyncio.ensure_future(own) for own in asked]
        await asyncio.sleep(0.1)
        recording.go.set()
        return await asyncio.gather(*tasks)

    found = asyncio.run(run())
    assert recording.sizes[0] == 1
    assert max(recording.sizes) == LARGEST_BATCH
    for text, vector, (own,) in zip(texts, vectors, found, strict=True):
        alone = recording.index.search(vector, text, k=3)
        assert [hit["id"] for hit in json.loads(own)["hits"]] == alone.ids.tolist()
        assert [hit["score"] for hit in json.loads(own)["hits"]] == pytest.approx(alone.scores.tolist())


def test_filters_and_options_are_kept_apart(recording):
    async def run():
        searches = queue()
        recording.go.clear()
        first = asyncio.ensure_future(searches.search(recording, [Asked("fruit", None, None)], OPTIONS))
        asked = [Asked("fruit", None, f"n == {i}") for i in range(6)]
        others = [asyncio.ensure_future(searches.search(recording, [own], OPTIONS)) for own in asked]
        words = asyncio.ensure_future(
            searches.search(recording, [Asked("fruit", None, None)], Options(3, words=True, wanted=Wanted()))
        )
        await asyncio.sleep(0.1)
        recording.go.set()
        await first
        return await asyncio.gather(*others), await words

    found, words = asyncio.run(run())
    assert [[hit["payload"]["n"] for hit in json.loads(own)["hits"]] for (own,) in found] == [[i] for i in range(6)]
    assert {hit["id"] for hit in json.loads(words[0])["hits"]} == {"apple", "pear"}


def test_one_bad_query_spoils_no_other(recording):
    async def run():
        searches = queue()
        recording.go.clear()
        first = asyncio.ensure_future(searches.search(recording, [Asked("fruit", None, None)], OPTIONS))
        good = asyncio.ensure_future(searches.search(recording, [Asked("car", None, None)], OPTIONS))
        bad = asyncio.ensure_future(searches.search(recording, [Asked("car", None, "nope == 1")], OPTIONS))
        await asyncio.sleep(0.05)
        recording.go.set()
        return await asyncio.gather(first, good, bad, return_exceptions=True)

    first, good, bad = asyncio.run(run())
    assert json.loads(good[0])["hits"][0]["id"] == "car"
    assert isinstance(bad, hi2.InvalidParameter)
    assert json.loads(first[0])["hits"]


def test_whoever_is_gone_is_left_out(recording):
    async def run():
        searches = queue()
        recording.go.clear()
        first = asyncio.ensure_future(searches.search(recording, [Asked("fruit", None, None)], OPTIONS))
        gone = asyncio.ensure_future(searches.search(recording, [Asked("a", None, None)], OPTIONS))
        await asyncio.sleep(0.05)
        gone.cancel()
        recording.go.set()
        await first
        await asyncio.sleep(0.05)
        return searches.n_waiting, searches.n_running

    assert asyncio.run(run()) == (0, 0)
    assert recording.sizes == [1]
