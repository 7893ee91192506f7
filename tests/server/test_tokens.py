"""Tokens come from a file and give rights; a wrong line is named without the token."""

from __future__ import annotations

import hmac

import pytest

import hi2
from hi2.server.tokens import Tokens

READER, WRITER = "r" * 20, "w" * 20


def test_rights_come_from_a_file(tmp_path):
    (tmp_path / "t").write_text(f"# people\n\nread {READER}\n  write   {WRITER}\n")
    tokens = Tokens.from_file(tmp_path / "t")
    assert [tokens.right(own) for own in (READER, WRITER, "x" * 20, "", READER[:-1])] == [
        "read",
        "write",
        None,
        None,
        None,
    ]


def test_every_token_is_compared_in_constant_time(tmp_path, monkeypatch):
    compared = []
    whole = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or whole(a, b))
    tokens = Tokens([("read", READER), ("write", WRITER), ("read", "z" * 20)])
    for given in (READER, "z" * 20, "wrong", ""):
        compared.clear()
        tokens.right(given)
        assert compared == [(32, 32)] * 3


@pytest.mark.parametrize("text", ["", "# nothing\n", "admin " + READER, READER, "read short", f"read {READER} more"])
def test_bad_files_are_refused_without_showing_tokens(tmp_path, text):
    (tmp_path / "t").write_text(text)
    with pytest.raises(hi2.InvalidParameter, match="--token-file") as caught:
        Tokens.from_file(tmp_path / "t")
    assert READER not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(hi2.InvalidParameter, match="cannot be read"):
        Tokens.from_file(tmp_path / "t")
