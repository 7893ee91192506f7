"""A fitted codec knows what its codes depend on, and an index gets a codec by its size."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.codecs import CODECS, COMPRESS_FROM_DOCS, default_codecs

VECTORS = np.random.default_rng(0).standard_normal((400, 8)).astype(np.float32)


def moved(codec, name="codebooks", **more):
    """The codec after training: ``name`` scores with other values, and the old ones still encode."""
    arrays = {**codec.arrays, "encoding_" + name: codec.arrays[name], name: codec.arrays[name] + np.float32(0.1)}
    return codec.spec.restore(codec.dim, {**arrays, **more})


@pytest.mark.parametrize("spec", [cls() for cls in CODECS.values()], ids=repr)
def test_the_encoding_name_is_that_of_the_codes(spec):
    codec = spec.fit(VECTORS, threads=1)
    assert codec.encoding_name == codec.spec.restore(8, codec.arrays).encoding_name
    if codec.arrays:
        assert codec.encoding_name != spec.fit(VECTORS + 1, threads=1).encoding_name
    others = {cls().fit(VECTORS, threads=1).encoding_name for cls in CODECS.values() if cls is not type(spec)}
    assert codec.encoding_name not in others


def test_training_changes_scores_but_not_codes():
    codec = hi2.PQ(subspaces=4, bits=4).fit(VECTORS, threads=1)
    trained = moved(codec)
    np.testing.assert_array_equal(trained.encode(VECTORS), codec.encode(VECTORS))
    assert trained.encoding_name == codec.encoding_name
    untracked = codec.spec.restore(8, {"codebooks": codec.arrays["codebooks"] + np.float32(0.1)})
    assert untracked.encoding_name != codec.encoding_name


def test_a_rotation_that_changes_nothing_and_a_map_of_queries_do_not_change_codes():
    codec = hi2.PQ(subspaces=4, bits=4).fit(VECTORS, threads=1)
    identity = np.eye(8, dtype=np.float32)
    turned = codec.spec.restore(8, {**codec.arrays, "rotation": identity})
    np.testing.assert_array_equal(turned.encode(VECTORS), codec.encode(VECTORS))
    assert turned.encoding_name == codec.encoding_name
    assert turned.query_map is None
    mapped = codec.spec.restore(8, {**codec.arrays, "query_map": 2 * identity})
    assert mapped.encoding_name == codec.encoding_name
    np.testing.assert_array_equal(mapped.query_map, 2 * identity)
    flipped = codec.spec.restore(8, {**codec.arrays, "rotation": np.ascontiguousarray(identity[::-1])})
    assert flipped.encoding_name != codec.encoding_name


@pytest.mark.parametrize(
    ("codec", "refine", "n_docs", "expected"),
    [
        (None, None, COMPRESS_FROM_DOCS - 1, (hi2.Flat(), None)),
        (None, None, COMPRESS_FROM_DOCS, (hi2.RaBitQ(), hi2.SQ8())),
        (None, hi2.Half(), 5, (hi2.RaBitQ(), hi2.Half())),
        (hi2.PQ(), None, 10**6, (hi2.PQ(), None)),
        (hi2.Flat(), hi2.SQ8(), 5, (hi2.Flat(), hi2.SQ8())),
    ],
)
def test_large_indexes_are_compressed_unless_a_codec_is_given(codec, refine, n_docs, expected):
    assert default_codecs(codec, refine, n_docs) == expected
