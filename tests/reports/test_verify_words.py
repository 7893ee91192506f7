"""``verify`` finds dictionaries, statistics and bags that no index has, though every checksum is right."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hi2
from compat import damage
from compat.make_index import queries, small_index, word_level
from forked import in_child
from hi2 import _native
from hi2.errors import FormatError
from hi2.reports.verify_words import verify_bags, verify_statistics
from rewriting import read_array, rewrite, rewrite_array, write_array

WORDS = "words-000002.txt"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "index"
    small_index(folder).close()
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "index")
    return tmp_path / "index"


def refused(folder, said):
    """The index is refused, and every use of it ends in an answer or in an error of hi2."""
    assert damage.use(folder)
    assert damage.use(folder, mmap=False)
    with pytest.raises(FormatError, match=said):
        hi2.HybridIndex.open(folder).verify()


def test_an_index_that_was_only_rewritten_is_whole(folder):
    rewrite_bags(folder, lambda bags: None)
    assert not damage.use(folder)
    state = hi2.HybridIndex.open(folder)._index.state
    verify_statistics(state.model)
    for number, live in enumerate(state.snapshot.segments):
        verify_bags(state.model, live.segment, number)


# -- bags -------------------------------------------------------------------------------------------------------------


def rewrite_bags(folder: Path, change) -> None:
    """Change the bags of the first segment as [ranks, counts, length] or as bytes, and write them again."""
    segment = hi2.HybridIndex.open(folder)._index.state.snapshot.segments[0].segment
    offsets, ranks, counts, lengths = segment.native.bags(np.arange(segment.n_docs, dtype=np.uint32))
    bags: list = []
    for i, length in enumerate(lengths):
        own = slice(int(offsets[i]), int(offsets[i + 1]))
        bags.append([ranks[own], counts[own], int(length)])
    change(bags)
    data = [bag if isinstance(bag, bytes) else encoded(*bag, segment.n_terms) for bag in bags]
    ends = np.cumsum([0, *map(len, data)], dtype=np.uint64)

    def changed(manifest):
        part = manifest["segments"][0]
        write_array(folder, part, "bags.npy", np.frombuffer(b"".join(data) + bytes(8), np.uint8))
        bits = max(1, int(ends[-1]).bit_length())
        write_array(folder, part, "bag_offsets.npy", _native.pack(ends, bits))

    rewrite(folder, changed)


def encoded(ranks, counts, length, n_terms) -> bytes:
    """One bag."""
    bounds = np.array([0, len(ranks)], np.uint64)
    arrays = np.asarray(ranks, np.uint32), np.asarray(counts, np.uint32), np.array([length], np.uint32)
    return _native.encode_bags(bounds, *arrays, n_terms, 1)[1].tobytes()


def drop_rare_terms(bags):
    for i, (ranks, counts, _) in enumerate(bags):
        bags[i] = [ranks[ranks < 20], counts[ranks < 20], int(counts[ranks < 20].sum())]


def count_twice(bags):
    bags[7][1] = bags[7][1] * 2


def make_longer(bags):
    bags[7][2] += 1


def swap_two(bags):
    bags[7], bags[8] = bags[8], bags[7]


def empty_all(bags):
    bags[:] = [[[], [], 0]] * len(bags)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_rare_terms, "Segment 0 is damaged: a document is filed under a term that its bag does not have"),
        (swap_two, "filed under a term that its bag does not have"),
        (empty_all, "filed under a term that its bag does not have"),
        (count_twice, "the length of a document is not that of its bag"),
        (make_longer, "the length of a document is not that of its bag"),
    ],
)
def test_bags_of_other_documents_are_found(folder, change, said):
    rewrite_bags(folder, change)
    refused(folder, said)


def varint(value: int) -> bytes:
    data = b""
    while value >= 128:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


MALFORMED = {
    "nothing": b"",
    "one byte": b"\1",
    "no length": b"\x80\x80",
    "no end of a number": b"\xff" * 9,
    "a byte too many": varint(0) + varint(0) + b"\0",
    "zeros": bytes(40),
    "ones": b"\xff" * 40,
    "no head": varint(3) + varint(3),
    "more terms than bits": varint(200) + varint(200) + bytes(120),
    "a longer number than needed": b"\x80\x00\x00",
    **{f"{n} terms": varint(n) + varint(9) + bytes(100) for n in (985, 986, 2**24, 2**32 - 1, 2**32, 2**63)},
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_bytes_that_are_no_bag_are_refused(folder, data):
    def change(bags):
        bags[7] = data

    rewrite_bags(folder, change)
    refused(folder, "a document's bag of terms")


def test_a_bag_that_claims_many_terms_takes_no_memory(folder):
    resource = pytest.importorskip("resource", reason="limits and forks are Unix's")

    def change(bags):
        bags[:] = [varint(2**32 - 1) + varint(2**32 - 1) + bytes(20)] * len(bags)

    rewrite_bags(folder, change)
    rewrite(folder, lambda manifest: manifest["segments"][0]["numbers"].update(n_terms=2**10))

    def work() -> None:
        index = hi2.HybridIndex.open(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for use in (index.verify, partial(index.search, None, "red bird"), partial(index.search, *queries())):
            with pytest.raises(FormatError):
                use()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000

    assert in_child(work) == 0


def test_any_change_of_one_byte_of_the_bags_is_found(whole, tmp_path):
    """A bag is canonical, so that a change gives another bag, which does not fit, or none."""
    folder = tmp_path / "index"
    shutil.copytree(whole, folder)
    manifest = json.loads((whole / "manifest.json").read_text())
    bags = read_array(whole, manifest["segments"][0], "bags.npy")
    rng = np.random.default_rng(0)
    seen = 0
    for place in range(0, len(bags), 23):
        changed = bags.copy()
        changed[place] ^= 1 << rng.integers(8)
        rewrite_array(folder, "bags.npy", lambda _, changed=changed: changed)
        index = hi2.HybridIndex.open(folder)
        try:
            index.verify()
        except FormatError:
            seen += 1
    assert seen / len(range(0, len(bags), 23)) > 0.8  # another rare word in the place of one is not noticed


@pytest.mark.parametrize(
    ("place", "by"),
    [(0, 1), (0, 40), (1, -1), (1, 1), (30, -40), (30, 40), (30, 2**62), (-1, -1), (-1, 1), (-1, 2**62)],
)
def test_offsets_that_are_not_the_bounds_of_bags_are_refused(folder, place, by):
    (live, _) = hi2.HybridIndex.open(folder)._index.state.snapshot.segments
    bits = (len(live.segment.arrays["bags.npy"]) - 8).bit_length()

    def change(packed):
        offsets = _native.unpack(packed, bits, live.segment.n_docs + 1).astype(np.int64)
        offsets[place] = min(offsets[place] + by, (1 << bits) - 1)
        return _native.pack(offsets.astype(np.uint64), bits)

    rewrite_array(folder, "bag_offsets.npy", change)
    refused(folder, r"bag_offsets\.npy are not the bounds|a document's bag of terms")


def test_bytes_after_the_bags_are_refused(folder):
    rewrite_array(folder, "bags.npy", lambda bags: bags.__setitem__(-1, 1))
    refused(folder, "zeros do not follow its bags")


@pytest.mark.parametrize("n_terms", [1, 984, 1576, 2**24])
def test_a_segment_of_other_terms_than_there_are_is_refused(folder, n_terms):
    rewrite(folder, lambda manifest: manifest["segments"][0]["numbers"].update(n_terms=n_terms))
    refused(folder, "terms|damaged")


def rewrite_notes(folder: Path, change) -> None:
    """Change the notes of the first segment, arrays of terms and documents, and write them again."""
    segment = hi2.HybridIndex.open(folder)._index.state.snapshot.segments[0].segment
    keys, docs = change(segment, *(array.copy() for array in segment.native.note_postings()[:2]))
    order = np.lexsort((docs, keys))
    lists = _native.encode_lists(keys[order], docs[order], np.zeros(len(docs), np.uint32), segment.n_docs, 0)
    own, offsets, blob = lists

    def changed(manifest):
        part = manifest["segments"][0]
        part["numbers"]["n_note_lists"] = len(own)
        bits = max(1, (segment.n_terms - 1).bit_length()), max(1, (len(blob) - 8).bit_length())
        write_array(folder, part, "note_keys.npy", _native.pack(own.astype(np.uint64), bits[0]))
        write_array(folder, part, "note_offsets.npy", _native.pack(offsets, bits[1]))
        write_array(folder, part, "note_lists.npy", blob)

    rewrite(folder, changed)


def drop_a_note(segment, keys, docs):
    return keys[1:], docs[1:]


def note_elsewhere(segment, keys, docs):
    docs[5] = (docs[5] + 1) % segment.n_docs
    return keys, docs


def note_what_is_filed(segment, keys, docs):
    filed = segment.native.term_postings()
    rare = int(np.argmax(filed[0]))
    return np.append(keys, filed[0][rare]), np.append(docs, filed[1][rare])


def note_a_common_term(segment, keys, docs):
    return np.append(keys, np.uint32(0)), np.append(docs, np.uint32(3))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_a_note, "a document is not noted under a rare term that its bag has"),
        (note_elsewhere, "filed under a term that its bag does not have"),
        (note_what_is_filed, "a document is filed and noted under the same term"),
        (note_a_common_term, "a document is noted under a term that is not rare|filed and noted"),
    ],
)
def test_notes_that_do_not_fit_the_bags_are_refused(folder, change, said):
    rewrite_notes(folder, lambda segment, keys, docs: (keys, docs))
    assert not damage.use(folder)
    rewrite_notes(folder, change)
    refused(folder, said)


# -- statistics -------------------------------------------------------------------------------------------------------


def test_a_term_is_in_no_more_documents_than_there_were(folder):
    rewrite_array(folder, "term_df.npy", lambda df: df.__setitem__(5, 61))
    refused(folder, r"term_df\.npy has 61 documents of 60")


def test_evidence_is_of_no_more_documents_than_there_were(folder):
    def change(manifest):
        df = read_array(folder, manifest["model"], "term_df.npy")
        df[5] = 61
        write_array(folder, manifest["model"], "evidence_df.npy", df)

    rewrite(folder, change)
    refused(folder, r"evidence_df\.npy has 61 documents of 60")


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 100.5},
        {"alpha": -1},
        {"beta": 1.5},
        {"spread": 1e30},
        {"spread": "1"},
        {"average_length": 1e300},
        {"average_length": None},
        {"unit": 0.5},
        {"unit": 1e31},
        {"n_docs": -1},
        {"n_docs": 2.0},
        {"more": 1},
    ],
    ids=str,
)
def test_numbers_that_no_evidence_has_are_refused(folder, change):
    rewrite(folder, lambda manifest: manifest["model"]["parts"]["terms"]["evidence"].update(change))
    refused(folder, "model|damaged")


@pytest.mark.parametrize("n", [0, 3])
def test_a_center_of_another_dimension_is_refused(folder, n):
    def change(manifest):
        center = read_array(folder, manifest["model"], "evidence_center.npy")
        write_array(folder, manifest["model"], "evidence_center.npy", center[:n])

    rewrite(folder, change)
    refused(folder, "center of its documents is not a vector of dimension")


def test_evidence_that_lacks_a_number_is_refused(folder):
    rewrite(folder, lambda manifest: manifest["model"]["parts"]["terms"]["evidence"].pop("spread"))
    refused(folder, "model cannot be read")


def test_an_index_without_its_bags_is_refused(folder):
    rewrite(folder, lambda manifest: manifest["segments"][0]["files"].pop("bags.npy"))
    refused(folder, r"no array 'bags\.npy'")


@pytest.mark.parametrize("largest", [1e-30, 1.0, 1e20, 1e30])
def test_an_index_of_weights_of_any_size_is_whole_when_opened_again(tmp_path, largest):
    weights = [{"red": largest, "bird": largest / 3}, {"bird": largest / 9}, {"green": largest / 2}]
    terms = hi2.TermWeights()
    with hi2.HybridIndex.build(np.eye(3), term_weights=weights, terms=terms, path=tmp_path / "a") as index:
        index.add(np.eye(3)[:1], term_weights=[{"red": 1e30, "green": 1e-30}])  # more units than a bag counts
        index.commit()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.search(None, "green", k=2).ids.tolist()[largest < 1] == 2


def test_an_index_of_the_largest_vectors_is_whole_when_opened_again(tmp_path):
    vectors = np.random.default_rng(0).choice([-1e16, 1e16], (40, 64))
    hi2.HybridIndex.build(vectors, [f"word{i}" for i in range(40)], path=tmp_path / "a").close()
    index = hi2.HybridIndex.open(tmp_path / "a")
    index.verify()
    assert index.model.evidence.spread > 1e16
    assert index.search(vectors[3], "word3", k=1).ids.tolist() == [3]


# -- dictionaries -----------------------------------------------------------------------------------------------------


LIES = {
    "a word twice": lambda data: data + data.split(b"\n")[0] + b"\n",
    "a word of the model": lambda data: data + b"red\n",
    "an empty word": lambda data: b"\n" + data,
    "no newline at the end": lambda data: data[:-1],
    "nothing but a newline": lambda data: b"\n",
    "bytes that are not UTF-8": lambda data: b"\xff\n" + data,
    "half a character": lambda data: data + "東".encode()[:2] + b"\n",
    "fewer words than were counted": lambda data: data.split(b"\n")[0] + b"\n",
    "no words": lambda data: b"",
}


@pytest.mark.parametrize("change", LIES.values(), ids=LIES)
def test_added_words_that_are_not_new_words_are_refused(folder, change):
    data = (folder / WORDS).read_bytes()
    damage.rewrite(folder, ("", WORDS), np.frombuffer(change(data), np.uint8))
    refused(folder, "added words|added word|drift statistics")


def test_words_added_to_a_tokenizer_without_a_dictionary_are_refused(tmp_path):
    small_index(tmp_path / "a", word_level()).close()
    (tmp_path / "a" / WORDS).write_bytes(b"fresh\n")

    def change(manifest):
        assert manifest["drift"]["words"] is None
        manifest["drift"]["words"] = {"file": WORDS, "dtype": "|u1", "shape": [6], "bytes": 6, "sha256": ""}

    rewrite(tmp_path / "a", change)
    refused(tmp_path / "a", "words were added to a tokenizer that has no dictionary")


def test_a_dictionary_of_another_tokenizer_is_refused(folder, tmp_path):
    """Its words would be terms that the tokenizer does not know."""
    small_index(tmp_path / "a", word_level()).close()
    words = hi2.WordTokenizer()
    words.encode(["a b c d e f g h i j k l m n o p"], learn=True)

    def change(manifest):
        for name, array in words.arrays(16).items():
            write_array(tmp_path / "a", manifest["model"], name, array)

    rewrite(tmp_path / "a", change)
    refused(tmp_path / "a", "its tokenizer cannot be read")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("word_order.npy", lambda order: order.__setitem__(slice(0, -8), np.roll(order[:-8], 1))),
        ("word_order.npy", lambda order: order.__setitem__(slice(None), 0)),
        ("word_order.npy", lambda order: order.__setitem__(slice(None), 255)),
        ("word_positions.npy", lambda positions: positions.__setitem__(3, positions[3] + 1)),
        ("word_positions.npy", lambda positions: positions.__setitem__(3, 2**64 - 1)),
        ("word_characters.npy", lambda characters: characters.__setitem__(9, 255)),
        ("word_characters.npy", lambda characters: characters.__setitem__(slice(None), ord("a"))),
        ("word_lengths.npy", lambda lengths: lengths.__setitem__(slice(4, 6), [0, lengths[4] + lengths[5]])),
        ("word_lengths.npy", lambda lengths: lengths[:-1]),
    ],
)
def test_a_damaged_dictionary_is_refused(folder, name, change):
    rewrite_array(folder, name, change)
    refused(folder, "word|dictionary|the order of the ids")
