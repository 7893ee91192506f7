"""The files of a folder are documents by their paths; pages are read as text."""

from __future__ import annotations

import pytest

import hi2
from hi2.data.input_files import Skipped
from hi2.data.text_files import html_text, read_text_files

PAGE = """<!doctype html><html><head><title>No</title><style>p {color: red}</style></head>
<body><h1>Tea &amp; cake</h1><p>Serve <b>hot</b>
tea.</p><ul><li>milk</li><li>sugar</li></ul><script>if (a < b) {}</script>Ende</body></html>"""


def test_texts_are_read_in_order_of_their_paths(tmp_path):
    (tmp_path / "b.txt").write_text("\ufeffplain", encoding="utf-8")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.md").write_text("# Title\n\ntext")
    (tmp_path / "a" / "Y.HTML").write_text(PAGE)
    (tmp_path / "c.pdf").write_text("no")
    (tmp_path / ".hidden.txt").write_text("no")
    (tmp_path / "link.txt").symlink_to(tmp_path / "b.txt")
    found = {own.id: own.text for own in read_text_files(tmp_path)}
    assert list(found) == ["a/Y.HTML", "a/x.md", "b.txt"]
    assert found["b.txt"] == "plain"
    assert found["a/x.md"] == "# Title\n\ntext"


def test_pages_become_text():
    assert html_text(PAGE) == "Tea & cake\n\nServe hot tea.\n\nmilk\nsugar\n\nEnde"
    assert html_text("") == ""
    assert html_text("<html><head><title>T</title><body><p>Hello</p>") == "Hello"  # the end of the head may be left out
    assert html_text("<p>broken <b>page <p>&nbsp;x &#233;") == "broken page\n\nx é"


def test_files_that_cannot_be_read_are_refused_or_counted(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(hi2.InvalidParameter, match=r"bad\.txt.*--skip-bad"):
        list(read_text_files(tmp_path))
    (tmp_path / "good.txt").write_text("x")
    skipped = Skipped()
    assert [own.id for own in read_text_files(tmp_path, skipped=skipped)] == ["good.txt"]
    assert skipped.n == 1
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(hi2.InvalidParameter, match="'--files'"):
            list(read_text_files(folder))
