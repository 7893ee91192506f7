"""Changes are applied in order by one writer, many in one commit; a commit that fails loses only what it would hold."""

from __future__ import annotations

import asyncio
import errno
import threading

import pytest

import hi2
from hi2.server.admission import Overloaded
from hi2.server.change_queue import ChangeQueue


@pytest.fixture
def opened(index_path):
    """Return a function that makes a queue; it counts commits."""
    commits = []

    def make(most=100):
        queue = ChangeQueue(lambda: hi2.HybridIndex.open(index_path, "w"), lambda: commits.append(1), most=most)
        queue.commits = commits
        return queue

    return make


def add(id, hold=None):
    def apply(index):
        if hold is not None:
            hold.wait(10)
        index.upsert(texts=[f"text {id}"], ids=[id])
        return 1

    return apply


def test_many_changes_are_one_commit(opened, index_path):
    async def run():
        queue, hold = opened(), threading.Event()
        tasks = [asyncio.ensure_future(queue.change(add("first", hold), durable=True))]
        await asyncio.sleep(0.1)
        tasks += [asyncio.ensure_future(queue.change(add(f"d{i}"), durable=True)) for i in range(30)]
        await asyncio.sleep(0.05)
        hold.set()
        assert await asyncio.gather(*tasks) == [1] * 31
        await queue.close()
        return len(queue.commits)

    assert asyncio.run(run()) == 2
    assert len(hi2.HybridIndex.open(index_path)) == 37


def test_a_bad_change_is_refused_and_the_others_are_made(opened, index_path):
    async def run():
        queue = opened()

        def bad(index):
            return index.delete("nope")

        tasks = [
            queue.change(add("a"), durable=True),
            queue.change(bad, durable=True),
            queue.change(add("b"), durable=False),
        ]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        await queue.close()
        return found

    first, second, third = asyncio.run(run())
    assert (first, third) == (1, 1)
    assert isinstance(second, hi2.InvalidParameter)
    assert {"a", "b"} <= set(hi2.HybridIndex.open(index_path).ids())


def test_a_full_disk_refuses_the_change_and_the_last_commit_stands(opened, index_path, monkeypatch):
    async def run():
        queue = opened()
        assert await queue.change(add("kept"), durable=True) == 1
        whole = hi2.HybridIndex.commit

        def full(self, **options):
            raise hi2.Error("The commit failed") from OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(hi2.HybridIndex, "commit", full)
        with pytest.raises(hi2.Error, match="commit failed"):
            await queue.change(add("lost"), durable=True)
        monkeypatch.setattr(hi2.HybridIndex, "commit", whole)
        assert await queue.change(add("later"), durable=True) == 1
        await queue.close()

    asyncio.run(run())
    ids = hi2.HybridIndex.open(index_path).ids()
    assert {"kept", "later"} <= set(ids)
    assert "lost" not in ids


def test_too_many_changes_are_refused_and_so_are_those_after_the_end(opened):
    async def run():
        queue, hold = opened(most=3), threading.Event()
        tasks = [asyncio.ensure_future(queue.change(add("a", hold), durable=False))]
        await asyncio.sleep(0.05)
        tasks += [asyncio.ensure_future(queue.change(add(f"b{i}"), durable=False)) for i in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(Overloaded):
            await queue.change(add("c"), durable=False)
        hold.set()
        await asyncio.gather(*tasks)
        await queue.close()
        with pytest.raises(Overloaded):
            await queue.change(add("c"), durable=False)

    asyncio.run(run())


def test_the_writer_is_opened_late_and_its_lock_released(opened, index_path):
    async def run():
        queue = opened()
        hi2.HybridIndex.open(index_path, "w").close()
        await queue.change(add("a"), durable=True)
        with pytest.raises(hi2.Locked):
            hi2.HybridIndex.open(index_path, "w")
        await queue.close()
        hi2.HybridIndex.open(index_path, "w").close()

    asyncio.run(run())
