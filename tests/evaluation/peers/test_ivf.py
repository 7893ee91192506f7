"""An inverted file that opens every list is brute force."""

from __future__ import annotations

from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.ivf import FaissIVF


def test_every_list_opened_is_brute_force(things):
    ivf, flat = things.build(FaissIVF()), things.build(FaissFlat())
    settings = ivf.sweep()
    assert [own["nprobe"] for own in settings] == [1, 2, 4, 8]  # 400 documents have ten lists
    for vector in things.vectors[:5]:
        assert ivf.search(vector, "", 10, {"nprobe": 10}).tolist() == flat.search(vector, "", 10, {}).tolist()
