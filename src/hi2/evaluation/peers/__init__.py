"""Which systems are compared? One module per system, all with the same interface: build, search, sweep."""

from hi2.evaluation.peers.bm25 import BM25s
from hi2.evaluation.peers.convex_fusion import ConvexFusionFlat, ConvexFusionHNSW
from hi2.evaluation.peers.doct5 import DocT5
from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.hnsw import FaissHNSW, FaissHNSWSQ8
from hi2.evaluation.peers.hybrid import ClustersOnly, Hybrid, HybridCompact, HybridFlat, HybridOPQ, TermsOnly
from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.ivf_fastscan import FaissIVFFastScan
from hi2.evaluation.peers.ivf_opq import FaissIVFOPQ
from hi2.evaluation.peers.ivf_pq import FaissIVFPQ
from hi2.evaluation.peers.ladr import Ladr
from hi2.evaluation.peers.learned_sparse import DeepCT, DistilSPLADE, UniCOIL
from hi2.evaluation.peers.peer import Peer, Setting
from hi2.evaluation.peers.rank_fusion import RankFusionFlat, RankFusionHNSW
from hi2.evaluation.peers.rescored import Rescored
from hi2.evaluation.peers.scann import ScaNN
from hi2.evaluation.peers.searcher import SearcherPeer
from hi2.evaluation.peers.trained import JPQ, DistilledIVF, DistillVQ, Light, Supervised
from hi2.evaluation.peers.usearch import USearch
from hi2.evaluation.peers.words import HybridVectors, HybridWords, HybridWordsTuned, WordsAlone

#: Every system that can be built by its name.
PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        FaissFlat,
        FaissIVF,
        FaissIVFPQ,
        FaissIVFOPQ,
        FaissIVFFastScan,
        FaissHNSW,
        FaissHNSWSQ8,
        USearch,
        ScaNN,
        Hybrid,
        HybridCompact,
        HybridOPQ,
        HybridFlat,
        HybridWords,
        HybridWordsTuned,
        HybridVectors,
        WordsAlone,
        TermsOnly,
        ClustersOnly,
        BM25s,
        DocT5,
        DeepCT,
        UniCOIL,
        DistilSPLADE,
        RankFusionFlat,
        RankFusionHNSW,
        ConvexFusionFlat,
        ConvexFusionHNSW,
        Rescored,
        Ladr,
        JPQ,
        DistillVQ,
        DistilledIVF,
        Light,
        Supervised,
    )
}

__all__ = ["PEERS", "Peer", "SearcherPeer", "Setting"]
