"""Builds, commits, merges and recoveries are logged under "hi2", and nothing is shown unless a program asks."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np

import hi2


def messages(caplog):
    found = [record.getMessage() for record in caplog.records if record.name == "hi2"]
    caplog.clear()
    return found


def test_what_an_index_does_is_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO, "hi2")
    hi2.HybridIndex.build(np.eye(3), terms=None)
    assert messages(caplog)[0].startswith("Built an index of 3 documents in ")
    with hi2.HybridIndex.build(np.eye(3), terms=None, path=tmp_path / "a") as index:
        assert messages(caplog)[-1].startswith(f"Built {tmp_path / 'a'}, 3 documents, in ")
        index.add(np.eye(3)[:1])
        index.merge()
        assert any(own.startswith("Merged 2 segments") and "4 documents" in own for own in messages(caplog))
        index.commit()
        assert messages(caplog)[0].startswith(f"Commit 2 of {tmp_path / 'a'}: 4 documents in 1 segments, ")
    (tmp_path / "a" / "segment-000099").mkdir()
    hi2.HybridIndex.open(tmp_path / "a", "w").close()
    assert "segment-000099" in messages(caplog)[-1]


def test_nothing_is_shown_by_default():
    program = "import logging, hi2; logging.getLogger('hi2').warning('a merge was put off')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
