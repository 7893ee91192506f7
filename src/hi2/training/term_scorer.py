"""The paper's term selector: a two-layer MLP over a transformer's states scores every token of a document.

``hi2.selectors.learned.TermScorer`` is what an index stores of it.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import numpy as np
import torch

from hi2.progress import Progress
from hi2.text.bags import BagCollector, Bags, max_score_per_term
from hi2.training.examples import Batch
from hi2.training.students import PENALTY_OCCURRENCES, SPARSITY, TermStudent, TokenMLP
from hi2.training.token_states import Backbone, TokenStates
from hi2.types import I64, Array

_DOCS_AT_A_TIME = 256
_PENALTY_DOCS = 32


class TrainableScorer(TermStudent):
    """Score a term by the highest score of its tokens; layers above the stored states are trained too."""

    def __init__(self, backbone: Backbone, states: TokenStates, dropped: Array, common: Array) -> None:
        super().__init__(common)
        self.mlp = TokenMLP(backbone.width)
        layers = backbone.model.encoder.layer[-backbone.trainable :] if backbone.trainable else []
        self.layers = torch.nn.ModuleList(layers)
        self.backbone, self._states, self._dropped = backbone, states, dropped

    def logits(self, vectors: torch.Tensor, batch: Batch, temperature: float) -> torch.Tensor:
        """Return the sums of the scores of the queries' terms."""
        terms, has_term = self._query_terms(batch)
        pool = batch.pool
        flat, scores = self._token_scores(pool, self._columns_of(terms))
        if len(terms) == 0:
            return torch.zeros(len(batch.terms), len(pool), device=scores.device) * self.scale
        matrix = torch.zeros(len(pool) * len(terms), device=scores.device)
        matrix = matrix.scatter_reduce(0, flat.to(scores.device), scores, "amax")
        return self.scale.exp() * (has_term.to(scores) @ matrix.view(len(pool), len(terms)).T)

    def penalty(self, pool: I64, temperature: float) -> torch.Tensor | None:
        """Return the mean score of a sample of the pool's tokens, so that scores that help no query fall to zero."""
        if len(self.layers):
            return SPARSITY * self._scores_through_layers(pool[:: max(1, len(pool) // _PENALTY_DOCS)]).mean()
        tokens = np.concatenate([np.arange(self._states.offsets[row], self._states.offsets[row + 1]) for row in pool])
        scores: torch.Tensor = self.mlp(self._states_of(tokens[:: max(1, len(tokens) // PENALTY_OCCURRENCES)]))
        return SPARSITY * scores.mean()

    def _states_of(self, tokens: Any) -> torch.Tensor:
        """Return the stored states of some tokens, on the device and in the dtype of the MLP."""
        return torch.from_numpy(self._states.values[tokens]).to(self.mlp.score.weight)

    def _token_scores(self, pool: I64, columns: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """Return, for tokens with a column, flat positions (document · n_terms + column) and scores."""
        n_terms = max(int(columns.max()) + 1, 1)
        spans = [np.arange(self._states.offsets[row], self._states.offsets[row + 1]) for row in pool]
        owners = np.repeat(np.arange(len(pool)), [len(span) for span in spans])
        tokens = np.concatenate(spans)
        token_columns = columns[self._states.tokens[tokens]]
        keep = token_columns >= 0
        positions = torch.from_numpy(owners[keep] * n_terms + token_columns[keep])
        if not len(self.layers):
            return positions, self.mlp(self._states_of(tokens[keep]))
        scores = self._scores_through_layers(pool)
        return positions, scores[torch.from_numpy(keep).to(scores.device)]

    def _scores_through_layers(self, pool: I64) -> torch.Tensor:
        """Return the scores of all tokens of some documents, in order."""
        lengths = np.diff(self._states.offsets)[pool]
        weight = self.mlp.score.weight
        states = torch.zeros(len(pool), int(lengths.max()), self.backbone.width, dtype=weight.dtype)
        for i, row in enumerate(pool):
            states[i, : lengths[i]] = torch.from_numpy(self._states.values[self._states.of(row)])
        mask = (torch.arange(states.shape[1])[None] < torch.from_numpy(lengths)[:, None]).to(weight.device)
        scores: torch.Tensor = self.mlp(self.backbone.upper(states.to(weight.device), mask))
        return scores[mask]

    @torch.inference_mode()
    def weights(self, bars: Progress) -> Bags:
        """Return the terms of every document with their scores."""
        collector = BagCollector(np.float32)
        n = len(self._states.offsets) - 1
        with bars.phase("score documents", n) as advance:
            for begin in range(0, n, _DOCS_AT_A_TIME):
                pool = np.arange(begin, min(begin + _DOCS_AT_A_TIME, n))
                first, last = int(self._states.offsets[begin]), int(self._states.offsets[pool[-1] + 1])
                scores = (
                    self._scores_through_layers(pool)
                    if len(self.layers)
                    else self.mlp(self._states_of(slice(first, last)))
                )
                tokens = self._states.tokens[first:last]
                counts = np.diff(self._states.offsets[begin : pool[-1] + 2])
                collector.add(max_score_per_term(tokens, counts, scores.cpu().numpy(), self._dropped))
                advance(len(pool))
        return collector.finish()


def scorer_files(scorer: TrainableScorer) -> tuple[bytes, bytes, bytes | None]:
    """Return the configuration, the weights (float16) and the ONNX graph as an index stores them."""
    from safetensors.torch import save

    backbone = scorer.backbone
    stored = backbone.model.config.to_diff_dict()
    kept = {name: value for name, value in stored.items() if name not in ("dtype", "torch_dtype")}
    config = {
        "transformer": {**kept, "model_type": backbone.model.config.model_type},
        "begin": backbone.begin,
        "end": backbone.end,
        "max_tokens": backbone.max_tokens,
    }
    state = {f"encoder.{name}": tensor for name, tensor in backbone.model.state_dict().items() if "pooler" not in name}
    state |= {f"mlp.{name}": tensor for name, tensor in scorer.mlp.state_dict().items()}
    halves = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).detach().cpu().contiguous()
        for name, tensor in state.items()
    }
    return json.dumps(config).encode(), save(halves), _onnx_graph(scorer)


class _ExportedScorer(torch.nn.Module):
    """The computation from tokens to scores, for export; attributes are named as the stored weights are."""

    def __init__(self, scorer: TrainableScorer) -> None:
        super().__init__()
        self.encoder = scorer.backbone.model
        self.mlp = scorer.mlp

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.mlp(self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state)
        return scores


def _onnx_graph(scorer: TrainableScorer) -> bytes | None:
    """Return the computation as ONNX without weights, or None if this version of torch cannot export it."""
    out = io.BytesIO()
    ids = torch.ones(2, 3, dtype=torch.int64)
    axes = {name: {0: "texts", 1: "tokens"} for name in ("ids", "mask", "scores")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            export: Any = torch.onnx.export  # its stubs do not allow open files
            export(
                _ExportedScorer(scorer).eval().cpu(),
                (ids, ids),
                out,
                input_names=["ids", "mask"],
                output_names=["scores"],
                dynamic_axes=axes,
                export_params=False,
                do_constant_folding=False,
                opset_version=17,
                dynamo=False,
            )
    except (TypeError, ValueError, ImportError, RuntimeError):
        return None
    return out.getvalue()
