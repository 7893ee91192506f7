"""A folder stays the one that was opened, and nothing outside it is read, written or removed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hi2.errors import FormatError
from hi2.store.folder import Folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and descriptors of folders are Unix's")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").mkdir()
    return Folder.open(tmp_path / "a")


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "mine").write_text("precious")
    return tmp_path / "outside"


def test_a_folder_is_held_whatever_its_name_leads_to(folder, tmp_path, monkeypatch):
    (tmp_path / "a" / "file").write_text("first")
    assert folder.is_in_place()
    monkeypatch.chdir(tmp_path / "a")
    relative = Folder.open(".")
    monkeypatch.chdir("/")
    assert relative.path == tmp_path / "a"
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("second")
    for held in (folder, relative):
        assert not held.is_in_place()
        assert held.read("file", limit=99) == b"first"
        assert held.names() == ["file"]
    folder.replace("file", b"third")
    assert (tmp_path / "a" / "file").read_text() == "second"
    assert (tmp_path / "b" / "file").read_text() == "third"


def test_a_folder_that_was_removed_is_not_in_place(folder, tmp_path):
    (tmp_path / "a").rmdir()
    assert not folder.is_in_place()


def test_links_are_neither_read_nor_written_through(folder, outside, tmp_path):
    (tmp_path / "a" / "link").symlink_to(outside / "mine")
    (tmp_path / "a" / "links").symlink_to(outside)
    (tmp_path / "a" / "file.new").symlink_to(outside / "mine")
    with pytest.raises(FormatError, match="is a link"):
        folder.read("link", limit=99)
    with pytest.raises(FormatError, match="is a link"):
        folder.open_file("link", os.O_RDWR | os.O_CREAT)
    with pytest.raises(FormatError, match="is a link"):
        folder.child("links")
    with pytest.raises(FileExistsError):
        folder.create("link")
    folder.replace("file", b"new")  # writes to file.new first
    assert (tmp_path / "a" / "file").read_text() == "new"
    assert (outside / "mine").read_text() == "precious"


def test_removing_a_link_leaves_what_it_leads_to(folder, outside, tmp_path):
    (tmp_path / "a" / "links").symlink_to(outside)
    inner = folder.make_child("inner")
    (inner.path / "links").symlink_to(outside)
    (inner.path / "file").write_text("x")
    folder.remove("links")
    folder.remove("inner")
    folder.remove("not there")
    assert folder.names() == []
    assert (outside / "mine").read_text() == "precious"


def test_a_pipe_or_a_device_is_refused_at_once(folder, tmp_path):
    os.mkfifo(tmp_path / "a" / "pipe")
    (tmp_path / "a" / "inner").mkdir()
    for name in ("pipe", "inner"):
        with pytest.raises(FormatError, match="plain files in plain folders"):
            folder.read(name, limit=99)
    zero = Folder.open("/dev")
    with pytest.raises(FormatError, match="device"):
        zero.read("zero", limit=99)


def test_a_file_beyond_the_limit_is_not_read(folder, tmp_path):
    with (tmp_path / "a" / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FormatError, match="larger than 1,000 bytes"):
        folder.read("sparse", limit=1000)


def test_a_file_keeps_its_content_when_its_replacement_cannot_be_written(folder, tmp_path):
    folder.replace("a", b"old")
    with pytest.raises(TypeError):
        folder.replace("a", "no bytes")  # fails while the new file is written
    assert folder.read("a", limit=9) == b"old"
    folder.replace("a", b"new")
    assert folder.read("a", limit=9) == b"new"
    assert folder.names() == ["a"]


def test_what_is_missing_is_named_with_its_whole_path(folder, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        folder.open_file("gone")
    assert caught.value.filename == str(tmp_path / "a" / "gone")
    with pytest.raises(FileNotFoundError):
        folder.child("gone")
    with pytest.raises(FileNotFoundError):
        Folder.open(tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        Folder.open(tmp_path / "file")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list its descriptors")
def test_a_closed_folder_holds_no_descriptor(folder, tmp_path):
    def count():
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.collect()  # what other tests left would be closed in between
    before = count()
    with Folder.open(tmp_path) as other:
        assert count() == before + 1
        other.child("a")  # closed when it is garbage
    other.close()
    assert count() == before


def test_a_folder_stays_open_until_the_process_ends(tmp_path):
    """Daemon threads may use it while the interpreter ends."""
    code = f"""
import atexit
atexit.register(lambda: print(folder.names()))  # registered first, so it runs last
from hi2.store.folder import Folder
folder = Folder.open({str(tmp_path)!r})
"""
    (tmp_path / "file").touch()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['file']\n", "")
