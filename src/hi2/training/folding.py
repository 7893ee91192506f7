"""How does an index take up a map of queries? By its centroids and its codec's rotation: queries meet it nowhere else.

Documents and codes stay as they are. With OPQ a search pays nothing for the map, with PQ a rotation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hi2.codecs import PQ, Codec
from hi2.codecs.codec import ENCODING, QUERY_MAP
from hi2.errors import invalid
from hi2.selectors.clusters import ClusterSelector
from hi2.types import Floats

#: A map that loses more than this in being undone is not.
WORST = 1e4


def takes_up(codec: Codec) -> bool:
    """Whether a map of queries can become part of a codec: product codes, not on top of anchors."""
    return isinstance(codec.spec, PQ) and not codec.spec.residual


def taken_up(query_map: Floats, clusters: ClusterSelector | None, codec: Codec) -> tuple[ClusterSelector | None, Codec]:
    """Return centroids and codec that score a query as these would score it mapped; codes are chosen as before."""
    if clusters is not None:
        clusters = replace(clusters, centroids=np.ascontiguousarray(clusters.centroids @ query_map))
    books = codec.arrays["codebooks"]
    rotation = codec.arrays.get("rotation")
    if rotation is None:
        rotation = np.eye(books.shape[0] * books.shape[2], codec.dim, dtype=np.float32)
    arrays = {
        ENCODING + "codebooks": books,
        ENCODING + "rotation": rotation,
        **codec.arrays,
        "rotation": np.ascontiguousarray(rotation @ query_map),
        QUERY_MAP: query_map,
    }
    return clusters, codec.spec.restore(codec.dim, arrays)


def laid_down(clusters: ClusterSelector | None, codec: Codec) -> tuple[Floats | None, ClusterSelector | None, Codec]:
    """Return the map that parts have taken up, if any, and the parts without it: training goes on from there."""
    query_map = codec.query_map
    if query_map is None:
        return None, clusters, codec
    if np.linalg.cond(query_map) > WORST:
        raise invalid("codec", "one whose map of queries can be undone; train from the index before it", "another")
    back = np.linalg.inv(query_map.astype(np.float64)).astype(np.float32)
    if clusters is not None:
        clusters = replace(clusters, centroids=np.ascontiguousarray(clusters.centroids @ back))
    arrays = {name: array for name, array in codec.arrays.items() if name != QUERY_MAP}
    arrays["rotation"] = np.ascontiguousarray(arrays["rotation"] @ back)
    return query_map, clusters, codec.spec.restore(codec.dim, arrays)


def one_map(first: Floats | None, then: Floats) -> Floats:
    """Return the map that is two, one after the other."""
    return then if first is None else np.ascontiguousarray(then @ first)
