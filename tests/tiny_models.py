"""What do the tests of encoders share? Tiny models on disk, which encoders load as any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WORDS = [
    "the", "river", "flows", "to", "sea", "a", "train", "an", "unusually", "long", "sentence", "about", "rivers", ",",
    "trains", "and", "query", ":", "passage",
]  # fmt: skip


@dataclass(frozen=True)
class TinyModels:
    """The folders of a plain BERT and of the two towers of DPR, with the models and the tokenizer in them."""

    folder: Path
    models: dict[str, Any]
    tokenizer: Any
    #: Texts of their vocabulary; the last is longer than any maximum length.
    texts: tuple[str, ...]

    def states(self, name, max_length):
        """Return the output of a model for the texts, and the attention mask."""
        import torch

        tokens = self.tokenizer(
            list(self.texts), padding=True, truncation=True, max_length=max_length, return_tensors="pt"
        )
        with torch.inference_mode():
            return self.models[name](**tokens), tokens["attention_mask"].numpy()


def make_tiny(folder: Path) -> TinyModels:
    """Write models of two layers and 24 tokens."""
    torch = pytest.importorskip("torch", reason="needs the extra 'transformers'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    torch.manual_seed(0)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = transformers.BertTokenizerFast(str(vocabulary))
    size = {
        "vocab_size": 5 + len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    models = {
        "bert": transformers.BertModel(transformers.BertConfig(**size)),
        "documents": transformers.DPRContextEncoder(transformers.DPRConfig(**size)),
        "queries": transformers.DPRQuestionEncoder(transformers.DPRConfig(**size)),
    }
    for name, model in models.items():
        model.eval().save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    long = "an unusually long sentence about rivers, trains and the sea " * 20
    return TinyModels(folder, models, tokenizer, ("the river flows to the sea", "a train", long))
