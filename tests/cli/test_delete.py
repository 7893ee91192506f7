"""``hi2 delete``: ids as arguments or from a file, all of them or none."""

from __future__ import annotations

import hi2
from commands import refused, run


def test_ids_come_from_arguments_and_from_a_file(index, tmp_path):
    (tmp_path / "ids.txt").write_text("d2\n\n  d3  \n")
    assert "3 documents deleted, 1 in" in run("delete", index, "d1", "--ids", tmp_path / "ids.txt").stdout
    assert hi2.HybridIndex.open(index).ids() == ["d4"]


def test_nothing_is_deleted_if_an_id_is_unknown_or_none_is_given(index):
    refused("--ids FILE", "delete", index)
    refused("'nobody'", "delete", index, "d1", "nobody")
    assert len(hi2.HybridIndex.open(index)) == 4
