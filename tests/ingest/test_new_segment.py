"""Documents become a segment: in memory or in a folder, with progress by document."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

import filing
from hi2.ingest.new_segment import file_documents, merge_live, segment_in_memory
from hi2.progress import Progress
from hi2.state.snapshot import EMPTY
from hi2.store.arrays import FolderSink, map_file
from hi2.store.folder import Folder


class Counting(Progress):
    """Counts the steps of every phase."""

    def __init__(self):
        super().__init__(False)
        self.steps = {}

    @contextmanager
    def phase(self, name, total):
        with super().phase(name, total):
            self.steps[name] = [0, total]

            def report(steps):
                self.steps[name][0] += steps

            yield report


def test_nothing_is_written_until_a_sink_is_given(corpus, tmp_path):
    model = filing.model_of(corpus)
    documents = filing.read(corpus.vectors[:40], corpus.texts[:40], terms=model.terms)
    progress = Counting()
    write = file_documents(model, documents, threads=1, progress=progress)
    assert not progress.steps
    segment = segment_in_memory(model, write)
    assert progress.steps == {"file documents": [40, 40], "assign clusters": [40, 40]}
    sink = FolderSink(Folder.open(tmp_path))
    assert write(sink) == segment.meta
    for name, entry in sink.entries.items():
        np.testing.assert_array_equal(map_file(sink.folder, name, entry), segment.arrays[name])


def test_a_merge_reports_the_living_documents(corpus):
    model = filing.model_of(corpus, terms=None)
    snapshot = EMPTY.plus(filing.file(model, corpus.vectors[:9])).plus(
        filing.file(model, corpus.vectors[:5], first_id=9)
    )
    snapshot = snapshot.without(snapshot.find([0, 9]))
    steps = []
    merged = segment_in_memory(model, merge_live(model, snapshot.segments, steps.append))
    assert merged.id_column().as_list() == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]
    assert sum(steps) == merged.n_docs == 12
