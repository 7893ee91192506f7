"""Definitions of tokenizers that the ``tokenizers`` library does not refuse properly."""

from __future__ import annotations

import base64
import json
from typing import Any

_WORDS = {"type": "WordLevel", "vocab": {"a": 0, "x": 1}, "unk_token": "x"}
_PAIRS = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}


def definition(**parts: Any) -> str:
    """Return a definition with some parts in place of none, and with a tiny model if none is given."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    return json.dumps({"version": "1.0", "added_tokens": [], "model": _WORDS, **dict.fromkeys(names), **parts})


def _added(content: str, **flags: bool) -> dict[str, Any]:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": 9, "content": content, **dict.fromkeys(names, False), **flags}


def _charsmap(content: bytes) -> dict[str, str]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(content).decode()}


#: The library panics when it reads these.
PANIC_WHEN_READ = {
    "a merge into no token": definition(model=_PAIRS | {"vocab": {"a": 0, "b": 1}}),
    "a prefix longer than tokens": definition(model=_PAIRS | {"continuing_subword_prefix": "#########"}),
    "an empty charsmap": definition(normalizer=_charsmap(b"")),
    "a charsmap of garbage": definition(normalizer=_charsmap(b"\xff" * 40)),
}
#: It ends the process when it reads this.
ABORT_WHEN_READ = {
    "a prefix that ends inside a character": definition(
        model=_PAIRS | {"vocab": {"a": 0, "bé": 1, "ab": 2}, "merges": [["a", "bé"]], "continuing_subword_prefix": "é"}
    )
}
#: It refuses these, or Python does.
REFUSED_WHEN_READ = {
    "nothing": "",
    "no JSON": "{",
    "a list": "[]",
    "a number": "3",
    "no model": "{}",
    "deeply nested": "[" * 100_000 + "]" * 100_000,
    "a half of a surrogate pair": definition(model=_WORDS | {"vocab": {"\ud800": 0, "x": 1}}),
    "nested normalizers": '{"normalizer":' * 10_000 + "null" + "}" * 10_000,
    "an unknown number": definition(model={"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 5}),
    "a merge of unknown tokens": definition(model=_PAIRS | {"merges": [["a", "c"]]}),
    "a pattern that is none": definition(normalizer={"type": "Replace", "pattern": {"Regex": "("}, "content": ""}),
    "a negative number": definition(model=_WORDS | {"vocab": {"a": -1, "x": 1}}),
}
UNREADABLE = PANIC_WHEN_READ | ABORT_WHEN_READ | REFUSED_WHEN_READ
#: It reads these, but fails on this text.
FAIL_WHEN_USED = {
    "no piece is given": definition(pre_tokenizer={"type": "FixedLength", "length": 0}),
    "a charsmap of zeros": definition(normalizer=_charsmap(bytes(8))),
    "a charsmap with bad offsets": definition(normalizer=_charsmap(b"\4\0\0\0\xff\xff\xff\xffabc")),
    "a template of a second text": definition(
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "B", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {},
        }
    ),
    "a pattern that backtracks": definition(
        normalizer={"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}
    ),
    "an added token that is normalised away": definition(
        added_tokens=[_added("A", normalized=True)],
        normalizer={"type": "Replace", "pattern": {"String": "A"}, "content": ""},
    ),
    "no unknown word": definition(model=_WORDS | {"unk_token": "zz"}),
    "no unknown piece": definition(model={"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": None}),
    "an unknown pair that is missing": definition(model=_PAIRS | {"unk_token": "zz"}),
}
FAILING_TEXT = "a" * 30 + " A é b!"
#: A token has the largest number that is allowed.
LARGEST = definition(model=_WORDS | {"vocab": {"a": 2**24 - 1, "x": 1}})
#: A token has a larger one.
HUGE = {
    "words": definition(model=_WORDS | {"vocab": {"a": 2**32 - 1, "x": 1}}),
    "pairs": definition(model=_PAIRS | {"vocab": {"a": 2**32 - 1, "b": 1, "ab": 2}}),
    "one too many": definition(model=_WORDS | {"vocab": {"a": 2**24, "x": 1}}),
}
