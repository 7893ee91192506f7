"""Which tokens does a text have? Any Hugging Face tokenizer; BERT's WordPiece by default."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hi2 import _native
from hi2.arguments import thread_count
from hi2.errors import InvalidParameter, invalid
from hi2.text.words import WordTokenizer
from hi2.types import U32, U64, Bytes

if TYPE_CHECKING:
    import tokenizers

_NO_LIMIT = 2**63 - 1
BERT_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Tokenizer:
    """A tokenizer as the index uses it: no truncation, no padding, special and unknown tokens dropped.

    >>> Tokenizer.load(None).tokens("Hybrid inverted indexes")
    ['hybrid', 'inverted', 'index', '##es']
    """

    def __init__(self, definition: str) -> None:
        import tokenizers

        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_str(definition)
        except Exception as error:
            raise InvalidParameter(f"The 'tokenizer' parameter is not a tokenizer definition: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        #: The definition as ``tokenizers`` writes it; this is what an index stores.
        self.definition: str = self._tokenizer.to_str()
        #: A hash of the definition: tokenizers with the same fingerprint give the same tokens.
        self.fingerprint = hashlib.sha256(self.definition.encode()).hexdigest()
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        if not vocabulary:
            raise invalid("tokenizer", "a tokenizer with a vocabulary", "an empty one")
        #: Term numbers are below this.
        self.n_terms = max(vocabulary.values()) + 1
        #: 1 where a token is not a term.
        self.dropped: Bytes = np.zeros(self.n_terms, np.uint8)
        for number, token in self._tokenizer.get_added_tokens_decoder().items():
            self.dropped[number] |= token.special
        model = json.loads(self.definition)[
            "model"
        ]  # WordPiece, WordLevel and BPE give the name of their unknown token
        unknown = vocabulary.get(model.get("unk_token"), model.get("unk_id"))  # Unigram gives its number
        if unknown is not None:
            self.dropped[unknown] = 1
        #: The native WordPiece, None for other tokenizers.
        self.pieces = _native_wordpiece(json.loads(self.definition), vocabulary)

    @classmethod
    def load(cls, source: str | Path | tokenizers.Tokenizer | Tokenizer | WordTokenizer | None) -> Analyzer:
        """Load a tokenizer from a file, a folder with ``tokenizer.json``, a hub name or an object; None is BERT's."""
        if isinstance(source, (Tokenizer, WordTokenizer)):
            return source
        if source is None:
            return cls(bert_definition())
        if not isinstance(source, (str, Path)):
            if hasattr(source, "to_str"):
                return cls(source.to_str())
            raise invalid(
                "tokenizer",
                "None, a path, a name, a WordTokenizer or a tokenizers.Tokenizer",
                f"a {type(source).__name__}",
            )
        path = Path(source)
        if path.is_dir():
            path /= "tokenizer.json"
        if path.is_file():
            return cls(path.read_text(encoding="utf-8"))
        import tokenizers

        try:
            return cls(tokenizers.Tokenizer.from_pretrained(str(source)).to_str())
        except Exception as error:
            must = "a tokenizer.json, a folder that holds one, or a name the hub knows"
            raise invalid("tokenizer", must, f"'{source}' ({error})") from error

    def encode(
        self, texts: Sequence[str], *, max_tokens: int | None = None, threads: int | None = None
    ) -> tuple[U32, U64]:
        """Return the token numbers of all texts, and the offsets of each text.

        BERT's uncased WordPiece is native. Other tokenizers, and the few texts that the native one cannot handle, go
        through the ``tokenizers`` library. It runs on the caller's thread if ``threads=1``, else on its own pool.
        """
        if self.pieces is None:
            return self._encode(texts, max_tokens, threads)
        batch = texts if isinstance(texts, list) else list(texts)
        limit = _NO_LIMIT if max_tokens is None else max_tokens
        try:
            tokens, offsets, unhandled = self.pieces.encode(batch, limit, thread_count(threads))
        except (TypeError, UnicodeEncodeError):
            return self._encode(batch, max_tokens, threads)  # raises an error that names the bad text
        if len(unhandled) == 0:
            return tokens, offsets
        rest, bounds = self._encode([batch[row] for row in unhandled], max_tokens, threads)
        places = np.repeat(offsets[unhandled.astype(np.int64)].astype(np.int64), np.diff(bounds).astype(np.int64))
        lengths = np.zeros(len(batch) + 1, np.uint64)
        lengths[unhandled.astype(np.int64) + 1] = np.diff(bounds)
        return np.insert(tokens, places, rest), offsets + np.cumsum(lengths, dtype=np.uint64)

    def _encode(self, texts: Sequence[str], max_tokens: int | None, threads: int | None) -> tuple[U32, U64]:
        try:
            if threads == 1:
                encodings = [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
            else:
                encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except Exception:
            for row, text in enumerate(texts):
                if not isinstance(text, str):
                    raise invalid("texts", "strings", f"a {type(text).__name__} in row {row}") from None
                try:
                    text.encode()
                except UnicodeEncodeError as error:
                    raise invalid("texts", "valid Unicode", f"{error.reason} in row {row}") from None
            raise
        rows = [encoding.ids for encoding in encodings]
        if max_tokens is not None:
            rows = [row[:max_tokens] for row in rows]
        offsets = np.zeros(len(rows) + 1, np.uint64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(rows), np.uint32, int(offsets[-1]))
        return flat, offsets

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text as strings, in order, repeats included."""
        tokens, _ = self.encode([text])
        return [self.name(int(token)) for token in tokens if not self.dropped[token]]

    def names(self, text: str) -> dict[int, str]:
        """Return the strings of a text's tokens by their numbers."""
        return {int(number): self.name(int(number)) for number in self.encode([text], threads=1)[0]}

    def name(self, term: int) -> str:
        """Return the string of a term."""
        return str(self._tokenizer.id_to_token(term) or f"<{term}>")

    def number(self, term: str) -> int | None:
        """Return the number of a term, or None if it is not in the vocabulary."""
        number = self._tokenizer.token_to_id(term)
        return None if number is None else int(number)


def _native_wordpiece(definition: Mapping[str, Any], vocabulary: Mapping[str, int]) -> _native.WordPiece | None:
    """Return the native tokenizer if the definition is BERT's uncased WordPiece, else None."""
    model, normalizer = definition["model"], definition["normalizer"] or {}
    lowercase = normalizer.get("lowercase") and normalizer.get("strip_accents") is not False
    cleaned = normalizer.get("clean_text") and normalizer.get("handle_chinese_chars")
    kinds = [(definition[part] or {}).get("type") for part in ("model", "normalizer", "pre_tokenizer")]
    if kinds != ["WordPiece", "BertNormalizer", "BertPreTokenizer"] or not (lowercase and cleaned):
        return None
    added = definition["added_tokens"]
    model_vocabulary: Mapping[str, int] = model["vocab"]
    numbers = vocabulary.values()
    distinct_and_dense = len(set(numbers)) == len(numbers) and max(numbers) < 4 * len(numbers)
    unknown_is_known = model["unk_token"] in model_vocabulary
    if any(token["normalized"] for token in added) or not unknown_is_known or not distinct_and_dense:
        return None
    tokens = [""] * (max(numbers) + 1)
    for token, number in model_vocabulary.items():
        tokens[number] = token
    return _native.WordPiece(
        tokens,
        model["continuing_subword_prefix"],
        model_vocabulary[model["unk_token"]],
        model["max_input_chars_per_word"],
        [token["content"] for token in added],
        _character_table(),
    )


@cache
def _character_table() -> U32:
    """Return the table of what each character becomes; see experiments/bert_characters.py."""
    with resources.files("hi2.text").joinpath("bert-characters.npy").open("rb") as file:
        table: U32 = np.load(file, allow_pickle=False)
    return table


#: Anything that turns text into terms.
Analyzer = Tokenizer | WordTokenizer


def restore_analyzer(definition: str) -> Analyzer:
    """Return the tokenizer with a stored definition."""
    kind = json.loads(definition).get("kind")
    return WordTokenizer.restore(definition) if kind == WordTokenizer.KIND else Tokenizer(definition)


def bert_definition() -> str:
    """Return the definition of BERT's uncased WordPiece, with the vocabulary that ships with the package."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers

    lines = resources.files("hi2.text").joinpath("bert-base-uncased.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {token: number for number, token in enumerate(line for line in lines if line)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(BERT_SPECIAL_TOKENS))
    definition: dict[str, Any] = json.loads(tokenizer.to_str())
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
