"""Tokenizers that the tests of text share."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from hi2.text.tokenizer import Tokenizer as Ours


@pytest.fixture(scope="session")
def bert():
    """Our tokenizer of BERT's WordPiece."""
    return Ours.load(None)


@pytest.fixture
def words():
    """A tokenizer of two words that truncates and pads unless it is told not to."""
    tokenizer = Tokenizer(models.WordLevel({"red": 0, "blue": 1, "[UNK]": 2, "[PAD]": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[PAD]"])
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(pad_id=3, pad_token="[PAD]", length=9)
    return tokenizer
