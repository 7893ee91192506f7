"""Damage is found by ``open`` or ``verify``, and using a damaged index never crashes or reads out of bounds."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hi2
from compat import damage
from compat.damage import named_files
from compat.make_index import queries, small_index
from hi2.store.manifest import serialise

MUTATIONS = 2400
#: Damage at random is seen by checksums; tests/compat/test_lies.py uses an index in every way.
use = partial(damage.use, thorough=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "index"
    small_index(folder).close()
    return folder


@pytest.fixture(scope="module")
def apart(tmp_path_factory) -> Path:
    """The same index, every array in a file of its own."""
    folder = tmp_path_factory.mktemp("apart") / "index"
    small_index(folder, packed=False).close()
    return folder


def test_an_intact_index_is_not_reported_as_damaged(whole, apart):
    for folder in (whole, apart):
        assert not use(folder)
        assert not use(folder, mmap=False)


def test_damage_to_any_file_is_found(whole, tmp_path):
    for number, path in enumerate(named_files(whole)):
        for kind in ("removed", "emptied", "cut", "longer", "flipped"):
            folder = tmp_path / f"{number}-{kind}"
            shutil.copytree(whole, folder)
            target = folder / path.relative_to(whole)
            data = target.read_bytes()
            if kind == "removed":
                target.unlink()
            else:
                middle = len(data) // 2
                changed = {
                    "emptied": b"",
                    "cut": data[:-1],
                    "longer": data + b"\0",
                    "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
                }[kind]
                target.write_bytes(changed)
            assert use(folder, mmap=number % 2 == 0), f"{path.name} {kind} went unseen"
            shutil.rmtree(folder)


def mutate(rng: np.random.Generator, data: bytes) -> bytes:
    """Make one random change: overwrite bytes, flip a bit, copy a block, cut or extend the file."""
    changed = bytearray(data)
    kind = rng.integers(6)
    at = int(rng.integers(max(len(data), 1)))
    size = int(rng.integers(1, 33))
    if kind == 0:
        changed[at : at + size] = rng.bytes(len(changed[at : at + size]))
    elif kind == 1 and changed:
        changed[at] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        changed[at : at + size] = b"\xff" * len(changed[at : at + size])
    elif kind == 3:
        source = int(rng.integers(max(len(data), 1)))
        changed[at : at + size] = changed[source : source + len(changed[at : at + size])]
    elif kind == 4:
        del changed[at:]
    else:
        changed += rng.bytes(size)
    return bytes(changed)


@pytest.mark.slow
def test_thousands_of_random_changes_to_files_are_found(whole, tmp_path):
    rng = np.random.default_rng(0)
    files = named_files(whole)
    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    seen = 0
    for i in range(MUTATIONS):
        path = folder / files[i % len(files)].relative_to(whole)
        data = path.read_bytes()
        changed = mutate(rng, data)
        path.write_bytes(changed)
        seen += changed != data
        assert use(folder, mmap=i // len(files) % 2 == 0) == (changed != data), f"mutation {i} of {path.name}"
        path.write_bytes(data)
    assert seen > 2000
    assert not use(folder)


@pytest.mark.slow
def test_damaged_arrays_with_matching_checksums_do_not_crash(apart, tmp_path):
    """The checksums in the manifest match the damaged bytes. Native code must still stay in bounds."""
    import hashlib

    rng = np.random.default_rng(1)
    folder = tmp_path / "index"
    shutil.copytree(apart, folder)
    manifest_path = folder / "manifest.json"
    original = manifest_path.read_bytes()
    manifest = json.loads(original)
    places = [(part, name) for part in (manifest["model"], *manifest["segments"]) for name in part["files"]]
    for i in range(1200):
        part, name = places[i % len(places)]
        path = folder / part["folder"] / name
        data = path.read_bytes()
        begin = 128 if path.suffix == ".npy" else 0
        body = bytearray(data)
        for _ in range(int(rng.integers(1, 6))):
            if len(body) > begin:
                body[int(rng.integers(begin, len(body)))] = int(rng.integers(256))
        path.write_bytes(bytes(body))
        entry = dict(part["files"][name])
        part["files"][name]["sha256"] = hashlib.sha256(bytes(body)).hexdigest()
        manifest_path.write_bytes(serialise(manifest))
        use(folder, mmap=i // len(places) % 2 == 0)
        part["files"][name] = entry
        path.write_bytes(data)
    manifest_path.write_bytes(original)
    assert not use(folder)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_bytes_in_the_place_of_bags_do_no_harm(whole, tmp_path_factory, data):
    """Checksums match. Every search that reads bags, and verify, must stay inside the file."""
    folder = tmp_path_factory.mktemp("bags") / "index"
    shutil.copytree(whole, folder)
    bags = np.load(folder / "segment-000001" / "bags.npy")
    offsets = np.load(folder / "segment-000001" / "bag_offsets.npy")
    changed = np.frombuffer(data.draw(st.binary(min_size=0, max_size=400)), np.uint8)
    at = data.draw(st.integers(0, len(bags)))
    other = data.draw(st.sampled_from(["bags", "cut", "offsets"]))
    if other == "bags":
        bags[at : at + len(changed)] = changed[: len(bags) - at]
    elif other == "cut":
        bags = np.concatenate([bags[:at], changed])
    else:
        offsets[at % len(offsets) :][: len(changed)] = changed[: len(offsets) - at % len(offsets)]
    damage.rewrite(folder, ("segment-000001", "bags.npy"), bags)
    damage.rewrite(folder, ("segment-000001", "bag_offsets.npy"), offsets)
    damage.use(folder)
    shutil.rmtree(folder.parent)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_wrong_manifest_is_rejected_or_harmless(whole, tmp_path_factory, data):
    """Replace any value of the manifest by any other and fix its checksum: the result is a hi2 error or an answer."""
    folder = tmp_path_factory.mktemp("lies") / "index"
    shutil.copytree(whole, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    node = manifest
    while True:
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            break
        key = data.draw(st.sampled_from(list(keys)))
        if isinstance(node[key], (dict, list)) and node[key] and data.draw(st.booleans()):
            node = node[key]
            continue
        node[key] = data.draw(json_values)
        break
    (folder / "manifest.json").write_bytes(serialise(manifest))
    use(folder)
    shutil.rmtree(folder.parent)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=300))
def test_random_bytes_as_a_manifest_are_rejected(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(hi2.FormatError):
        hi2.HybridIndex.open(folder)


@pytest.mark.parametrize(
    "lie",
    [{"n_docs": 7}, {"next_id": -1}, "n_alive", "fingerprint"],
    ids=["n_docs", "next_id", "n_alive", "fingerprint"],
)
def test_a_manifest_that_contradicts_the_files_is_rejected(corpus, tmp_path, lie):
    hi2.HybridIndex.build(corpus.vectors[:9], corpus.texts[:9]).save(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text())
    if lie == "n_alive":
        manifest["segments"][0]["n_alive"] = 3
    elif lie == "fingerprint":
        manifest["model"]["fingerprint"] = "x"
    else:
        manifest |= lie
    path.write_bytes(serialise(manifest))
    with pytest.raises(hi2.FormatError):
        hi2.HybridIndex.open(tmp_path / "a").verify()


def test_a_damaged_index_does_not_affect_another(corpus, whole, tmp_path):
    """One thread searches both, so they share its scratch memory."""
    healthy = hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    expected = healthy.search(corpus.query_vectors[0], corpus.query_texts[0], clusters=0)
    shutil.copytree(whole, tmp_path / "a")
    for path in (tmp_path / "a").rglob("rows.npy"):
        path.write_bytes(path.read_bytes()[:128] + b"\xff" * (path.stat().st_size - 128))
    damaged = hi2.HybridIndex.open(tmp_path / "a")
    with pytest.raises(hi2.FormatError):
        damaged.search(queries()[0][0], clusters=6)
    again = healthy.search(corpus.query_vectors[0], corpus.query_texts[0], clusters=0)
    assert again.n_scored == expected.n_scored
    assert again.ids.tolist() == expected.ids.tolist()


def test_a_manifest_cannot_name_files_outside_the_index(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["segments"][0]["folder"] = "../whole"
    path.write_bytes(serialise(manifest))
    with pytest.raises(hi2.FormatError, match="outside the index"):
        hi2.HybridIndex.open(tmp_path / "a")
