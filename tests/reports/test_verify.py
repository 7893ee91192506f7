"""``verify`` names what is damaged, in files and in what they mean."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import hi2
from hi2.errors import FormatError
from hi2.reports.verify import verify
from hi2.state.profile import Profile
from hi2.state.segment import Segment
from hi2.state.snapshot import EMPTY, LiveSegment, Snapshot
from hi2.store.manifest import serialise


def test_verify_finds_a_profile_of_another_model(small, tmp_path):
    small.add_profile("mine", Profile(clusters=3, model=small.model.fingerprint))
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["profiles"]["mine"]["model"] = "0" * 64
    path.write_bytes(serialise(manifest))
    with pytest.raises(FormatError, match="another model"):
        hi2.HybridIndex.open(tmp_path / "a").verify()


def damaged(small, change):
    """Return the state with some arrays of its segment changed, as if they had been written that way."""
    state = small._index.state
    segment = state.snapshot.segments[0].segment
    arrays = {name: np.array(array) for name, array in segment.arrays.items()}
    change(arrays)
    return replace(state, snapshot=EMPTY.plus(Segment(state.model, segment.meta, arrays)))


def set_nan(arrays):
    arrays["codes.npy"].view(np.float32)[7, 3] = np.nan


def swap_ids(arrays):
    first = int(arrays["id_lengths.npy"][0])
    arrays["id_characters.npy"][:first] = ord("~")


def same_row_twice(arrays):
    arrays["rows.npy"][:] = 0


def cut_text(arrays):
    arrays["stored.jsonl"][:20] = ord("x")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_nan, r"Segment 0 is damaged: codes\.npy has a value that is not finite"),
        (swap_ids, "its ids are not in order"),
        (same_row_twice, "its rows are not a permutation"),
        (cut_text, "stored"),
    ],
)
def test_a_segment_that_breaks_an_invariant_is_named(small, change, said):
    verify(damaged(small, lambda arrays: None), None)
    with pytest.raises(FormatError, match=said):
        verify(damaged(small, change), None)


def test_states_that_contradict_themselves_are_refused(small, corpus):
    state = small._index.state
    (live,) = state.snapshot.segments
    terms = state.model.terms
    bad_terms = replace(terms, mean_scores=np.where(np.arange(terms.n_terms) == 5, np.nan, terms.mean_scores))
    numbered = hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5])._index.state
    for said, bad in [
        ("alive in two segments", replace(state, snapshot=Snapshot((live, live)))),
        ("not finite", replace(state, model=replace(state.model, terms=bad_terms))),
        ("next_id is an id that is in use", replace(numbered, next_id=4)),
        ("alive bits", replace(state, snapshot=Snapshot((LiveSegment(live.segment, np.full(8, 255, np.uint8)),)))),
    ]:
        with pytest.raises(FormatError, match=said):
            verify(bad, None)
    verify(numbered, None)
