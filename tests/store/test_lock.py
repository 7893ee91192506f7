"""One process writes at a time, and its lock dies with it."""

from __future__ import annotations

import gc
import os

import pytest

import hi2
from hi2.store.folder import Folder
from hi2.store.lock import WriterLock

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_there_is_only_one_writer(small, tmp_path):
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    with pytest.raises(hi2.Locked, match="Another writer"):
        hi2.HybridIndex.open(tmp_path / "a", "w")
    writer.close()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


def test_a_writer_that_is_garbage_collected_releases_its_lock(small, tmp_path):
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    del writer
    gc.collect()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


@needs_fork
def test_a_forked_child_neither_holds_nor_releases_the_lock(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        try:
            writer.commit()
        except hi2.Error:
            os.read(read, 1)  # stay alive until the parent is done
            os._exit(0)
        os._exit(1)
    with pytest.raises(hi2.Locked):
        hi2.HybridIndex.open(tmp_path / "a", "w")
    writer.delete(corpus.ids[0])
    writer.commit()
    writer.close()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()  # although the child is alive
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_fork
def test_a_killed_process_releases_its_lock(small, tmp_path):
    small.save(tmp_path / "a")
    child = os.fork()
    if child == 0:
        hi2.HybridIndex.open(tmp_path / "a", "w")
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


def test_a_closed_lock_is_no_longer_held_and_may_be_closed_again(tmp_path):
    lock = WriterLock(Folder.open(tmp_path))
    lock.check()
    with pytest.raises(hi2.Locked, match="mode='r'"):
        WriterLock(Folder.open(tmp_path))
    lock.close()
    lock.close()
    with pytest.raises(hi2.Error, match="was closed"):
        lock.check()
    WriterLock(Folder.open(tmp_path)).close()


def test_a_lock_whose_file_was_removed_or_replaced_is_no_longer_held(tmp_path):
    lock = WriterLock(Folder.open(tmp_path))
    (tmp_path / "lock").unlink()
    with pytest.raises(hi2.Locked, match="removed or replaced"):
        lock.check()
    second = WriterLock(Folder.open(tmp_path))
    second.check()
    with pytest.raises(hi2.Locked, match="removed or replaced"):
        lock.check()
    lock.close()
    second.check()


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are Unix's")
def test_a_lock_that_is_a_link_or_a_pipe_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "lock").symlink_to(tmp_path / "outside")
    with pytest.raises(hi2.FormatError, match="is a link"):
        WriterLock(Folder.open(tmp_path / "a"))
    assert not (tmp_path / "outside").exists()
    (tmp_path / "a" / "lock").unlink()
    os.mkfifo(tmp_path / "a" / "lock")
    with pytest.raises(hi2.FormatError, match="a pipe"):
        WriterLock(Folder.open(tmp_path / "a"))
