"""Which encoder does a command use with an index? The one of ``--encoder``, or the index's own if it may be used.

An encoder has a tower for documents and one for queries, often the same. An index stores the identity of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hi2.cli.options import existing_index
from hi2.encoders.encoder import Encoder, encode
from hi2.encoders.permitted import EncoderNeeded
from hi2.encoders.registry import Towers, load_towers
from hi2.errors import InvalidParameter, invalid
from hi2.index import HybridIndex
from hi2.search.syntax import signed_text
from hi2.types import Floats

ENCODER_HELP = (
    "The encoder the index was built with: NAME or NAME=PATH as for hi2 build, or a sentence-transformers model "
    "(folder or name). Not needed for static and wordllama."
)
TRUST_HELP = "Load the sentence-transformers model that the index names. Only for an index that you trust."
_TEXTS_AT_A_TIME = 4096


@dataclass(frozen=True)
class OpenedIndex:
    """An open index, and the towers of ``--encoder`` if it was given."""

    index: HybridIndex
    towers: Towers | None

    def own_towers(self) -> Towers | None:
        """Return the towers of ``--encoder``, else the index's encoder as both; None if the index has none."""
        if self.towers is not None:
            return self.towers
        encoder = self.index.encoder
        return None if encoder is None else Towers(encoder, encoder)

    def queries(self, texts: Sequence[str], *, signed: bool = False) -> tuple[Any, Sequence[str] | None]:
        """Return the arguments of a search for these texts: vectors with texts, or texts for the index's encoder.

        Signs of ``signed`` texts are not encoded.
        """
        if self.towers is None:
            return texts, None
        plain = [signed_text(text).plain for text in texts] if signed else texts
        return encode(self.towers.queries, plain, dim=self.index.dim), texts

    def documents(self, texts: Sequence[str]) -> Iterator[Floats] | None:
        """Return batches of the vectors of documents; None leaves them to the index's encoder."""
        return None if self.towers is None else encode_batches(self.towers.documents, texts, self.index.dim)


def encode_batches(encoder: Encoder, texts: Sequence[str], dim: int) -> Iterator[Floats]:
    """Yield the vectors of texts, some thousands at a time."""
    for begin in range(0, len(texts), _TEXTS_AT_A_TIME):
        yield encode(encoder, texts[begin : begin + _TEXTS_AT_A_TIME], dim=dim)


@contextmanager
def open_index(path: Path, mode: str = "r", *, encoder: str | None, trust_encoder: bool) -> Iterator[OpenedIndex]:
    """Open an index with the encoder that ``--encoder`` names. Where one is needed, the error names the options."""
    if encoder is not None and trust_encoder:
        raise invalid("--trust-encoder", "left out with --encoder", "both")
    existing_index(path)
    towers = None if encoder is None else load_towers(encoder)
    try:
        with HybridIndex.open(path, mode, trust_encoder=trust_encoder) as index:
            if towers is not None:
                _check(index, towers, str(encoder))
            yield OpenedIndex(index, towers)
    except EncoderNeeded as error:
        trust = ", or --trust-encoder to load what the index names" if error.loadable else ""
        raise InvalidParameter(f"--encoder must be given: {error.reason}. Give --encoder NAME{trust}.") from error


def _check(index: HybridIndex, towers: Towers, name: str) -> None:
    """Refuse an encoder if neither of its towers is the one the index was built with."""
    identity = index.model.encoder
    if identity is not None and not (identity.matches(towers.documents) or identity.matches(towers.queries)):
        must = f"the one the index was built with ({identity})"
        raise invalid("--encoder", must, f"'{name}', which gives other vectors")
