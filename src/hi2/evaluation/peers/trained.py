"""Systems with parts trained by ``hi2 train``: supervised HI² and the learned inverted files it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from hi2.errors import invalid
from hi2.evaluation.peers.hybrid import ClustersOnly, HybridOPQ
from hi2.evaluation.peers.peer import Setting
from hi2.index import HybridIndex
from hi2.store.trained_parts import Parts, checksum
from hi2.types import Floats


class Trained(HybridOPQ):
    """An index of trained parts. Its build time does not include training."""

    needs: ClassVar[str] = "parts that 'hi2 train' wrote (--trained FOLDER)"
    #: The method that trained the parts, which is also the name of their folder.
    method: ClassVar[str]
    has_terms: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        self._parts = Parts.load(folder)

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the documents with the trained parts."""
        parts = self._parts
        if parts.record["data"]["vectors"] != checksum(vectors):
            got = f"other {parts.record['n_documents']} documents of dimension {parts.model.dim}"
            raise invalid("--trained", f"trained on these {len(vectors)} vectors of {vectors.shape[1]}", got)
        self.index = HybridIndex.build(
            vectors,
            texts,
            clusters=parts.clusters,
            terms=parts.terms if self.has_terms else None,
            codec=parts.codec,
            term_weights=parts.term_weights if self.has_terms else None,
            keep_text=False,
            bags=False,
            threads=threads,
            progress=False,
        )

    def asked(self, vector: Floats) -> Floats:
        """Return the query vector mapped by the trained codec."""
        query_map = self._parts.codec.query_map
        return vector if query_map is None else vector @ query_map.T


class Supervised(Trained):
    """The paper's supervised index: term scorer, trained centroids and distilled OPQ."""

    name = "hi2 supervised"
    method = "hi2"


class Light(Trained):
    """Without a transformer: gains on top of BM25, trained centroids and distilled OPQ."""

    name = "hi2 light"
    method = "light"


class DistillVQ(Trained, ClustersOnly):
    """Distill-VQ (Xiao et al., SIGIR 2022): centroids and codebooks trained together, without terms."""

    name = "Distill-VQ"
    method = "distill-vq"
    has_terms = False

    def sweep(self) -> Sequence[Setting]:
        """Return increasing numbers of clusters."""
        return ClustersOnly.sweep(self)


class DistilledIVF(DistillVQ):
    """Trained centroids over full vectors: the distilled inverted file of the paper's Figure 1."""

    name = "distilled IVF"
    method = "ivf"


class JPQ(DistillVQ):
    """Codebooks and a query map trained together (Zhan et al., CIKM 2021), over plain k-means lists."""

    name = "IVF-JPQ"
    method = "jpq"
