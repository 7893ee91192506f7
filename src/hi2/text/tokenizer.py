"""Which tokens does a text have? Any Hugging Face tokenizer; BERT's WordPiece by default."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hi2.arguments import MAX_TERMS, thread_count
from hi2.errors import invalid
from hi2.text.dictionary import Dictionary
from hi2.text.growth import check_growth
from hi2.text.hashed_words import HashedWordTokenizer
from hi2.text.library_errors import BrokenTokenizer, library_errors
from hi2.text.stemmer import stemmer_names
from hi2.text.valid_texts import check_texts
from hi2.text.wordpiece import native_wordpiece
from hi2.text.words import WordTokenizer
from hi2.types import U32, U64, Array, Bytes

if TYPE_CHECKING:
    import tokenizers

_NO_LIMIT = 2**63 - 1
BERT_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Tokenizer:
    """A tokenizer as the index uses it: no truncation, no padding, special and unknown tokens dropped.

    >>> Tokenizer.load(None).tokens("Hybrid inverted indexes")
    ['hybrid', 'inverted', 'index', '##es']
    """

    def __init__(self, definition: str, *, n_terms: int | None = None) -> None:
        """Read a definition; ``n_terms`` is the number of terms it must have, if that is known."""
        import tokenizers

        with library_errors():
            _check_merges(json.loads(definition))
            self._tokenizer: Any = tokenizers.Tokenizer.from_str(definition)
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
            #: The definition as ``tokenizers`` writes it; this is what an index stores.
            self.definition: str = self._tokenizer.to_str()
            parsed = json.loads(self.definition)
            check_growth(parsed)
            vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
            added = self._tokenizer.get_added_tokens_decoder()
        #: A hash of the definition: tokenizers with the same fingerprint give the same tokens.
        self.fingerprint = hashlib.sha256(self.definition.encode()).hexdigest()
        if not vocabulary:
            raise invalid("tokenizer", "a tokenizer with a vocabulary", "an empty one")
        #: Term numbers are below this.
        self.n_terms = max([*vocabulary.values(), *added]) + 1
        if self.n_terms > MAX_TERMS:
            raise invalid("tokenizer", f"one whose tokens have numbers below {MAX_TERMS}", f"{self.n_terms - 1}")
        if n_terms not in (None, self.n_terms):
            raise invalid("tokenizer", f"one of {n_terms} terms", f"one of {self.n_terms}")
        #: 1 where a token is not a term.
        self.dropped: Bytes = np.zeros(self.n_terms, np.uint8)
        for number, token in added.items():
            self.dropped[number] |= token.special
        # WordPiece, WordLevel and BPE give the name of their unknown token, Unigram its number.
        unknown = vocabulary.get(parsed["model"].get("unk_token"), parsed["model"].get("unk_id"))
        if unknown is not None:
            self.dropped[unknown] = 1
        #: The native WordPiece, None for other tokenizers.
        self.native = native_wordpiece(parsed, vocabulary)

    @classmethod
    def load(cls, source: str | Path | tokenizers.Tokenizer | Analyzer | None) -> Analyzer:
        """Return the tokenizer that ``source`` names, or a tokenizer object.

        None and 'wordpiece' are BERT's WordPiece, 'words' are words and 'english', 'german', … (any Snowball
        algorithm) stemmed words. Another string is a file, a folder with ``tokenizer.json`` or a hub name. A
        ``WordTokenizer`` is copied: who loads it has a dictionary of their own.
        """
        if isinstance(source, WordTokenizer):
            return source.copy()
        if isinstance(source, (Tokenizer, HashedWordTokenizer)):
            return source
        if source is None or (isinstance(source, str) and source == "wordpiece"):
            return cls(bert_definition())
        if isinstance(source, str) and (source == "words" or source in stemmer_names()):
            return WordTokenizer(None if source == "words" else source)
        if not isinstance(source, (str, Path)):
            if hasattr(source, "to_str"):
                with library_errors():
                    definition = source.to_str()
                return cls(definition)
            raise invalid(
                "tokenizer",
                "None, a name, a path, a WordTokenizer or a tokenizers.Tokenizer",
                f"a {type(source).__name__}",
            )
        must = "'wordpiece', 'words', a language, a tokenizer.json, a folder that holds one, or a name the hub knows"
        try:
            path = Path(source)
            if path.is_dir():
                path /= "tokenizer.json"
            text = path.read_text(encoding="utf-8") if path.is_file() else None
        except (OSError, UnicodeDecodeError) as error:
            raise invalid("tokenizer", must, f"'{source}' ({error})") from error
        return cls(text if text is not None else _from_hub(str(source), must))

    def encode(
        self, texts: Sequence[str], *, max_tokens: int | None = None, threads: int | None = None, learn: bool = False
    ) -> tuple[U32, U64]:
        """Return the token numbers of all texts, and the offsets of each text.

        BERT's uncased WordPiece is native. Other tokenizers go through the ``tokenizers`` library. It runs on the
        caller's thread if ``threads=1``, else on its own pool. The vocabulary is fixed: there is nothing to ``learn``.
        """
        if self.native is None:
            return self._encode(texts, max_tokens, threads)
        batch = texts if isinstance(texts, list) else list(texts)
        limit = _NO_LIMIT if max_tokens is None else max_tokens
        try:
            return self.native.encode(batch, limit, thread_count(threads))
        except (TypeError, UnicodeEncodeError):
            check_texts(batch)
            raise

    def _encode(self, texts: Sequence[str], max_tokens: int | None, threads: int | None) -> tuple[U32, U64]:
        try:
            with library_errors():
                if threads == 1:
                    encodings = [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
                else:
                    encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except BrokenTokenizer:
            check_texts(texts)
            raise
        rows = [encoding.ids for encoding in encodings]
        if max_tokens is not None:
            rows = [row[:max_tokens] for row in rows]
        offsets = np.zeros(len(rows) + 1, np.uint64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(rows), np.uint32, int(offsets[-1]))
        return flat, offsets

    def arrays(self, n_terms: int) -> dict[str, Array]:
        """Return what an index stores next to the definition: nothing."""
        return {}

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


def _from_hub(name: str, must: str) -> str:
    import tokenizers

    try:
        with library_errors():
            definition: str = tokenizers.Tokenizer.from_pretrained(name).to_str()
            return definition
    except BrokenTokenizer as error:
        raise invalid("tokenizer", must, f"'{name}' ({error.__cause__})") from error


def _check_merges(definition: Any) -> None:
    """Raise an error if a merge cuts its second token inside a character: the library would end the process."""
    model = definition.get("model") if isinstance(definition, dict) else None
    prefix = model.get("continuing_subword_prefix") if isinstance(model, dict) else None
    if isinstance(model, dict) and prefix and isinstance(model.get("merges"), list):
        for merge in model["merges"]:
            second = merge.split(" ")[-1] if isinstance(merge, str) else merge[-1]
            second.encode()[len(prefix.encode()) :].decode()


#: Anything that turns text into terms.
Analyzer = Tokenizer | WordTokenizer | HashedWordTokenizer


def restore_analyzer(definition: str, n_terms: int | None = None, dictionary: Dictionary | None = None) -> Analyzer:
    """Return the tokenizer with a stored definition, which must have ``n_terms`` terms.

    ``dictionary`` has the words that are stored next to the definition of a ``WordTokenizer``.
    """
    with library_errors():
        data = json.loads(definition)
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == WordTokenizer.KIND:
        if dictionary is None:
            raise invalid("tokenizer", "stored with its dictionary", "none")
        return WordTokenizer.restore(definition, dictionary)
    if dictionary is not None:
        raise invalid("tokenizer", "one of words where there is a dictionary", "another")
    if kind == HashedWordTokenizer.KIND:
        return HashedWordTokenizer.restore(definition, n_terms)
    return Tokenizer(definition, n_terms=n_terms)


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
