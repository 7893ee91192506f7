"""``hi2 tune``: the profiles that it stores are used by ``hi2 search``."""

from __future__ import annotations

import json
import re

from commands import run


def test_tune_stores_profiles_that_search_uses(tmp_path):
    names = sorted(
        f"{module}.{name}" for module in ("os", "json", "math", "shutil") for name in dir(__import__(module))
    )
    lines = [json.dumps({"_id": name, "text": name.replace(".", " ").replace("_", " ")}) for name in names]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    (tmp_path / "q.txt").write_text("\n".join(name.split(".")[1].replace("_", " ") for name in names[::8]))
    run("build", tmp_path / "docs.jsonl", "-o", tmp_path / "a.hi2")
    done = run(
        "tune", tmp_path / "a.hi2", "--queries", tmp_path / "q.txt", "--target", "0.9", "--name", "mine", "-k", 5
    )
    assert "agreement with brute force" in done.stdout
    assert "--profile mine" in done.stdout
    found = run("search", tmp_path / "a.hi2", "path join", "--profile", "mine", "-k", 3, "-f", "jsonl")
    assert len(json.loads(found.stdout)["hits"]) == 3
    assert "one that this index has (mine)" in run("search", tmp_path / "a.hi2", "x", "--profile", "m", code=2).stderr
    (tmp_path / "few.txt").write_text("one\ntwo\n")
    refused = run("tune", tmp_path / "a.hi2", "--queries", tmp_path / "few.txt", "--target", "0.9", code=2)
    assert "at least 20" in refused.stderr
    adaptive = run("search", tmp_path / "a.hi2", "path join", "--adaptive", "0.05", "-f", "jsonl")
    assert json.loads(adaptive.stdout)["n_scored"] < len(names)


def test_judgements_teach_the_weight_of_words(tmp_path):
    codes = [f"part {i * 7919 % 10007} of the engine" for i in range(200)]
    (tmp_path / "docs.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"d{i}", "text": text}) for i, text in enumerate(codes))
    )
    questions = range(0, 200, 5)
    (tmp_path / "q.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"q{i}", "text": f"where is {codes[i].split()[1]}"}) for i in questions)
    )
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i}\t2\nq{i}\td{i + 1}\t0\n" for i in questions)
    )
    run("build", tmp_path / "docs.jsonl", "-o", tmp_path / "a.hi2")
    given = ("--queries", tmp_path / "q.jsonl", "--qrels", tmp_path / "qrels.tsv")
    done = run("tune", tmp_path / "a.hi2", *given, "--target", "0.9", "-k", 5)
    assert re.search(r"words add \d+\.\d ± \d+\.\d points of nDCG@10 with lexical=", done.stdout)
    weight = float(re.search(r"tuned: .*lexical=([0-9.]+)", done.stdout)[1])
    assert weight > 0
    found = json.loads(run("search", tmp_path / "a.hi2", "where is 7919", "--profile", "tuned", "-f", "jsonl").stdout)
    assert found["hits"][0]["id"] == "d1"
