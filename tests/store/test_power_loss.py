"""Whatever the disk had not confirmed may be lost or torn when the power fails; every acknowledged document is there.

Every write, flush and rename of a run of commits is recorded. Each prefix of them is replayed into a folder in which
data that was not flushed is dropped or torn, and names that were not flushed are those of before or after. The result
must open, verify and hold what was acknowledged.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import hi2
from hi2.store.folder import Folder


class Recorder:
    """The operations on files under a root, in order: (kind, *arguments), paths relative to the root."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.log: list[tuple] = []
        self.paths: dict[int, str] = {}
        create, make_child, rename = Folder.create, Folder.make_child, Folder.rename
        unlink, copy_over, fsync = Folder.unlink, Folder.copy_over, os.fsync
        recorder = self

        class Recorded:
            def __init__(self, file, path):
                self._file, self._path = file, path

            def write(self, data):
                recorder.log.append(("write", self._path, bytes(data)))
                return self._file.write(data)

            def __getattr__(self, name):
                return getattr(self._file, name)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self._file.close()

        def recorded_create(own, name):
            file = create(own, name)
            path = self.path(own, name)
            self.paths[file.fileno()] = path
            self.log.append(("create", path))
            return Recorded(file, path)

        def recorded_make_child(own, name):
            self.log.append(("mkdir", self.path(own, name)))
            return make_child(own, name)

        def recorded_rename(own, old, new):
            rename(own, old, new)
            self.log.append(("rename", self.path(own, old), self.path(own, new)))

        def recorded_unlink(own, name):
            if own.stat(name) is not None:
                self.log.append(("unlink", self.path(own, name)))
            unlink(own, name)

        def recorded_copy_over(own, name, other, *, limit):
            copy_over(own, name, other, limit=limit)
            self.log[:] = [entry for entry in self.log if not str(entry[1]).endswith(".previous.json.new")]
            self.log.append(("link", self.path(own, name), self.path(own, other)))

        def recorded_fsync(fd):
            fsync(fd)
            self.log.append(("fsync", self.relative(str(Path(f"/proc/self/fd/{fd}").readlink()))))

        monkeypatch.setattr(Folder, "create", recorded_create)
        monkeypatch.setattr(Folder, "make_child", recorded_make_child)
        monkeypatch.setattr(Folder, "rename", recorded_rename)
        monkeypatch.setattr(Folder, "unlink", recorded_unlink)
        monkeypatch.setattr(Folder, "copy_over", recorded_copy_over)
        monkeypatch.setattr(os, "fsync", recorded_fsync)

    def path(self, folder: Folder, name: str) -> str:
        return self.relative(str(folder.path / name))

    def relative(self, path: str) -> str:
        return os.path.relpath(path, self.root)

    def acknowledge(self, ids: list[str]) -> None:
        self.log.append(("acknowledged", frozenset(ids)))


class Disk:
    """What is on a disk: durable entries of folders and contents of files, and what may or may not be there."""

    def __init__(self, start: dict[str, bytes]) -> None:
        self.inodes: dict[int, bytearray] = {}
        self.synced: dict[int, bytes] = {}
        self.names: dict[str, int | None] = {}  # None: a folder
        self.durable: dict[str, int | None] = {}
        for number, (path, data) in enumerate(start.items()):
            self.inodes[number] = bytearray(data)
            self.synced[number] = bytes(data)
            self.names[path] = number
        folders = {str(parent) for path in start for parent in Path(path).parents}
        self.names |= dict.fromkeys(folders)
        self.durable = dict(self.names)

    def apply(self, entry: tuple) -> None:
        kind, *rest = entry
        if kind == "create":
            number = len(self.inodes)
            self.inodes[number] = bytearray()
            self.synced[number] = b""
            self.names[rest[0]] = number
        elif kind == "mkdir":
            self.names[rest[0]] = None
        elif kind == "write":
            self.inodes[self.names[rest[0]]] += rest[1]
        elif kind == "rename":
            self.names[rest[1]] = self.names.pop(rest[0])
        elif kind == "link":
            self.names[rest[1]] = self.names[rest[0]]
        elif kind == "unlink":
            self.names.pop(rest[0], None)
        elif kind == "fsync" and self.names.get(rest[0], 0) is None:
            inside = {path for path in {*self.names, *self.durable} if str(Path(path).parent) == rest[0]}
            for path in inside:
                if path in self.names:
                    self.durable[path] = self.names[path]
                else:
                    self.durable.pop(path, None)
        elif kind == "fsync" and rest[0] in self.names:
            number = self.names[rest[0]]
            self.synced[number] = bytes(self.inodes[number])

    def after_a_crash(self, how: str, chance: random.Random) -> dict[str, bytes | None]:
        """Return what is there: unsynced names and data dropped, kept, or some of each with torn ends."""
        names = dict(self.durable)
        for path in {*self.names, *self.durable}:
            if how == "kept" or (how == "torn" and chance.random() < 0.5):
                if path in self.names:
                    names[path] = self.names[path]
                else:
                    names.pop(path, None)
        found: dict[str, bytes | None] = {}
        for path, number in names.items():
            if number is None:
                found[path] = None
                continue
            data, whole = self.synced[number], bytes(self.inodes[number])
            if how == "kept":
                data = whole
            elif how == "torn" and len(whole) > len(data):
                data = whole[: chance.randint(len(data), len(whole))]
                data = data[: max(len(self.synced[number]), len(data) - 64)] + bytes(
                    min(64, len(data) - len(self.synced[number]))
                )
            found[path] = data
        return found


def files_under(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(root)), path.read_bytes()


def restore(found: dict[str, bytes | None], root: Path) -> None:
    for path, data in sorted(found.items(), key=lambda own: len(own[0])):
        target = root / path
        if not (root / Path(path).parent).is_dir():
            continue  # its folder was lost
        if data is None:
            target.mkdir(exist_ok=True)
        elif not target.exists():
            target.write_bytes(data)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to know what is flushed")
@pytest.mark.parametrize("how", ["dropped", "kept", "torn"])
def test_acknowledged_documents_survive_a_loss_of_power(how, tmp_path, monkeypatch):
    random_vectors = np.random.default_rng(3).standard_normal((80, 8)).astype(np.float32)
    texts = [f"word{i} common thing{i % 5}" for i in range(80)]
    ids = [f"d{i}" for i in range(80)]
    root = tmp_path / "disk"
    root.mkdir()
    hi2.HybridIndex.build(
        random_vectors[:40], texts[:40], ids=ids[:40], payload=[{"n": i} for i in range(40)], path=root / "a"
    ).close()
    start = dict(files_under(root))
    recorder = Recorder(root, monkeypatch)
    recorder.acknowledge(ids[:40])
    alive = ids[:40]
    with hi2.HybridIndex.open(root / "a", "w") as index:
        for step in range(8):
            row = 40 + step
            index.add(random_vectors[row : row + 1], texts[row : row + 1], ids=[ids[row]], payload=[{"n": row}])
            alive = [*alive, ids[row]]
            if step % 3 == 1:
                index.delete(alive[0])
                alive = alive[1:]
            if step % 4 == 2:
                index.update(ids[row], payload={"n": -1})
            index.commit()
            recorder.acknowledge(alive)
        index.merge()
        index.commit()
        recorder.acknowledge(alive)
    monkeypatch.undo()
    log, chance = recorder.log, random.Random(7)
    kinds = {entry[0] for entry in log}
    assert {"create", "write", "fsync", "rename", "link", "mkdir", "acknowledged"} <= kinds
    disk = Disk(start)
    before, states = frozenset(), 0
    pending = [own for kind, *own in log if kind == "acknowledged"]
    for place, entry in enumerate(log):
        if entry[0] == "acknowledged":
            before = entry[1]
            pending.pop(0)
            continue
        disk.apply(entry)
        following = pending[0][0] if pending else before
        if entry[0] == "write" and place % 7:
            continue  # one write of several is enough
        states += 1
        copy = tmp_path / f"crash-{place}"
        copy.mkdir()
        restore(disk.after_a_crash(how, chance), copy)
        opened = hi2.HybridIndex.open(copy / "a", "w")
        opened.verify()
        assert frozenset(opened.ids()) in (before, following), (place, entry)
        opened.add(random_vectors[:1], ["after the crash"], ids=["after"])
        opened.commit()
        opened.close()
    assert states > 100


def test_a_commit_of_one_document_makes_at_most_eight_flushes(corpus, tmp_path, monkeypatch):
    hi2.HybridIndex.build(corpus.vectors[:60], corpus.texts[:60], ids=corpus.ids[:60], path=tmp_path / "a").close()
    flushes = []
    original = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (flushes.append(fd), original(fd))[1])
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        for row in range(60, 80):
            flushes.clear()
            index.add(corpus.vectors[row : row + 1], [f"{corpus.texts[row]} new{row}"], ids=[corpus.ids[row]])
            index.commit()
            assert 0 < len(flushes) <= 8, row
        assert len(index._index.state.snapshot.segments) <= 5
        flushes.clear()
        index.delete(corpus.ids[0])
        index.commit()
        assert 0 < len(flushes) <= 8
        index.verify()
