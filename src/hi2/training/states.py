"""What do a transformer's frozen layers say of every document? Computed once, kept on disk as float16, resumable."""

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
from hi2.errors import Error, MissingExtra, invalid
from hi2.progress import Progress
from hi2.selectors.learned import framed, padded
from hi2.text.tokenizer import Analyzer
from hi2.types import I64, Array, Floats

_TEXTS_AT_A_TIME = 64
_MARKED_EVERY = 32


@dataclass(frozen=True)
class Backbone:
    """A transformers model whose last ``trainable`` layers learn and whose others are frozen."""

    model: Any
    analyzer: Analyzer
    begin: int
    end: int
    max_tokens: int
    trainable: int = 0

    @classmethod
    def load(cls, source: str, analyzer: Analyzer, *, max_tokens: int, layers: int | None, trainable: int) -> Backbone:
        """Load from a folder or, where the hub is reached, by name; its vocabulary must be the index's own."""
        try:
            import transformers
        except ImportError as error:
            raise MissingExtra(
                "A term scorer needs an extra; install it with: pip install 'hi2[train]', or train --light"
            ) from error
        try:
            model = transformers.AutoModel.from_pretrained(source, attn_implementation="eager").float().eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(source)
        except Exception as error:
            must = "the folder of a transformers model (a local path always works), or a name where the hub is reached"
            raise invalid("backbone", must, f"'{source}' ({error})") from error
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
        """The size of a token's state."""
        return int(self.model.config.hidden_size)

    @property
    def fingerprint(self) -> str:
        """Names the weights, the cut and the depth."""
        digest = hashlib.sha256(f"{self.max_tokens} {self.trainable}".encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def tokens(self, texts: Sequence[str]) -> tuple[Array, I64]:
        """Return all token numbers, those that begin and end a text included, and the offsets of each text's own."""
        return framed(self.analyzer, texts, self.max_tokens, self.begin, self.end)

    def lower(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states below the layers that learn."""
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            out = self.model(input_ids=ids.to(device), attention_mask=mask.to(device), output_hidden_states=True)
        states: torch.Tensor = out.hidden_states[len(out.hidden_states) - 1 - self.trainable]
        return states

    def upper(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Run the layers that learn over whole texts."""
        if self.trainable == 0:
            return states
        hidden = (1.0 - mask[:, None, None, :].to(states.dtype)) * torch.finfo(states.dtype).min
        for layer in self.model.encoder.layer[-self.trainable :]:
            out = layer(states, attention_mask=hidden)
            states = out[0] if isinstance(out, tuple) else out
        return states


@dataclass(frozen=True)
class States:
    """States of every document's tokens: document i's at [offsets[i], offsets[i+1]), special tokens included."""

    offsets: I64
    tokens: Array
    values: Floats

    def of(self, row: int) -> slice:
        """Return where a document's tokens are."""
        return slice(int(self.offsets[row]), int(self.offsets[row + 1]))


def kept_states(folder: Path, texts: Sequence[str], backbone: Backbone, bars: Progress) -> States:
    """Return the states of all texts, kept in ``folder``; work that was interrupted goes on."""
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
        values = _reserved(path, shape)
    order = np.argsort(lengths, kind="stable")
    batches = [order[begin : begin + _TEXTS_AT_A_TIME] for begin in range(0, len(order), _TEXTS_AT_A_TIME)]
    backbone.model.to("cuda" if torch.cuda.is_available() else "cpu")
    with bars.phase("states of documents", len(batches)) as advance:
        advance(min(done, len(batches)))
        for number in range(done, len(batches)):
            own = batches[number]
            ids, mask = padded(tokens, offsets, own)
            states = backbone.lower(torch.from_numpy(ids), torch.from_numpy(mask)).to(torch.float16).cpu().numpy()
            for place, i in enumerate(own):
                values[offsets[i] : offsets[i + 1]] = states[place, : lengths[i]]
            advance(1)
            if (number + 1) % _MARKED_EVERY == 0:
                values.flush()
                write_mark(mark, number + 1)
    values.flush()
    mark.unlink(missing_ok=True)
    backbone.model.to("cpu")
    return States(offsets, tokens, values)


def _reserved(path: Path, shape: tuple[int, int]) -> Any:
    """Return a new array on disk whose every byte has its place: a full disk is an error now, not a signal later."""
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
