"""Which weight does a model give each term of a text? Made by transformers and kept as JSONL.

A line is ``{"id": …, "vector": {"term": weight, …}}``, the format that Anserini and Pyserini read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hi2.data.input_files import read_lines
from hi2.encoders.model_files import check_transformer
from hi2.errors import InvalidParameter, MissingExtra, invalid
from hi2.progress import Progress

BATCH_SIZE = 32


@dataclass(frozen=True)
class Recipe:
    """How a model computes weights.

    ``head`` is 'mlm' (predictions over the whole vocabulary, as in SPLADE), 'projection' (a linear layer ``tok_proj``
    over the states, as in UniCOIL) or 'regression' (a token classifier with one label, as in DeepCT). If ``queries`` is
    False, every term of a query has weight 1.
    """

    head: str
    hub: str | None = None
    queries: bool = True
    max_length: int = 256


def read_weights(path: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the id and the term weights of every line."""
    for number, line in read_lines(path):
        try:
            data = json.loads(line)
            yield str(data["id"]), {str(term): float(weight) for term, weight in data["vector"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidParameter(f"{path}, line {number}: expected an id and a vector of weights.") from error


def check_order(path: Path, ids: Sequence[str]) -> None:
    """Refuse weights that do not belong to these documents in this order."""
    n = 0
    for n, (id, _) in enumerate(read_weights(path), 1):
        if n > len(ids) or id != ids[n - 1]:
            expected = f"the document {ids[n - 1]!r}" if n <= len(ids) else "no more documents"
            raise InvalidParameter(f"{path}, line {n}: expected {expected}, got {id!r}; lines stand as in the corpus.")
    if n != len(ids):
        raise InvalidParameter(f"{path}: {n} vectors for {len(ids)} documents.")


def make_weights(
    path: Path, ids: Sequence[str], texts: Sequence[str], model: TermWeights, *, queries: bool, progress: Progress
) -> None:
    """Write the weights of every text to ``path``. An interrupted run resumes after its last complete batch."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    whole = [line for line in _existing_lines(part) if line.endswith("\n")]
    done = len(whole) // BATCH_SIZE * BATCH_SIZE
    part.write_text("".join(whole[:done]), encoding="utf-8")
    with part.open("a", encoding="utf-8") as file, progress.phase(f"weigh {path.stem}", len(texts)) as advance:
        advance(done)
        for begin in range(done, len(texts), BATCH_SIZE):
            made = model(list(texts[begin : begin + BATCH_SIZE]), queries=queries)
            for id, vector in zip(ids[begin : begin + BATCH_SIZE], made, strict=True):
                file.write(json.dumps({"id": id, "vector": vector}, ensure_ascii=False) + "\n")
            file.flush()
            advance(len(made))
    part.replace(path)


def _existing_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []


class TermWeights:
    """A model from a folder, or from the hub by its name. Needs the extra ``transformers``."""

    def __init__(self, source: str | Path, recipe: Recipe) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtra(
                "Weights by a model need an extra; install it with: pip install 'hi2[transformers]'"
            ) from error
        self._torch: Any = torch
        self._recipe = recipe
        kinds: dict[str, Any] = {
            "mlm": transformers.AutoModelForMaskedLM,
            "regression": transformers.AutoModelForTokenClassification,
            "projection": _projection(torch, transformers) if recipe.head == "projection" else None,
        }
        try:
            check_transformer(source)
            self._model: Any = (
                kinds[recipe.head].from_pretrained(str(source), use_safetensors=True, trust_remote_code=False).eval()
            )
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(source), trust_remote_code=False)
        except Exception as error:
            must = (
                "the folder of a transformers model with weights as safetensors (a local path always works), "
                "or a name where the hub is reached"
            )
            raise invalid("--weights", must, f"'{source}' ({error})") from error
        self._terms = self._tokenizer.convert_ids_to_tokens(list(range(len(self._tokenizer))))

    def __call__(self, texts: list[str], *, queries: bool = False) -> list[dict[str, float]]:
        """Return the positive term weights of every text."""
        tokens = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._recipe.max_length, return_tensors="pt"
        )
        inside = tokens["attention_mask"].bool()
        if self._recipe.head != "mlm":
            special = self._torch.tensor(self._tokenizer.all_special_ids)
            inside &= ~self._torch.isin(tokens["input_ids"], special)
        if queries and not self._recipe.queries:
            weights = inside.float()
        else:
            with self._torch.inference_mode():
                output = self._model(**tokens)
            weights = (output if self._recipe.head == "projection" else output.logits).clamp(min=0)
            if self._recipe.head == "mlm":
                best = (weights.log1p() * inside.unsqueeze(-1)).max(dim=1).values.numpy()
                return [{self._terms[i]: float(row[i]) for i in np.flatnonzero(row)} for row in best]
            weights = weights.squeeze(-1) * inside
        return [
            self._largest_weights(own, row)
            for own, row in zip(tokens["input_ids"].tolist(), weights.tolist(), strict=True)
        ]

    def _largest_weights(self, ids: list[int], weights: list[float]) -> dict[str, float]:
        """Return the largest weight of each term over its occurrences."""
        vector: dict[str, float] = {}
        for id, weight in zip(ids, weights, strict=True):
            if weight > 0:
                vector[self._terms[id]] = max(weight, vector.get(self._terms[id], 0.0))
        return vector


def _projection(torch: Any, transformers: Any) -> Any:
    """Return a class of BERT with one linear unit over its states, named as in UniCOIL's checkpoints."""

    class Projection(transformers.BertPreTrainedModel):  # type: ignore[misc]
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.bert = transformers.BertModel(config, add_pooling_layer=False)
            self.tok_proj = torch.nn.Linear(config.hidden_size, 1)
            self.post_init()

        def forward(self, **tokens: Any) -> Any:
            return self.tok_proj(self.bert(**tokens).last_hidden_state)

    return Projection
