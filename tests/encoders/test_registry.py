"""Named encoders load from tiny models on disk and give the vectors that their recipes describe."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.encoders.registry import ENCODERS, Recipe, encoder_name, load_towers
from hi2.encoders.transformer import TransformerEncoder


def test_two_towers_need_two_paths(tiny):
    with pytest.raises(hi2.InvalidParameter, match="two paths"):
        load_towers(f"DPR={tiny.folder / 'documents'}")


def test_dpr_has_two_towers(tiny):
    towers = load_towers(f"DPR={tiny.folder / 'documents'},{tiny.folder / 'queries'}")
    for encoder, name in ((towers.documents, "documents"), (towers.queries, "queries")):
        output, _ = tiny.states(name, 256)
        np.testing.assert_allclose(encoder(tiny.texts), output.pooler_output.numpy(), atol=1e-5)
    assert not np.allclose(towers.documents(tiny.texts), towers.queries(tiny.texts))


@pytest.mark.parametrize("name", ["coCondenser", "AR2", "RetroMAE"])
def test_a_single_tower_truncates_queries_more(tiny, name):
    towers = load_towers(f"{name}={tiny.folder / 'bert'}")
    recipe = ENCODERS[name]
    for encoder, length in ((towers.documents, recipe.max_length), (towers.queries, recipe.query_max_length)):
        output, _ = tiny.states("bert", length)
        np.testing.assert_allclose(encoder(tiny.texts), output.last_hidden_state[:, 0].numpy(), atol=1e-5)


@pytest.mark.parametrize("name", ["DPR", "RetroMAE", "coCondenser", "no/such-model"])
def test_without_a_hub_the_error_says_that_a_path_works(name, monkeypatch):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(hi2.InvalidParameter, match="the folder of a"):
        load_towers(name)


def test_an_encoder_without_weights_on_the_hub_asks_for_a_path():
    with pytest.raises(hi2.InvalidParameter, match="path of its weights"):
        load_towers("AR2")
    with pytest.raises(hi2.InvalidParameter, match="with or without a path"):
        load_towers("unheard=of")
    with pytest.raises(hi2.InvalidParameter, match="'pooling'"):
        TransformerEncoder("x", pooling="max")


def test_static_is_one_tower():
    towers = load_towers("static")
    assert towers.documents is towers.queries
    np.testing.assert_array_equal(towers.queries(["a"]), hi2.StaticEncoder()(["a"]))


def test_results_name_an_encoder_by_its_recipe_or_its_folder():
    assert encoder_name("DPR=a/documents,a/queries") == "DPR"
    assert encoder_name("static") == "static"
    assert encoder_name("onnx=models/small") == "small"
    assert encoder_name("sentence-transformers/all-MiniLM-L6-v2") == "all-MiniLM-L6-v2"


def test_towers_with_the_same_settings_are_loaded_once():
    """Towers share an encoder only if source, prefix and length are the same."""
    loaded = []

    def load(source, **options):
        loaded.append((source, options))
        return lambda texts: np.zeros((len(texts), 2))

    one = Recipe(load, "hub", pooling="cls", max_length=8, query_max_length=8).towers()
    assert one.documents is one.queries
    assert loaded == [("hub", {"pooling": "cls", "prefix": "", "max_length": 8})]
    two = Recipe(load, "hub", query_prefix="query: ").towers("here")
    assert two.documents is not two.queries
    assert [(source, options["prefix"]) for source, options in loaded[1:]] == [("here", ""), ("here", "query: ")]
