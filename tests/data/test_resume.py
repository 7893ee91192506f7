"""The mark of a long job is the last count that was written whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from hi2.data.resume import read_mark, write_mark


def test_a_mark_is_replaced_by_the_next(tmp_path):
    path = tmp_path / "done"
    assert read_mark(path) == 0
    for done in (5, 12):
        write_mark(path, done)
        assert read_mark(path) == done
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"twelve", b"-3", b"\xff\xfe"])
def test_a_mark_that_cannot_be_read_counts_as_nothing_done(tmp_path, content):
    (tmp_path / "done").write_bytes(content)
    assert read_mark(tmp_path / "done") == 0


def test_an_interrupted_write_keeps_the_previous_mark(tmp_path, monkeypatch):
    write_mark(tmp_path / "done", 5)

    def full(self, target):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_mark(tmp_path / "done", 12)
    assert read_mark(tmp_path / "done") == 5
