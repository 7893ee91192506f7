"""On SciFact, training on the train questions improves results for the test questions."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2
from hi2.evaluation.task import load_task, load_training
from hi2.progress import Progress
from hi2.training import Settings, distill

pytestmark = pytest.mark.slow
FOLDER = Path(os.environ.get("HI2_DATA", "nowhere")) / "scifact"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="HI2_DATA names no folder with scifact")
def test_distilled_codewords_find_more_on_unseen_questions(tmp_path):
    vectors = FOLDER / "minilm"
    given = load_training(FOLDER, vectors=vectors, encoder="static", cache=None, progress=Progress(False))
    task = load_task(FOLDER, vectors=vectors, progress=Progress(False))
    assert not set(given["queries"]) & set(task.test.texts)
    codec = hi2.OPQ(16).fit(given["vectors"], threads=2)  # coarse, so that there is something to gain
    clusters = hi2.KMeans(64).fit(given["vectors"], n_docs=len(given["vectors"]), threads=2)
    settings = Settings(method="light", epochs=6, batch=32)
    parts = distill(**given, codec=codec, clusters=clusters, settings=settings, threads=2, progress=False)
    plain = hi2.HybridIndex.build(given["vectors"], given["texts"], codec=codec, clusters=clusters, progress=False)
    better = plain.refit(parts, vectors=given["vectors"], texts=given["texts"], progress=False)

    def recall(index):
        hits = index.search(task.test.vectors, list(task.test.texts), k=20, clusters=16)
        targets = [set(task.test.judged.relevant(id)) for id in task.test.ids]
        return np.mean(
            [
                len({task.ids[i] for i in ids} & wanted) / len(wanted)
                for ids, wanted in zip(hits.ids, targets, strict=True)
            ]
        )

    assert recall(better) > recall(plain) + 0.01
