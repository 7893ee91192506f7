"""Other systems, each in a file of its own, behind one shape: build, search, sweep."""

from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.hnsw import FaissHNSW, FaissHNSWSQ8
from hi2.evaluation.peers.hybrid import Hybrid, HybridCompact
from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.ivf_fastscan import FaissIVFFastScan
from hi2.evaluation.peers.ivf_opq import FaissIVFOPQ
from hi2.evaluation.peers.peer import Peer, Setting
from hi2.evaluation.peers.scann import ScaNN
from hi2.evaluation.peers.usearch import USearch

#: Every system by its name.
PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        FaissFlat,
        FaissIVF,
        FaissIVFOPQ,
        FaissIVFFastScan,
        FaissHNSW,
        FaissHNSWSQ8,
        USearch,
        ScaNN,
        Hybrid,
        HybridCompact,
    )
}

__all__ = ["PEERS", "Peer", "Setting"]
