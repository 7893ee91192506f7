"""Train the selectors and the codec from queries, with the embeddings as the teacher (§4.3 of the paper)."""

from hi2.store.trained_parts import Parts
from hi2.training.distillation import distill
from hi2.training.settings import Settings

__all__ = ["Parts", "Settings", "distill"]
