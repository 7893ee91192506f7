"""Gradients of every student equal finite differences, and students score as a search does."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from hi2.codecs import OPQ, PQ  # noqa: E402
from hi2.text.bags import Bags  # noqa: E402
from hi2.training.distillation import unpack_codes  # noqa: E402
from hi2.training.examples import Batch  # noqa: E402
from hi2.training.losses import divergence  # noqa: E402
from hi2.training.reconstruction import reconstruct  # noqa: E402
from hi2.training.students import Centroids, Codebooks, Gains  # noqa: E402
from teaching import RANDOM, TEMPERATURE, check_gradients, codebook_student, toy_batch, unit_vectors  # noqa: E402


def centroids():
    student = Centroids(unit_vectors(4, 6), RANDOM.integers(0, 4, 9), unit_vectors(9, 6)).double()
    student._vectors = student._vectors.astype(np.float64)
    return student


def gains():
    offsets = np.array([0, 3, 5, 7, 9, 10, 12, 14, 15, 17], np.uint64)
    terms = np.array([1, 2, 3, 0, 2, 1, 4, 3, 4, 0, 1, 3, 2, 4, 0, 2, 4], np.uint32)
    values = RANDOM.uniform(0.5, 2, 17)
    return Gains(Bags(offsets, terms, values, np.full(9, 3, np.uint32)), values, np.zeros(5, bool)).double()


def scorer(layers=0):
    transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")
    from hi2.training.term_scorer import TrainableScorer
    from hi2.training.token_states import Backbone, TokenStates

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=9, hidden_size=6, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8
    )
    model = transformers.BertModel(config, add_pooling_layer=False).double().eval()
    offsets = np.arange(0, 9 * 4 + 1, 4)
    tokens = RANDOM.integers(0, 5, 9 * 4).astype(np.uint32)
    states = TokenStates(offsets, tokens, RANDOM.standard_normal((len(tokens), 6)))
    backbone = Backbone(model, None, 7, 8, 8, layers)
    return TrainableScorer(backbone, states, np.zeros(9, bool), np.zeros(9, bool)).double().eval()


STUDENTS = {
    "centroids": (centroids, 6),
    "codebooks": (codebook_student, 8),
    "residual codebooks": (lambda: codebook_student(residual=True, rotation=False), 8),
    "gains": (gains, 6),
    "scorer": (scorer, 6),
    "scorer and a layer": (lambda: scorer(layers=1), 6),
}
PENALIZED = {"centroids", "gains", "scorer", "scorer and a layer"}


@pytest.mark.parametrize("name", STUDENTS)
@pytest.mark.usefixtures("float64")
def test_gradients_equal_finite_differences(name):
    make, dim = STUDENTS[name]
    student, batch = make(), toy_batch(dim)
    assert (student.penalty(batch.pool, TEMPERATURE) is not None) == (name in PENALIZED)
    teacher = torch.from_numpy(RANDOM.standard_normal((3, len(batch.pool))))

    def loss():
        vectors = torch.from_numpy(batch.vectors)
        value = divergence(teacher, student.logits(vectors, batch, TEMPERATURE))
        penalty = student.penalty(batch.pool, TEMPERATURE)
        return value if penalty is None else value + penalty

    check_gradients(loss, student)


@pytest.mark.usefixtures("float64")
def test_gains_start_at_the_scale_nearest_to_the_teacher():
    student, batch = gains(), toy_batch(6)
    teacher = 0.05 * student.logits(torch.from_numpy(batch.vectors), batch, 1.0).detach()
    before = float(divergence(teacher, student.logits(torch.from_numpy(batch.vectors), batch, 1.0)).detach())
    student.set_scale(batch, teacher)
    assert float(student.scale.detach()) == pytest.approx(np.log(0.05), abs=0.13)  # a step of the grid is 0.25
    assert float(divergence(teacher, student.logits(torch.from_numpy(batch.vectors), batch, 1.0)).detach()) < before
    no_terms = Batch(batch.vectors, [np.zeros(0, np.uint32)] * 3, batch.pool, [])
    scale = float(student.scale.detach())
    student.set_scale(no_terms, teacher)
    assert float(student.scale.detach()) == scale  # a batch without terms says nothing about it


@pytest.mark.parametrize("spec", [PQ(subspaces=4, bits=4), OPQ(subspaces=4), OPQ(subspaces=4, residual=True)], ids=repr)
def test_codebooks_score_as_the_codec_does(spec):
    """The scores that training uses are the scores of a search."""
    vectors, queries = unit_vectors(600, 8), unit_vectors(3, 8)
    codec = spec.fit(vectors, threads=1)
    codes = unpack_codes(codec.encode(vectors), codec)
    student = Codebooks(codec, codes, rotation=False, anchors=None, labels=None)
    pool = np.arange(0, 600, 7)
    scores = student.logits(torch.from_numpy(queries), Batch(queries, [], pool, []), 1.0).detach().numpy()
    np.testing.assert_allclose(scores, queries @ reconstruct(codec, codes, None)[pool].T, atol=1e-5)
    error = np.linalg.norm(reconstruct(codec, codes, None) - vectors, axis=1).mean()
    assert error < 0.6  # the codes approximate the vectors
