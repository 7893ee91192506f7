"""Learn the selectors and the codec from queries, by distilling the embeddings themselves (§4.3 of the paper)."""

from hi2.store.parts import Parts
from hi2.training.distillation import distill
from hi2.training.settings import Settings

__all__ = ["Parts", "Settings", "distill"]
