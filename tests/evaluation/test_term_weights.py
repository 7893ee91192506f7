"""Term weights made by tiny models follow the formula of each head, are kept on disk, and can be searched."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import hi2
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.judgements import Grades
from hi2.evaluation.peers import PEERS
from hi2.evaluation.peers.learned_sparse import DeepCT, DistilSPLADE, UniCOIL
from hi2.evaluation.task import Questions, Task
from hi2.evaluation.term_weights import TermWeights, check_order, make_weights, read_weights
from hi2.progress import Progress

SILENT = Progress(False)
WORDS = ["the", "river", "flows", "to", "sea", "a", "train", "leaves"]
TEXTS = ["the river flows to the sea", "a train leaves", "the sea"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with a tiny model per head, the models and their tokenizer."""
    torch = pytest.importorskip("torch", reason="needs the extra 'transformers'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    from safetensors.torch import save_file

    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("models")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    size = {"vocab_size": 5 + len(WORDS), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(**size, intermediate_size=32, num_labels=1)
    made = {
        "mlm": transformers.BertForMaskedLM(config),
        "regression": transformers.BertForTokenClassification(config),
    }
    for name, model in made.items():
        model.eval().save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    # UniCOIL's checkpoint: BERT under "bert", one linear unit called "tok_proj".
    bert, linear = made["mlm"].bert, torch.nn.Linear(16, 1)
    made["projection"] = (bert, linear)
    (folder / "projection").mkdir()
    state = {f"bert.{key}": value for key, value in bert.state_dict().items()}
    state |= {f"tok_proj.{key}": value for key, value in linear.state_dict().items()}
    save_file({key: value.clone() for key, value in state.items()}, folder / "projection" / "model.safetensors")
    config.save_pretrained(folder / "projection")
    tokenizer.save_pretrained(folder / "projection")
    return folder, made, tokenizer


def expected(models, head, text):
    """Compute the weights by the formula, one text at a time and without padding."""
    import torch

    _, made, tokenizer = models
    tokens = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        if head == "mlm":
            best = made["mlm"](**tokens).logits.clamp(min=0).log1p()[0].max(dim=0).values
            return {tokenizer.convert_ids_to_tokens(i): v for i, v in enumerate(best.tolist()) if v > 0}
        if head == "projection":
            bert, linear = made["projection"]
            scores = linear(bert(**tokens).last_hidden_state)[0, :, 0]
        else:
            scores = made["regression"](**tokens).logits[0, :, 0]
    largest: dict[str, float] = {}
    for word, value in zip(text.split(), scores[1:-1].tolist(), strict=True):
        largest[word] = max(value, largest.get(word, 0.0))
    return {word: value for word, value in largest.items() if value > 0}


@pytest.mark.parametrize("peer", [DeepCT, UniCOIL, DistilSPLADE], ids=lambda peer: peer.name)
def test_weights_follow_the_formula(models, peer):
    made = TermWeights(models[0] / peer.recipe.head, peer.recipe)(TEXTS)
    assert any(made)
    for text, own in zip(TEXTS, made, strict=True):
        assert own == pytest.approx(expected(models, peer.recipe.head, text), abs=1e-5)


def test_the_terms_of_a_deepct_query_have_weight_one(models):
    weigh = TermWeights(models[0] / "regression", DeepCT.recipe)
    assert weigh(["the river the sea"], queries=True) == [{"the": 1.0, "river": 1.0, "sea": 1.0}]


def test_a_model_whose_settings_name_code_is_refused(models, tmp_path):
    shutil.copytree(models[0] / "mlm", tmp_path / "mlm")
    path = tmp_path / "mlm" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "attn_implementation": "someone/kernel"}))
    with pytest.raises(hi2.InvalidParameter, match="names the code 'someone/kernel'"):
        TermWeights(tmp_path / "mlm", DistilSPLADE.recipe)


def test_interrupted_weights_are_resumed(models, tmp_path):
    weigh = TermWeights(models[0] / "mlm", DistilSPLADE.recipe)
    texts = [f"{TEXTS[i % 3]} {WORDS[i % 8]}" for i in range(70)]
    ids = [f"d{i}" for i in range(70)]
    make_weights(tmp_path / "whole.jsonl", ids, texts, weigh, queries=False, progress=SILENT)
    lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.part").write_text("".join(lines[:40]) + lines[40][:9])
    seen = []

    def counted(batch, *, queries):
        seen.extend(batch)
        return weigh(batch, queries=queries)

    make_weights(tmp_path / "cut.jsonl", ids, texts, counted, queries=False, progress=SILENT)
    assert seen == texts[32:]
    assert (tmp_path / "cut.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()


def test_a_model_is_enough_to_measure_a_system(models, tmp_path):
    pytest.importorskip("seismic", reason="needs the extra 'lab'")
    vectors = np.eye(3, 4, dtype=np.float32)
    asked = Questions("test", ["q"], ["river sea"], vectors[:1], Grades({"q": {"0": 1}}))
    tuned = Questions("dev", ["p"], ["train"], vectors[:1], Grades({"p": {"1": 1}}))
    task = Task("tiny", "given", ["0", "1", "2"], TEXTS, vectors, tuned, asked, {})
    inputs = Inputs(weights={"UniCOIL": str(models[0] / "projection")}, cache=tmp_path)
    peer = inputs.system("UniCOIL", task)
    peer.build(vectors, TEXTS, threads=1)
    found = peer.search(vectors[0], "river sea", 3, {"cut": 20, "heap": 0.7})
    weigh = TermWeights(models[0] / "projection", UniCOIL.recipe)
    documents, query = weigh(TEXTS), weigh(["river sea"])[0]
    scores = [sum(own.get(term, 0.0) * weight for term, weight in query.items()) for own in documents]
    assert found.tolist() == [i for i in np.argsort(-np.array(scores), kind="stable") if scores[i] > 0]
    (kept,) = tmp_path.iterdir()
    assert [id for id, _ in read_weights(kept / "documents.jsonl")] == ["0", "1", "2"]
    assert inputs.system("DeepCT", task) is None
    with pytest.raises(hi2.InvalidParameter, match="the hub has none"):
        Inputs(weights={"DeepCT": "hub"}).system("DeepCT", task)
    with pytest.raises(hi2.InvalidParameter, match="local path"):
        Inputs(weights={"DistilSPLADE": str(tmp_path / "nothing")}).system("DistilSPLADE", task)


def test_weights_in_another_order_are_refused(tmp_path):
    (tmp_path / "w.jsonl").write_text("".join(json.dumps({"id": id, "vector": {"a": 1}}) + "\n" for id in "ba"))
    check_order(tmp_path / "w.jsonl", ["b", "a"])
    with pytest.raises(hi2.InvalidParameter, match=r"w\.jsonl, line 1: expected the document 'a'"):
        check_order(tmp_path / "w.jsonl", ["a", "b"])
    for ids, message in ((["b"], "no more documents"), (["b", "a", "c"], "2 vectors for 3 documents")):
        with pytest.raises(hi2.InvalidParameter, match=message):
            check_order(tmp_path / "w.jsonl", ids)


def test_a_damaged_line_is_named(tmp_path):
    (tmp_path / "w.jsonl").write_text(json.dumps({"id": "1", "vector": {"a": 1}}) + "\n{}\n")
    with pytest.raises(hi2.InvalidParameter, match=r"w\.jsonl, line 2"):
        list(read_weights(tmp_path / "w.jsonl"))
    assert {"DeepCT", "UniCOIL", "DistilSPLADE"} <= set(PEERS)
