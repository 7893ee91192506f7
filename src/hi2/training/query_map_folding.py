"""How does an index apply a linear map of queries? The map is folded into its centroids and its codec's rotation.

A search uses the query vector only there, so documents and codes stay as they are. With OPQ a search pays nothing for
the map; with PQ it pays one rotation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hi2.codecs import PQ, Codec
from hi2.codecs.codec import ENCODING_PREFIX, QUERY_MAP
from hi2.errors import invalid
from hi2.selectors.clusters import ClusterSelector
from hi2.types import Floats

#: A map with a larger condition number is not inverted: too much precision would be lost.
MAX_CONDITION = 1e4


def can_fold(codec: Codec) -> bool:
    """Whether a map can be folded into a codec: only into product codes that are not residual."""
    return isinstance(codec.spec, PQ) and not codec.spec.residual


def fold_query_map(
    query_map: Floats, clusters: ClusterSelector | None, codec: Codec
) -> tuple[ClusterSelector | None, Codec]:
    """Return clusters and a codec that score a query q as the given ones score ``query_map @ q``.

    Documents are encoded as before.
    """
    if clusters is not None:
        clusters = replace(clusters, centroids=np.ascontiguousarray(clusters.centroids @ query_map))
    books = codec.arrays["codebooks"]
    rotation = codec.arrays.get("rotation")
    if rotation is None:
        rotation = np.eye(books.shape[0] * books.shape[2], codec.dim, dtype=np.float32)
    arrays = {
        ENCODING_PREFIX + "codebooks": books,
        ENCODING_PREFIX + "rotation": rotation,
        **codec.arrays,
        "rotation": np.ascontiguousarray(rotation @ query_map),
        QUERY_MAP: query_map,
    }
    return clusters, codec.spec.restore(codec.dim, arrays)


def extract_query_map(
    clusters: ClusterSelector | None, codec: Codec
) -> tuple[Floats | None, ClusterSelector | None, Codec]:
    """Return the map that was folded in, or None, and the clusters and codec without it; training starts from these."""
    query_map = codec.query_map
    if query_map is None:
        return None, clusters, codec
    if np.linalg.cond(query_map) > MAX_CONDITION:
        raise invalid("codec", "one whose map of queries can be undone; train from the index before it", "another")
    inverse = np.linalg.inv(query_map.astype(np.float64)).astype(np.float32)
    if clusters is not None:
        clusters = replace(clusters, centroids=np.ascontiguousarray(clusters.centroids @ inverse))
    arrays = {name: array for name, array in codec.arrays.items() if name != QUERY_MAP}
    arrays["rotation"] = np.ascontiguousarray(arrays["rotation"] @ inverse)
    return query_map, clusters, codec.spec.restore(codec.dim, arrays)


def compose(first: Floats | None, second: Floats) -> Floats:
    """Return the map that applies ``first``, if there is one, and then ``second``."""
    return second if first is None else np.ascontiguousarray(second @ first)
