"""Losses and gradients are the paper's: against plain numpy, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from hi2.codecs import OPQ, PQ  # noqa: E402
from hi2.text.bags import Bags  # noqa: E402
from hi2.training.examples import Batch, best_rows  # noqa: E402
from hi2.training.jpq import JPQLoop, _pairs  # noqa: E402
from hi2.training.losses import commitment, divergence, temperature_for  # noqa: E402
from hi2.training.settings import Settings  # noqa: E402
from hi2.training.students import Centroids, Codebooks, Gains, QueryMap  # noqa: E402
from teaching import compare, softmax  # noqa: E402

RANDOM = np.random.default_rng(3)
TEMPERATURE = 0.1


def kl(teacher, student):
    p, q = softmax(teacher), softmax(student)
    return float((p * (np.log(p) - np.log(q))).sum(1).mean())


def unit(n, dim):
    vectors = RANDOM.standard_normal((n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_divergence_and_commitment_are_the_formulas():
    teacher, student = RANDOM.standard_normal((2, 5, 7))
    found = divergence(torch.from_numpy(teacher), torch.from_numpy(student))
    assert float(found) == pytest.approx(kl(teacher, student), abs=1e-12)
    assert float(divergence(torch.from_numpy(teacher), torch.from_numpy(teacher))) == pytest.approx(0, abs=1e-12)
    logits, labels = RANDOM.standard_normal((6, 4)), np.array([0, 3, 1, 1, 2, 0])
    expected = -np.log(softmax(logits)[np.arange(6), labels]).mean()
    assert float(commitment(torch.from_numpy(logits), torch.from_numpy(labels))) == pytest.approx(expected)


def test_the_teacher_is_as_sharp_as_asked():
    scores = unit(20, 16) @ unit(300, 16).T
    shares = softmax(scores / temperature_for(scores, 8.0))
    perplexity = np.exp(-(shares * np.log(shares)).sum(1).mean())
    assert perplexity == pytest.approx(8.0, rel=1e-3)
    flat = softmax(scores)
    assert np.exp(-(flat * np.log(flat)).sum(1).mean()) > 250  # at T = 1 it says nothing


def centroids():
    student = Centroids(unit(4, 6), RANDOM.integers(0, 4, 9), unit(9, 6)).double()
    student._vectors = student._vectors.astype(np.float64)
    return student


def codebooks(residual=False, rotation=True):
    vectors = unit(300, 8)
    codec = OPQ(subspaces=4, bits=4, residual=residual).fit(vectors, threads=1)
    codes = RANDOM.integers(0, 16, (9, 4)).astype(np.uint8)
    anchors = unit(3, 8) if residual else None
    labels = RANDOM.integers(0, 3, 9) if residual else None
    student = Codebooks(codec, codes, rotation=rotation, anchors=anchors, labels=labels).double()
    if residual:
        student._anchors = student._anchors.double()
    return student


def gains():
    offsets = np.array([0, 3, 5, 7, 9, 10, 12, 14, 15, 17], np.uint64)
    terms = np.array([1, 2, 3, 0, 2, 1, 4, 3, 4, 0, 1, 3, 2, 4, 0, 2, 4], np.uint32)
    values = RANDOM.uniform(0.5, 2, 17)
    return Gains(Bags(offsets, terms, values, np.full(9, 3, np.uint32)), values, np.zeros(5, bool)).double()


def scorer(layers=0):
    transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")
    from hi2.training.scorer import Scorer
    from hi2.training.states import Backbone, States

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=9, hidden_size=6, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8
    )
    model = transformers.BertModel(config, add_pooling_layer=False).double().eval()
    offsets = np.arange(0, 9 * 4 + 1, 4)
    tokens = RANDOM.integers(0, 5, 9 * 4).astype(np.uint32)
    states = States(offsets, tokens, RANDOM.standard_normal((len(tokens), 6)))
    backbone = Backbone(model, None, 7, 8, 8, layers)
    return Scorer(backbone, states, np.zeros(9, bool), np.zeros(9, bool)).double().eval()


def batch_of(dim):
    terms = [np.array([1, 3], np.uint32), np.array([2], np.uint32), np.array([0, 2, 4], np.uint32)]
    return Batch(unit(3, dim).astype(np.float64), terms, np.array([0, 2, 3, 5, 6, 8]), [])


CASES = {
    "centroids": (centroids, 6),
    "codebooks": (codebooks, 8),
    "residual codebooks": (lambda: codebooks(residual=True, rotation=False), 8),
    "gains": (gains, 6),
    "scorer": (scorer, 6),
    "scorer and a layer": (lambda: scorer(layers=1), 6),
}
PENALIZED = {"centroids", "gains", "scorer", "scorer and a layer"}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_finite_differences(name):
    make, dim = CASES[name]
    torch.set_default_dtype(torch.float64)
    try:
        student, batch = make(), batch_of(dim)
        assert (student.penalty(batch.pool, TEMPERATURE) is not None) == (name in PENALIZED)
        teacher = torch.from_numpy(RANDOM.standard_normal((3, len(batch.pool))))

        def loss():
            vectors = torch.from_numpy(batch.vectors)
            value = divergence(teacher, student.logits(vectors, batch, TEMPERATURE))
            added = student.penalty(batch.pool, TEMPERATURE)
            return value if added is None else value + added

        compare(loss, student)
    finally:
        torch.set_default_dtype(torch.float32)


def test_jpq_moves_codebooks_and_queries_down_its_loss():
    torch.set_default_dtype(torch.float64)
    try:
        students = {"codec": codebooks(rotation=False), "query": QueryMap(8)}
        loop = JPQLoop(students, unit(9, 8), TEMPERATURE, Settings(method="jpq"), folder=None, data="toy")
        batch = batch_of(8)
        batch = Batch(batch.vectors, batch.terms, batch.pool, [np.array([0]), np.array([2, 5]), np.array([8])])
        compare(lambda: loop.losses(batch)["codec"], loop.students)
    finally:
        torch.set_default_dtype(torch.float32)


def test_gains_begin_at_the_scale_that_is_nearest_to_the_teacher():
    torch.set_default_dtype(torch.float64)
    try:
        student, batch = gains(), batch_of(6)
        teacher = 0.05 * student.logits(torch.from_numpy(batch.vectors), batch, 1.0).detach()
        before = float(divergence(teacher, student.logits(torch.from_numpy(batch.vectors), batch, 1.0)).detach())
        student.begin(batch, teacher)
        assert float(student.scale.detach()) == pytest.approx(np.log(0.05), abs=0.13)  # a step of the grid is 0.25
        assert float(divergence(teacher, student.logits(torch.from_numpy(batch.vectors), batch, 1.0)).detach()) < before
        silent = Batch(batch.vectors, [np.zeros(0, np.uint32)] * 3, batch.pool, [])
        scale = float(student.scale.detach())
        student.begin(silent, teacher)
        assert float(student.scale.detach()) == scale  # nothing is known of it
    finally:
        torch.set_default_dtype(torch.float32)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 1500), st.integers(1, 30), st.integers(0, 2**32 - 1), st.sampled_from([3, 1000])
)
def test_the_best_of_a_row_are_those_of_a_stable_sort(n, width, depth, seed, levels):
    scores = np.random.default_rng(seed).integers(0, levels, (n, width)).astype(np.float32)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    assert np.array_equal(best_rows(scores, depth), expected)


@pytest.mark.parametrize("spec", [PQ(subspaces=4, bits=4), OPQ(subspaces=4), OPQ(subspaces=4, residual=True)], ids=repr)
def test_codebooks_score_as_the_codec_does(spec):
    """What training minimises is what a search would score."""
    from hi2.training.distillation import unpacked
    from hi2.training.reconstruction import reconstructed

    vectors, queries = unit(600, 8), unit(3, 8)
    codec = spec.fit(vectors, threads=1)
    codes = unpacked(codec.encode(vectors), codec)
    student = Codebooks(codec, codes, rotation=False, anchors=None, labels=None)
    pool = np.arange(0, 600, 7)
    scores = student.logits(torch.from_numpy(queries), Batch(queries, [], pool, []), 1.0).detach().numpy()
    np.testing.assert_allclose(scores, queries @ reconstructed(codec, codes, None)[pool].T, atol=1e-5)
    error = np.linalg.norm(reconstructed(codec, codes, None) - vectors, axis=1).mean()
    assert error < 0.6  # the codes stand for the vectors they were made of


def test_pairs_are_weighed_by_the_change_of_reciprocal_rank():
    scores = torch.tensor([3.0, 2.0, 1.0, 0.0])
    found = _pairs(scores, np.array([1]), np.array([0, 1, 2]))  # the positive is second
    expected = (1 - 1 / 2) * np.log1p(np.exp(3.0 - 2.0)) + (1 / 2 - 1 / 3) * np.log1p(np.exp(1.0 - 2.0))
    assert float(found) == pytest.approx(expected, rel=1e-5)
