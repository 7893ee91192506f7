"""An index from elsewhere is safe: nothing that it names is imported, run or fetched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hi2
from commands import refused, run
from hostile import change_part, hashed, hostile_model, name_encoder

#: What an index may say about its encoder: a hostile folder, a name on the hub, a module.
LABELS = [
    ("SentenceTransformerEncoder", "FOLDER"),
    ("SentenceTransformerEncoder", "someone/model"),
    ("TransformerEncoder", "FOLDER"),
    ("OnnxEncoder", "FOLDER"),
    ("beside.Evil", "FOLDER"),
    ("os.system", "touch MARKER"),
]


@pytest.fixture
def hostile(corpus, tmp_path):
    """Return an index of 20 documents, the folder of a hostile model, and the file that it creates when it runs."""
    texts, ids = corpus.texts[:20], corpus.ids[:20]
    hi2.HybridIndex.build(texts=texts, ids=ids, encoder=hashed, keep_text=True, path=tmp_path / "index").close()
    return tmp_path / "index", hostile_model(tmp_path / "model", tmp_path / "marker"), tmp_path / "marker"


#: Uses an index in every way that needs no encoder and asks for one in the others. Prints what the interpreter opened,
#: imported and connected to meanwhile, and the errors.
SCRIPT = """
import json, sys
import numpy as np
import hi2

path, model, query = sys.argv[1], sys.argv[2], sys.argv[3]
vector = np.array(json.loads(query))
index = hi2.HybridIndex.build(np.eye(4), list("abcd"))  # what is imported at first use is imported now
index.search(np.ones(4), "a"), index.explain(np.ones(4), "a", id=1), index.info(), index.health(), index.verify()
index.add(np.ones((1, 4)), ["e"])
seen, errors = [], []
def watch(event, arguments):
    first = str(arguments[0]) if arguments else ""
    if event == "open" and first.startswith(model) or event.startswith(("socket.", "subprocess.", "os.system")):
        seen.append(f"{event} {first}")
    if event == "import" and first.split(".")[0] in (
        "beside", "sentence_transformers", "transformers", "torch", "huggingface_hub", "onnxruntime", "pickle"
    ):
        seen.append(f"import {first}")
sys.addaudithook(watch)
for mode in "rw":
    with hi2.HybridIndex.open(path, mode) as index:
        index.verify(), index.info(["a file"]), index.health(["a file"]), repr(index), index.get(index.ids())
        assert len(index.search(vector, "open a file", k=3)) == 3
        assert index.explain(vector, "open a file", id=index.ids()[0]).outcome
        asked = [
            lambda: index.search("open a file"),
            lambda: index.search(["open a file"]),
            lambda: index.explain("open a file", id=index.ids()[0]),
            lambda: index.encoder,
        ]
        if mode == "w":
            index.add([vector], ["a new file"], ids=["new"])
            asked += [
                lambda: index.add(texts=["text"], ids=["a"]),
                lambda: index.upsert(texts=["text"], ids=["a"]),
                lambda: index.tune(["open a file"] * 30),
            ]
        for ask in asked:
            try:
                ask()
            except hi2.InvalidParameter as error:
                errors.append(str(error))
print(json.dumps([seen, errors]))
"""


@pytest.mark.parametrize(("name", "source"), LABELS)
def test_nothing_that_an_index_names_is_touched(hostile, name, source):
    path, model, marker = hostile
    source = source.replace("FOLDER", str(model)).replace("MARKER", str(marker))
    name_encoder(path, name, source)
    query = json.dumps(hashed(["open a file"])[0].tolist())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, model, query],
        capture_output=True,
        text=True,
        check=False,
        cwd=model,  # the folder from which Python would import the module
        env={**os.environ, "PYTHONPATH": str(Path(hi2.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    seen, errors = json.loads(done.stdout)
    assert seen == []
    assert len(errors) == 4 + 7
    for error in errors:
        assert f"{name}({source!r})" in error
        assert "encoder=" in error
        assert "hi2.register_encoder(" in error
        assert ("trust_encoder=True" in error) == (name == "SentenceTransformerEncoder")
    assert not marker.exists()


def test_commands_do_not_run_what_an_index_names(hostile, tmp_path):
    path, model, marker = hostile
    name_encoder(path, "SentenceTransformerEncoder", str(model))
    np.save(tmp_path / "q.npy", hashed(["open a file"]))
    (tmp_path / "q.txt").write_text("open a file\n" * 30)
    (tmp_path / "more.tsv").write_text("new\ta text\n")
    for verb in ("info", "verify"):
        run(verb, path)
    run("search", path, "open a file", "--vectors", tmp_path / "q.npy")
    for command in (
        ("search", path, "open a file"),
        ("explain", path, "open a file", hi2.HybridIndex.open(path).ids()[0]),
        ("add", path, tmp_path / "more.tsv"),
        ("tune", path, "--queries", tmp_path / "q.txt"),
    ):
        line = refused("--encoder must be given", *command).stderr
        assert f"SentenceTransformerEncoder({str(model)!r})" in line
        assert "--trust-encoder" in line
        assert "trust_encoder=True" not in line
    assert not marker.exists()


@pytest.mark.parametrize("modules", [True, False])
def test_even_a_trusted_index_runs_no_code_of_a_model(hostile, tmp_path, monkeypatch, modules):
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    path, model, marker = hostile
    if not modules:
        model = hostile_model(tmp_path / "other", marker, modules=False)
    name_encoder(path, "SentenceTransformerEncoder", str(model))
    monkeypatch.chdir(model)
    monkeypatch.syspath_prepend(str(model))
    index = hi2.HybridIndex.open(path, trust_encoder=True)
    with pytest.raises(hi2.InvalidParameter, match=r"(names 'beside\.Evil'|is a pickle).*pass it as a callable"):
        index.search("open a file")
    assert not marker.exists()


@pytest.mark.parametrize("parts", [{"tokenizer": "someone/model"}, {"scorer": "beside"}])
def test_terms_that_name_a_tokenizer_or_a_scorer_are_refused(hostile, parts):
    change_part(hostile[0], "terms", **parts)
    with pytest.raises(hi2.FormatError, match="name a tokenizer or a scorer"):
        hi2.HybridIndex.open(hostile[0])
