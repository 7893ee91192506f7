"""``hi2 verify``: an intact index is called whole, and damage is named in one line."""

from __future__ import annotations

from commands import refused, run


def test_an_intact_index_is_whole_and_a_damaged_one_is_named(index):
    assert "is whole: 4 documents" in run("verify", index).stdout
    path = next(index.rglob("stored.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"Paris", b"Lyons"))
    refused("stored.jsonl", "verify", index)
