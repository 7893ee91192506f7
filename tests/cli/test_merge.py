"""``hi2 merge``: one segment without deleted documents, and committed."""

from __future__ import annotations

import hi2
from commands import refused, run


def test_a_merge_reports_what_it_did_and_commits_it(index, tmp_path):
    with hi2.HybridIndex.open(index, "w") as opened:
        opened.delete("d2")
        opened.commit()
    assert "1 segments into 1, 1 deleted documents dropped" in run("merge", index).stdout
    merged = hi2.HybridIndex.open(index)
    assert (merged.ids(), merged.info()["n_deleted"]) == (["d1", "d3", "d4"], 0)
    refused("does not exist", "merge", tmp_path / "nothing")
