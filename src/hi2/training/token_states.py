"""Where do the states of a document's tokens come from? From a transformer's frozen layers.

They are computed once and stored on disk as float16. An interrupted computation can be resumed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hi2.data.resume import read_mark, write_mark
from hi2.encoders.model_files import check_transformer
from hi2.errors import Error, MissingExtra, invalid
from hi2.progress import Progress
from hi2.selectors.learned import ARCHITECTURES, encode_with_special_tokens, pad_batch
from hi2.text.tokenizer import Analyzer
from hi2.types import I64, Array, Floats

_TEXTS_AT_A_TIME = 64
_BATCHES_PER_MARK = 32


@dataclass(frozen=True)
class Backbone:
    """A transformers model whose last ``trainable`` layers are trained and whose other layers are frozen.

    ``begin`` and ``end`` are the tokens that start and end a text ([CLS] and [SEP] of BERT).
    """

    model: Any
    analyzer: Analyzer
    begin: int
    end: int
    max_tokens: int
    trainable: int = 0

    @classmethod
    def load(cls, source: str, analyzer: Analyzer, *, max_tokens: int, layers: int | None, trainable: int) -> Backbone:
        """Load a model from a folder or a hub name; its vocabulary must be that of the index's tokenizer."""
        try:
            import transformers
        except ImportError as error:
            raise MissingExtra(
                "A term scorer needs an extra; install it with: pip install 'hi2[train]', or train --light"
            ) from error
        try:
            check_transformer(source)
            model = transformers.AutoModel.from_pretrained(
                source, attn_implementation="eager", use_safetensors=True, trust_remote_code=False
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        except Exception as error:
            must = (
                "the folder of a transformers model with weights as safetensors (a local path always works), "
                "or a name where the hub is reached"
            )
            raise invalid("backbone", must, f"'{source}' ({error})") from error
        model = model.float().eval()
        if model.config.model_type not in ARCHITECTURES:
            raise invalid("backbone", f"one of {', '.join(ARCHITECTURES)}", f"a {model.config.model_type}, '{source}'")
        if any(analyzer.number(token) != number for token, number in tokenizer.get_vocab().items()):
            raise invalid("backbone", "a model with the vocabulary of the index's tokenizer", f"'{source}'")
        n_layers = len(getattr(getattr(model, "encoder", None), "layer", ()))
        for name, wanted in (("layers", layers or 0), ("trainable_layers", trainable)):
            if wanted > n_layers:
                raise invalid(name, f"at most the {n_layers} layers of a BERT-like model", wanted)
        if layers is not None:
            model.encoder.layer = model.encoder.layer[:layers]
            model.config.num_hidden_layers = layers
        return cls(model, analyzer, tokenizer.cls_token_id, tokenizer.sep_token_id, max_tokens, trainable)

    @property
    def width(self) -> int:
        """The dimension of a token's state."""
        return int(self.model.config.hidden_size)

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, ``max_tokens`` and ``trainable``."""
        digest = hashlib.sha256(f"{self.max_tokens} {self.trainable}".encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def tokens(self, texts: Sequence[str]) -> tuple[Array, I64]:
        """Return the tokens of all texts, special tokens included, and the offsets of each text."""
        return encode_with_special_tokens(self.analyzer, texts, self.max_tokens, self.begin, self.end)

    def lower(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states below the trainable layers."""
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            out = self.model(input_ids=ids.to(device), attention_mask=mask.to(device), output_hidden_states=True)
        states: torch.Tensor = out.hidden_states[len(out.hidden_states) - 1 - self.trainable]
        return states

    def upper(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Run the trainable layers over whole texts."""
        if self.trainable == 0:
            return states
        excluded = (1.0 - mask[:, None, None, :].to(states.dtype)) * torch.finfo(states.dtype).min
        for layer in self.model.encoder.layer[-self.trainable :]:
            out = layer(states, attention_mask=excluded)
            states = out[0] if isinstance(out, tuple) else out
        return states


@dataclass(frozen=True)
class TokenStates:
    """Tokens and states of all documents, special tokens included; document i is at [offsets[i], offsets[i+1])."""

    offsets: I64
    tokens: Array
    values: Floats

    def of(self, row: int) -> slice:
        """Return the slice of a document's tokens."""
        return slice(int(self.offsets[row]), int(self.offsets[row + 1]))


def cache_states(folder: Path, texts: Sequence[str], backbone: Backbone, bars: Progress) -> TokenStates:
    """Return the states of all texts, computed once and stored in ``folder``; an interrupted computation resumes."""
    folder.mkdir(parents=True, exist_ok=True)
    with bars.phase("tokenize", None):
        tokens, offsets = backbone.tokens(texts)
    lengths = np.diff(offsets)
    name = hashlib.sha256(tokens.tobytes() + backbone.fingerprint.encode()).hexdigest()[:12]
    path, mark = folder / f"states-{name}.npy", folder / f"states-{name}.mark"
    shape = (int(offsets[-1]), backbone.width)
    done = 0
    if path.is_file():
        done = read_mark(mark) if mark.is_file() else len(texts)
        values = np.lib.format.open_memmap(path, mode="r+")
    else:
        write_mark(mark, 0)
        values = _allocate(path, shape)
    order = np.argsort(lengths, kind="stable")
    batches = [order[begin : begin + _TEXTS_AT_A_TIME] for begin in range(0, len(order), _TEXTS_AT_A_TIME)]
    backbone.model.to("cuda" if torch.cuda.is_available() else "cpu")
    with bars.phase("states of documents", len(batches)) as advance:
        advance(min(done, len(batches)))
        for number in range(done, len(batches)):
            batch = batches[number]
            ids, mask = pad_batch(tokens, offsets, batch)
            states = backbone.lower(torch.from_numpy(ids), torch.from_numpy(mask)).to(torch.float16).cpu().numpy()
            for position, i in enumerate(batch):
                values[offsets[i] : offsets[i + 1]] = states[position, : lengths[i]]
            advance(1)
            if (number + 1) % _BATCHES_PER_MARK == 0:
                values.flush()
                write_mark(mark, number + 1)
    values.flush()
    mark.unlink(missing_ok=True)
    backbone.model.to("cpu")
    return TokenStates(offsets, tokens, values)


def _allocate(path: Path, shape: tuple[int, int]) -> Any:
    """Return a new array on disk with all its space allocated: a full disk then raises here, not SIGBUS on a write."""
    values = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
    try:
        with path.open("r+b") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        del values
        path.unlink(missing_ok=True)
        raise Error(f"{path} cannot be written: {error}. It takes {2 * shape[0] * shape[1]:,} bytes.") from error
    return values
