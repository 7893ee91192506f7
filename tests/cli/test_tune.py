"""``hi2 tune``: the profiles that it stores are used by ``hi2 search``."""

from __future__ import annotations

import json

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
