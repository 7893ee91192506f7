"""After a kill, a full disk or a read-only folder, the last commit is always intact."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import hi2
from forked import in_child
from hi2.codecs import Codec

resource = pytest.importorskip("resource", reason="limits and forks are Unix's")

ROUNDS = 200


def documents(begin: int, end: int) -> tuple[np.ndarray, list[str], list[str]]:
    vectors = np.stack([np.cos(np.arange(1, 9) * (i + 1)) for i in range(begin, end)]).astype(np.float32)
    return vectors, [f"text number {i} of many words" for i in range(begin, end)], [f"d{i}" for i in range(begin, end)]


def build(folder) -> None:
    vectors, texts, ids = documents(0, 20)
    hi2.HybridIndex.build(vectors, texts, ids=ids, codec=hi2.Flat(), path=folder).close()


def write_until_killed(folder, report: int) -> None:
    """Add, delete, merge and commit forever. Report a change (+), a commit (?) and its end (!)."""
    with hi2.HybridIndex.open(folder, "w") as index:
        n = len(index)
        while True:
            os.write(report, b"+")
            vectors, texts, ids = documents(n, n + 3)
            index.add(vectors, texts, ids=ids)
            if n % 2:
                index.upsert(vectors[:1], texts[:1], ids=ids[:1])
            if n % 4 == 0:
                index.delete(ids[1:2])
                index.add(vectors[1:2], texts[1:2], ids=ids[1:2])
            if n % 5 == 0:
                index.merge()
            os.write(report, b"?")
            index.commit()
            n += 3
            os.write(report, b"!")


@pytest.mark.slow
def test_a_process_killed_at_any_moment_loses_no_commit(tmp_path):
    """Half of the kills are aimed at a change, half at a commit, each at a random moment of its measured duration."""
    folder = tmp_path / "index"
    build(folder)
    rng = random.Random(0)
    committed = 20
    inside = {b"+": 0, b"?": 0}
    takes = {b"+": 0.01, b"?": 0.01}
    for round in range(ROUNDS):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                write_until_killed(folder, write)
            finally:
                os._exit(1)
        os.close(write)
        aim = (b"+", b"?")[round % 2]
        said, begun = b"", time.perf_counter()
        for _ in range(rng.randint(1, 3)):
            mark = b""
            while mark != aim:
                mark = os.read(read, 1)
                assert mark, "the writer stopped by itself"
                if said and mark != b"+":
                    takes[said[-1:]] = time.perf_counter() - begun
                said, begun = said + mark, time.perf_counter()
        time.sleep(rng.random() * takes[aim])
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while chunk := os.read(read, 65536):
            said += chunk
        os.close(read)
        committed += 3 * said.count(b"!")
        inside[said[-1:]] = inside.get(said[-1:], 0) + 1
        index = hi2.HybridIndex.open(folder)
        index.verify()
        assert len(index) in ((committed, committed + 3) if said[-1:] == b"?" else (committed,))
        committed = len(index)
        assert sorted(index.ids(), key=lambda id: int(id[1:])) == [f"d{i}" for i in range(committed)]
        assert index.get(f"d{committed - 1}")["text"] == f"text number {committed - 1} of many words"
        if committed > 600:
            shutil.rmtree(folder)
            build(folder)
            committed = 20
    assert min(inside[b"+"], inside[b"?"]) > ROUNDS // 20, f"the kills missed what they were aimed at: {inside}"


@pytest.mark.parametrize("limit", [0, 200, 1000, 5000, 20_000])
def test_a_full_disk_during_a_commit_loses_nothing(tmp_path, limit):
    """The kernel stops files from growing beyond a limit, as a full disk does."""
    folder = tmp_path / "index"
    build(folder)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with hi2.HybridIndex.open(folder, "w") as index:
            vectors, texts, ids = documents(20, 600)
            index.add(vectors, texts, ids=ids)
            index.delete(["d3"])
            expected = index.search(vectors[5], texts[5], k=9)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(hi2.Error, match="previous commit is intact"):
                index.commit()
            reader = hi2.HybridIndex.open(folder)
            reader.verify()
            assert len(reader) == 20
            assert len(index) == 599  # nothing was lost in memory
            assert index.search(vectors[5], texts[5], k=9).ids.tolist() == expected.ids.tolist()
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            index.commit()
            index.verify()
            assert len(hi2.HybridIndex.open(folder)) == 599

    assert in_child(work) == 0


def test_a_full_disk_after_a_merge_loses_nothing(tmp_path):
    """A failed commit does not remove a merged segment that no manifest names yet."""
    folder = tmp_path / "index"
    build(folder)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with hi2.HybridIndex.open(folder, "w") as index:
            vectors, texts, ids = documents(20, 300)
            index.add(vectors, texts, ids=ids)
            index.merge()
            index.delete("d7")
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
            with pytest.raises(hi2.Error, match="previous commit is intact"):
                index.commit()
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            index.commit()
            index.verify()
        again = hi2.HybridIndex.open(folder)
        again.verify()
        assert len(again) == 299

    assert in_child(work) == 0


@pytest.mark.parametrize("limit", [0, 1000, 20_000])
def test_a_full_disk_during_save_or_build_leaves_no_files_behind(tmp_path, limit):
    vectors, texts, ids = documents(0, 600)
    terms = hi2.BM25(tokenizer="wordpiece")  # whose definition is a large file
    index = hi2.HybridIndex.build(vectors, texts, ids=ids, terms=terms)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        with pytest.raises(hi2.Error, match="Nothing was left behind"):
            index.save(tmp_path / "saved")
        with pytest.raises(hi2.Error, match="Nothing was left behind"):
            hi2.HybridIndex.build(vectors, texts, ids=ids, terms=terms, path=tmp_path / "built")
        assert list(tmp_path.iterdir()) == []

    assert in_child(work) == 0


@pytest.fixture
def public():
    """Yield a folder that every user may enter; those of pytest are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def give_up_root() -> None:
    """Continue as the user nobody if this is root, because root ignores permissions."""
    if os.geteuid() == 0:
        os.setegid(65534)
        os.seteuid(65534)


def test_a_read_only_folder_can_be_read_but_not_written(public):
    build(public / "index")
    (public / "index" / "lock").unlink()
    (public / "index").chmod(0o555)

    def work() -> None:
        give_up_root()
        reader = hi2.HybridIndex.open(public / "index")
        assert len(reader) == 20
        reader.verify()
        with pytest.raises(hi2.Error, match=r"cannot be opened for writing.*[Pp]ermission"):
            hi2.HybridIndex.open(public / "index", "w")
        with pytest.raises(hi2.Error, match="could not be written"):
            reader.save(public / "index" / "copy")

    assert in_child(work) == 0


def test_a_folder_that_becomes_read_only_before_a_commit_loses_nothing(public):
    folder = public / "index"
    build(folder)
    if os.geteuid() == 0:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 65534, 65534)

    def work() -> None:
        give_up_root()
        with hi2.HybridIndex.open(folder, "w") as index:
            vectors, texts, ids = documents(20, 30)
            index.add(vectors, texts, ids=ids)
            folder.chmod(0o555)
            with pytest.raises(hi2.Error, match="previous commit is intact"):
                index.commit()
            assert len(hi2.HybridIndex.open(folder)) == 20
            folder.chmod(0o755)
            index.commit()
            assert len(hi2.HybridIndex.open(folder)) == 30

    assert in_child(work) == 0


def test_an_interrupted_build_leaves_no_files_behind(tmp_path):
    """The interrupt comes while codes are written, when the temporary folder is half full."""
    seen = []

    class Interrupting(Codec):
        def encode(self, vectors, *, threads=1):
            seen.extend(path.name for path in tmp_path.rglob("*.npy"))
            raise KeyboardInterrupt

    vectors, texts, ids = documents(0, 50)
    flat = hi2.Flat().fit(vectors, threads=1)
    codec = Interrupting(flat.spec, flat.arrays, flat.native)
    with pytest.raises(KeyboardInterrupt):
        hi2.HybridIndex.build(vectors, texts, ids=ids, codec=codec, path=tmp_path / "a")
    assert "rows.npy" in seen
    assert list(tmp_path.iterdir()) == []


def test_a_merge_that_fails_on_a_full_disk_changes_nothing(tmp_path):
    build(tmp_path / "a")

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
            vectors, texts, ids = documents(20, 300)
            index.add(vectors, texts, ids=ids)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
            with pytest.raises(hi2.Error, match="merge failed"):
                index.merge()
            assert index.ids() == [f"d{i}" for i in range(300)]

    assert in_child(work) == 0


def test_a_folder_that_is_removed_before_a_commit_is_an_error(tmp_path):
    build(tmp_path / "a")
    index = hi2.HybridIndex.open(tmp_path / "a", "w")
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(hi2.Error, match="was moved, removed or replaced"):
        index.commit()
    index.close()


def test_a_full_disk_can_be_freed_by_deleting(tmp_path):
    """The commit of a deletion writes a few bytes, and does not insist on rewriting what is left."""
    folder = tmp_path / "index"
    vectors, texts, ids = documents(0, 600)
    texts = [text * 20 for text in texts]
    with hi2.HybridIndex.build(vectors[:300], texts[:300], ids=ids[:300], keep_text=True, path=folder) as index:
        index.add(vectors[300:], texts[300:], ids=ids[300:])
        index.commit()

    def size() -> int:
        return sum(path.stat().st_size for path in folder.glob("segment-*/*"))

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with hi2.HybridIndex.open(folder, "w") as index:
            room = (folder / "manifest.json").stat().st_size + 500
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            index.delete(ids[:160])  # most of the first segment, which is rewritten when there is room
            index.commit()
            assert len(hi2.HybridIndex.open(folder)) == 440
            assert index.info()["n_deleted"] == 160
            index.delete(ids[160:300])  # all of it
            index.commit()
            assert len(hi2.HybridIndex.open(folder)) == 300
            index.commit()  # the previous manifest does not name it any more
            index.verify()
        assert hi2.HybridIndex.open(folder).ids() == ids[300:]

    before = size()
    assert in_child(work) == 0
    assert size() < 0.7 * before


def test_an_index_of_many_columns_and_segments_needs_few_descriptors(tmp_path, monkeypatch):
    """20 string columns and 5 segments have 300 files; a process may have as few as 64 of them open."""
    vectors = np.stack([np.cos(np.arange(1, 9) * (i + 1)) for i in range(200)]).astype(np.float32)
    payload = [{f"column{j}": f"value {i % 7}" for j in range(20)} for i in range(200)]

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        sizes = [137, 43, 14, 5, 1]  # each more than twice what follows, so that none are merged
        with hi2.HybridIndex.build(vectors[:137], terms=None, payload=payload[:137], path=tmp_path / "a") as index:
            begin = 137
            monkeypatch.setattr("hi2.changes.commit.SMALL_SEGMENT", 0)  # many files, not one
            for size in sizes[1:]:
                index.add(vectors[begin : begin + size], payload=payload[begin : begin + size])
                begin += size
                index.commit()
            assert index.info()["n_segments"] == 5
            assert len(list((tmp_path / "a").rglob("*.npy"))) > 300
            reader = hi2.HybridIndex.open(tmp_path / "a")
            assert len(reader.search(vectors[0], filter="column3 == 'value 2'", k=100).ids) == 29
            reader.verify()
            index.merge()
            index.commit()
            index.verify()

    assert in_child(work) == 0
