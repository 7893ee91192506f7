"""Which tokenizers are native? BERT's uncased WordPiece, whatever its vocabulary and special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from hi2 import _native
from hi2.types import U32


def native_wordpiece(definition: Mapping[str, Any], vocabulary: Mapping[str, int]) -> _native.WordPiece | None:
    """Return the native tokenizer if the definition is BERT's uncased WordPiece, else None."""
    model, normalizer = definition["model"], definition["normalizer"] or {}
    lowercase = normalizer.get("lowercase") and normalizer.get("strip_accents") is not False
    cleaned = normalizer.get("clean_text") and normalizer.get("handle_chinese_chars")
    kinds = [(definition[part] or {}).get("type") for part in ("model", "normalizer", "pre_tokenizer")]
    if kinds != ["WordPiece", "BertNormalizer", "BertPreTokenizer"] or not (lowercase and cleaned):
        return None
    model_vocabulary: Mapping[str, int] = model["vocab"]
    numbers = vocabulary.values()
    distinct_and_dense = len(set(numbers)) == len(numbers) and max(numbers) < 4 * len(numbers)
    unknown_is_known = model["unk_token"] in model_vocabulary
    if not _are_plain(definition["added_tokens"]) or not unknown_is_known or not distinct_and_dense:
        return None
    tokens = [""] * (max(numbers) + 1)
    for token, number in model_vocabulary.items():
        tokens[number] = token
    try:
        return _native.WordPiece(
            tokens,
            model["continuing_subword_prefix"],
            model_vocabulary[model["unk_token"]],
            model["max_input_chars_per_word"],
            [(token["content"], token["id"]) for token in definition["added_tokens"]],
            _character_table(),
        )
    except ValueError:  # the vocabulary has too many characters
        return None


def _are_plain(added: list[dict[str, Any]]) -> bool:
    """Whether added tokens are found wherever a text contains them.

    To strip space around a token makes no difference, because space has no tokens, unless it belongs to another one.
    """
    strip = any(token["lstrip"] or token["rstrip"] for token in added)
    if strip and any(token["content"] != token["content"].strip() for token in added):
        return False
    return not any(token["normalized"] or token["single_word"] for token in added)


@cache
def _character_table() -> U32:
    """Return the table of what each character becomes; see experiments/bert_characters.py."""
    with resources.files("hi2.text").joinpath("bert-characters.npy").open("rb") as file:
        table: U32 = np.load(file, allow_pickle=False)
    return table
