"""``hi2 add``, and how the commands that change an index work together."""

from __future__ import annotations

import json

import hi2
from commands import refused, run


def test_add_delete_merge_info_verify(index, tmp_path):
    (tmp_path / "more.tsv").write_text("d5\tA history of the steam locomotive\nd1\tHamlet again\n")
    refused("--replace", "add", index, tmp_path / "more.tsv")
    assert "5 in" in run("add", index, tmp_path / "more.tsv", "--replace").stdout
    assert "1 documents deleted" in run("delete", index, "d2").stdout
    refused("'d2'", "delete", index, "d2")
    run("delete", index, "d2", "--missing-ok")
    run("merge", index)
    info = json.loads(run("info", index, "--json").stdout)
    assert (info["n_docs"], info["n_segments"], info["n_deleted"]) == (4, 1, 0)
    assert "n_docs" in run("info", index).stdout
    (tmp_path / "q.txt").write_text("steam locomotive\nਪੰਜਾਬੀ\n")
    info = json.loads(run("info", index, "--queries", tmp_path / "q.txt", "--json").stdout)
    assert info["queries"]["n"] == 2
    assert info["queries"]["without_term_list"] == 1
    assert "is whole: 4 documents" in run("verify", index).stdout
    codes = next(index.rglob("codes.npy"))
    data = bytearray(codes.read_bytes())
    data[200] ^= 1
    codes.write_bytes(bytes(data))
    refused("codes.npy", "verify", index)


def test_integer_ids(tmp_path):
    vectors = hi2.StaticEncoder()(["bread", "butter"])
    built = hi2.HybridIndex.build(vectors, ["bread", "butter"], encoder=hi2.StaticEncoder(), path=tmp_path / "a")
    built.close()
    (tmp_path / "more.tsv").write_text("7\tcheese\n")
    assert "3 in" in run("add", tmp_path / "a", tmp_path / "more.tsv").stdout
    refused("integers", "explain", tmp_path / "a", "cheese", "³")
    assert "found" in run("explain", tmp_path / "a", "cheese", "7", "--per-doc", 1).stdout
