"""``verify`` names what is damaged, in files and in what they mean."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import hi2
from hi2.data.vectors import LARGEST
from hi2.errors import FormatError
from hi2.reports.verify import verify
from hi2.state.profile import Profile
from hi2.state.segment import Segment
from hi2.state.snapshot import EMPTY, LiveSegment, Snapshot
from hi2.store.manifest import serialise
from payloads import FREE, payload_of
from rewriting import read_array, rewrite, rewrite_array, rewrite_line, write_array


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


@pytest.fixture(scope="module")
def stored(corpus, tmp_path_factory):
    """An index with a payload of every kind of column; its rows are permuted by clusters."""
    folder = tmp_path_factory.mktemp("stored") / "index"
    payload = [{**payload_of(i), "n": i} for i in range(60)]
    hi2.HybridIndex.build(
        corpus.vectors[:60], corpus.texts[:60], payload=payload, columns=FREE, codec=hi2.SQ8(), path=folder
    ).close()
    return folder


@pytest.fixture
def folder(stored, tmp_path):
    shutil.copytree(stored, tmp_path / "index")
    return tmp_path / "index"


def refused(folder, said):
    with pytest.raises(FormatError, match=said):
        hi2.HybridIndex.open(folder).verify()


def test_rewriting_an_index_alone_does_not_damage_it(folder):
    rewrite(folder, lambda manifest: None)
    rewrite_array(folder, "codes.npy", lambda codes: None)
    line = json.dumps({"text": "another", "payload": {**payload_of(3), "n": 3}}, default=str)
    rewrite_line(folder, 3, line.encode() + b"\n")
    hi2.HybridIndex.open(folder).verify()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"text": "a", "payload": []}', "a payload that is not an object"),
        (b'{"text": "a", "payload": null}', "a payload that is not an object"),
        (b'{"text": "a", "payload": 0}', "a payload that is not an object"),
        (b'{"text": 5}', "a text that is not a string"),
        (b'{"text": null}', "a text that is not a string"),
        (b'{"text": "a", "id": 7}', "a key that is not text or payload: 'id'"),
        (b'{"text": "a", "payload": {}, "": 1}', "a key that is not text or payload"),
        (b'{"text": "a", "payload": {"n": NaN}}', "the number NaN"),
        (b'{"text": "a", "payload": {"n": [-Infinity]}}', "the number -Infinity"),
        (b'{"text": "a", "payload": {"n": 1e999}}', "the number 1e999"),
        (b'{"text": "a", "payload": {"n": {"m": [-1e999]}}}', "the number -1e999"),
        (b'{"text": "a", "payload": {"n": 9}, "payload": {"n": 3}}', "a key twice"),
        (b'{"text": "a", "payload": {"m": {"n": 3, "n": 3}}}', "a key twice"),
        (b'{"text": "\\ud800"}', "surrogates not allowed"),
        (b'{"text":\n"a"}', "not one line"),
    ],
)
def test_a_stored_line_that_is_not_text_and_payload_is_reported(folder, line, said):
    rewrite_line(folder, 3, line + b"\n")
    refused(folder, rf"stored\.jsonl has .*{said}")


def test_get_returns_the_id_that_was_asked_for_and_nothing_else(folder):
    rewrite_line(folder, 3, b'{"id": 9, "text": "a", "payload": {"n": 3}, "score": 1.5}\n')
    assert hi2.HybridIndex.open(folder).get(3) == {"id": 3, "text": "a", "payload": {"n": 3}}
    for line, said in ((b'{"payload": [1]}', "a payload"), (b'{"text": 1}', "a text")):
        rewrite_line(folder, 3, line + b"\n")
        with pytest.raises(FormatError, match=f"{said} that is not"):
            hi2.HybridIndex.open(folder).get(3)


def column(folder, name):
    listed = json.loads(next(folder.rglob("columns.json")).read_text())["columns"]
    return next(number for number, own in enumerate(listed) if own["name"] == name)


def other_first(array):
    array[0] = array[0] + 1 if array[0] != 1 else 0


@pytest.mark.parametrize("name", ["n", "weight", "draft", "lang", "seen"])
def test_a_column_that_contradicts_the_payload_is_reported(folder, name):
    rewrite_array(folder, f"column_{column(folder, name)}.npy", other_first)
    refused(folder, f"not those of stored.jsonl: the values of '{name}' differ")


def test_tags_and_words_that_contradict_the_payload_are_reported(folder, tmp_path):
    number = column(folder, "tags")

    def swap(words):
        words[:2] = words[1::-1]

    def move(offsets):
        at = np.flatnonzero(np.diff(offsets) == 2)[0]
        offsets[at + 1] -= 1

    for part, change in (("_words", swap), ("_offsets", move), ("", lambda codes: codes[::-1].copy())):
        shutil.copytree(folder, tmp_path / f"tags{part}")
        rewrite_array(tmp_path / f"tags{part}", f"column_{number}{part}.npy", change)
        refused(tmp_path / f"tags{part}", "the values of 'tags' differ")


@pytest.mark.parametrize(
    "change",
    [
        lambda listed: listed["columns"].reverse(),
        lambda listed: listed["columns"].append({"name": "further", "kind": "other"}),
        lambda listed: listed["beyond"].append("further"),
        lambda listed: listed.update(more=True),
    ],
)
def test_columns_of_other_keys_than_the_payload_has_are_reported(folder, change):
    def changed(array):
        listed = json.loads(array.tobytes())
        change(listed)
        return np.frombuffer(json.dumps(listed).encode(), np.uint8)

    rewrite_array(folder, "columns.json", changed)
    refused(folder, r"the keys of the payload, or their kinds differ|columns cannot be read")


@pytest.mark.parametrize(
    ("codec", "names"),
    [
        (hi2.SQ8(residual=True), ["codec_middle.npy", "codec_step.npy", "anchors.npy"]),
        (hi2.OPQ(4, bits=4), ["codec_codebooks.npy", "codec_rotation.npy", "term_mean_scores.npy"]),
        (hi2.PQ(4, bits=4), ["codec_codebooks.npy"]),
        (hi2.RaBitQ(), ["codec_middle.npy"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_part_of_the_model_that_is_not_finite_is_reported(corpus, tmp_path, codec, names, value):
    hi2.HybridIndex.build(corpus.vectors[:60], corpus.texts[:60], codec=codec).save(tmp_path / "whole")
    for name in names:
        shutil.copytree(tmp_path / "whole", tmp_path / name)
        rewrite_array(tmp_path / name, name, lambda array: array.reshape(-1).__setitem__(-1, value))
        refused(tmp_path / name, "finite|positive")


def test_trained_arrays_that_are_not_finite_are_reported(corpus, tmp_path):
    index = hi2.HybridIndex.build(corpus.vectors[:60], corpus.texts[:60], codec=hi2.PQ(4, bits=4))
    arrays = index.model.codec.arrays
    rotation = np.eye(40, dtype=np.float32)
    trained = {**arrays, "rotation": rotation, "query_map": rotation}
    trained |= {"encoding_codebooks": arrays["codebooks"], "encoding_rotation": rotation}
    codec = index.model.codec.spec.restore(40, trained)
    hi2.HybridIndex.build(corpus.vectors[:60], corpus.texts[:60], codec=codec).save(tmp_path / "whole")
    hi2.HybridIndex.open(tmp_path / "whole").verify()
    for name in trained:
        file = f"codec_{name}.npy"
        shutil.copytree(tmp_path / "whole", tmp_path / file)
        rewrite_array(tmp_path / file, file, lambda array: array.reshape(-1).__setitem__(3, np.nan))
        refused(tmp_path / file, rf"{file} has a value that is not finite")


@pytest.mark.parametrize(
    ("codec", "place"),
    [
        (hi2.Half(), lambda codes: codes.view(np.float16)[7]),
        (hi2.Flat(), lambda codes: codes.view(np.float32)[7]),
        (hi2.RaBitQ(), lambda codes: codes.reshape(-1)[-4:].view(np.float32)),
    ],
)
@pytest.mark.parametrize("refine", [False, True])
def test_codes_that_hold_floats_which_are_not_finite_are_reported(corpus, tmp_path, codec, place, refine):
    codecs = {"codec": hi2.SQ8(), "refine": codec} if refine else {"codec": codec}
    hi2.HybridIndex.build(corpus.vectors[:60], corpus.texts[:60], **codecs).save(tmp_path / "a")
    name = "refine_codes.npy" if refine else "codes.npy"
    rewrite_array(tmp_path / "a", name, lambda codes: place(codes).__setitem__(-1, np.nan))
    refused(tmp_path / "a", f"{name} has a value that is not finite")


@pytest.mark.parametrize("name", ["codes.npy", "refine_codes.npy"])
def test_flat_codes_beyond_what_input_may_hold_are_reported(corpus, tmp_path, name):
    codecs = {"codec": hi2.Flat()} if name == "codes.npy" else {"codec": hi2.SQ8(), "refine": hi2.Flat()}
    vectors = corpus.vectors[:60].copy()
    vectors[7, 3] = -LARGEST
    hi2.HybridIndex.build(vectors, corpus.texts[:60], **codecs).save(tmp_path / "a")
    hi2.HybridIndex.open(tmp_path / "a").verify()
    rewrite_array(tmp_path / "a", name, lambda codes: codes.view(np.float32)[7].__setitem__(-1, -3e38))
    refused(tmp_path / "a", f"{name} has a value beyond 1e\\+16")


def test_a_count_that_is_not_an_integer_is_reported(folder):
    rewrite(folder, lambda manifest: manifest["segments"][0].update(n_alive=60.0))
    refused(folder, "n_alive|where the files hold")


def test_a_negative_id_is_reported(folder):
    def changed(manifest):
        part = manifest["segments"][0]
        ids = read_array(folder, part, "ids.npy")
        ids[0] = -5  # it was 0: the order of the ids stays
        write_array(folder, part, "ids.npy", ids)

    rewrite(folder, changed)
    refused(folder, "an id is negative")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("model", "parts", "metric"), "foo"),
        (("model", "parts", "metric"), None),
        (("model", "parts", "terms", "average_length"), float("nan")),
        (("model", "parts", "terms", "average_length"), float("inf")),
        (("model", "parts", "terms", "average_length"), -3.0),
        (("model", "parts", "terms", "n_docs"), -1),
        (("model", "parts", "terms", "n_docs"), 1.5),
        (("model", "parts", "terms", "n_docs"), 2**40),
        (("model", "parts", "terms", "n_docs"), 10**400),
        (("model", "parts", "terms", "average_length"), "9.0"),
        (("model", "parts", "terms", "average_length"), True),
        (("model", "parts", "terms", "average_length"), 10**400),
        (("model", "parts", "terms", "max_tokens"), 10**30),
        (("model", "parts", "clusters", "spherical"), 2),
        (("model", "parts", "clusters", "spherical"), 1),
        (("model", "parts", "clusters", "n_clusters"), 14),
        (("model", "parts", "clusters", "n_clusters"), 16),
        (("model", "parts", "codec", "residual"), 0),
        (("model", "parts", "encoder"), {"name": "x", "source": None, "probe": [1.0]}),
        (("model", "parts", "dim"), 40.5),
        (("drift", "n_docs"), -1),
        (("drift", "n_tokens"), -1),
    ],
)
def test_numbers_that_no_index_has_are_refused_when_it_is_opened(folder, path, value):
    def changed(manifest):
        *way, last = path
        for key in way:
            manifest = manifest[key]
        manifest[last] = value

    rewrite(folder, changed)
    with pytest.raises(FormatError):
        hi2.HybridIndex.open(folder)
