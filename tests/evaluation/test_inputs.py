"""Systems get what they need besides the collection, or are left out."""

from __future__ import annotations

import json
import os

import pytest

import hi2
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.peers import PEERS
from hi2.store.trained_parts import Parts


def write_weights(folder, documents, queries):
    folder.mkdir(exist_ok=True)
    for name, ids in (("documents.jsonl", documents), ("queries.jsonl", queries)):
        lines = (json.dumps({"id": id, "vector": {"a": 1.0}}) + "\n" for id in ids)
        (folder / name).write_text("".join(lines))
    return str(folder)


def test_a_system_without_its_inputs_is_left_out(task):
    assert all((Inputs().system(name, task) is None) == (kind.needs is not None) for name, kind in PEERS.items())


def test_term_weights_must_cover_the_documents_and_the_questions(task, tmp_path):
    queries = [*task.tune.ids, *task.test.ids]
    given = Inputs(weights={"DistilSPLADE": write_weights(tmp_path / "w", task.ids, queries)})
    peer = given.system("DistilSPLADE", task)
    assert peer.name == "DistilSPLADE"
    assert set(peer._queries) == {*task.tune.texts, *task.test.texts}
    write_weights(tmp_path / "w", task.ids, queries[1:])
    with pytest.raises(hi2.InvalidParameter, match=f"no weights of query '{queries[0]}'"):
        given.system("DistilSPLADE", task)
    write_weights(tmp_path / "w", task.ids[1:], queries)
    with pytest.raises(hi2.InvalidParameter, match="line 1: expected the document"):
        given.system("DistilSPLADE", task)


def test_trained_parts_are_found_by_their_method(task, tmp_path):
    index = hi2.HybridIndex.build(task.vectors[:50], task.texts[:50])
    Parts(index.model).save(tmp_path / "light")
    given = Inputs(trained=tmp_path)
    assert given.system("hi2 light", task).method == "light"
    assert given.system("hi2 supervised", task) is None


def test_a_fingerprint_changes_with_the_files(tmp_path):
    path = tmp_path / "expansions.txt"
    path.write_text("first")
    given = Inputs(expansions=path, weights={"UniCOIL": "castorini/unicoil"}, trained=tmp_path / "trained")
    before = given.fingerprint("DocT5")
    assert given.fingerprint("DocT5") == before
    os.utime(path, ns=(0, 0))
    assert given.fingerprint("DocT5") != before
    assert given.fingerprint("Flat") == Inputs().fingerprint("DocT5") == ""
    assert given.fingerprint("UniCOIL") == "castorini/unicoil"
    assert "light" in given.fingerprint("hi2 light")
