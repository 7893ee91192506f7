"""Codecs and tokenizers are chosen by text, and a bad text is refused."""

from __future__ import annotations

import pytest

import hi2
from hi2.cli.options import Settings, existing_index, parse_codec, parse_tokenizer, report_skipped
from hi2.data.input_files import Skipped
from hi2.errors import InvalidParameter


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        (None, None),
        ("Flat", hi2.Flat()),
        ("half", hi2.Half()),
        ("sq8", hi2.SQ8()),
        ("PQ:12", hi2.PQ(subspaces=12)),
        ("OPQ:48:residual", hi2.OPQ(subspaces=48, residual=True)),
        ("rabitq", hi2.RaBitQ()),
        ("RaBitQ:residual:2", hi2.RaBitQ(bits=2, residual=True)),
    ],
)
def test_a_codec_is_named_with_its_numbers(text, spec):
    assert parse_codec(text, "--codec") == spec


@pytest.mark.parametrize("text", ["", "zip", "PQ:1:2", "PQ:x", "OPQ:²", "Flat:3", "RaBitQ:-1", "Half:residual:more"])
def test_a_codec_that_is_not_one_is_refused_by_its_option(text):
    with pytest.raises(InvalidParameter, match="--refine"):
        parse_codec(text, "--refine")


def test_words_are_a_tokenizer_and_anything_else_is_a_path():
    assert parse_tokenizer(None) is None
    assert parse_tokenizer("folder/tokenizer.json") == "folder/tokenizer.json"
    assert parse_tokenizer("words").fingerprint == hi2.WordTokenizer().fingerprint


def test_progress_is_left_to_the_terminal_unless_quiet():
    assert Settings().progress is None
    assert Settings(quiet=True).progress is False


def test_skipped_lines_are_reported_with_examples():
    skipped = Skipped()
    assert report_skipped(None) is None
    assert report_skipped(skipped) is None
    skipped.note("a.jsonl, line 3: not JSON.")
    assert report_skipped(skipped) == "1 bad line skipped, such as: a.jsonl, line 3: not JSON."


def test_an_index_must_exist(tmp_path):
    assert existing_index(tmp_path) == tmp_path
    with pytest.raises(InvalidParameter, match="does not exist"):
        existing_index(tmp_path / "nothing")
