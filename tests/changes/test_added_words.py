"""Words that documents bring after the fit are stored once per change, and those of refused documents are forgotten."""

from __future__ import annotations

import json
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hi2
from forked import in_child
from hi2.store.trained_parts import Parts

TEXTS = ["red bird", "green stone", "blue sky"]


def build(path: Path | None = None, **options) -> hi2.HybridIndex:
    return hi2.HybridIndex.build(np.eye(3), TEXTS, ids=["a", "b", "c"], keep_text=True, path=path, **options)


def add(index: hi2.HybridIndex, **documents: str) -> None:
    """Add documents by their ids."""
    index.add(np.ones((len(documents), 3)), list(documents.values()), ids=list(documents))


def word_files(folder: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text().split("\n")[:-1] for path in sorted(folder.glob("words-*"))}


def named_words(folder: Path) -> str | None:
    words = json.loads((folder / "manifest.json").read_text())["drift"]["words"]
    return None if words is None else words["file"]


def found(index: hi2.HybridIndex, word: str) -> list[str]:
    return index.search(None, word, k=9).ids.tolist()


def test_words_are_written_once_per_change_and_kept_for_the_previous_generation(tmp_path):
    folder = tmp_path / "a"
    with build(folder) as index:
        assert named_words(folder) is None
        index.delete("c")
        index.commit()
        assert word_files(folder) == {}
        add(index, d="zebra red", e="zebra yak")
        index.commit()
        assert word_files(folder) == {"words-000003.txt": ["zebra", "yak"]}
        add(index, f="red yak")  # nothing new
        index.commit()
        assert named_words(folder) == "words-000003.txt"
        add(index, g="emu")
        index.commit()
        assert word_files(folder) == {
            "words-000003.txt": ["zebra", "yak"],
            "words-000005.txt": ["zebra", "yak", "emu"],
        }
        index.commit()  # the previous manifest names the new file too
        assert word_files(folder) == {"words-000005.txt": ["zebra", "yak", "emu"]}
        index.verify()
    again = hi2.HybridIndex.open(folder)
    again.verify()
    assert [found(again, word) for word in ("zebra", "yak", "emu")] == [["d", "e"], ["e", "f"], ["g"]]


def test_a_saved_index_with_added_words_is_continued(tmp_path):
    index = build()
    add(index, d="zebra red")
    index.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as saved:
        assert found(saved, "zebra") == ["d"]
        add(saved, e="yak zebra")
        saved.commit()
        saved.merge()
        saved.commit()
    for mmap in (True, False):
        again = hi2.HybridIndex.open(tmp_path / "a", mmap=mmap)
        again.verify()
        assert sorted(found(again, "zebra")) == ["d", "e"]
        assert found(again, "yak") == ["e"]
    assert found(index, "yak") == []
    hi2.HybridIndex.open(tmp_path / "a").save(tmp_path / "b")
    copy = hi2.HybridIndex.open(tmp_path / "b")
    copy.verify()
    assert found(copy, "yak") == ["e"]


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_changes_give_the_same_bytes(tmp_path):
    for name in ("one", "other"):
        with build(tmp_path / name) as index:
            add(index, d="zebra red emu", e="yak zebra " * 20)
            if name == "other":  # what is refused, and what is searched for, leaves no trace
                with pytest.raises(hi2.Error):
                    index.add(np.ones((1, 3)), ["gnu ibex"], ids=["a"])
                found(index, "gnu")
            index.commit()
            add(index, f="kiwi")
            index.delete("a")
            index.merge()
            index.commit()
    one, other = everything(tmp_path / "one"), everything(tmp_path / "other")
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


class Interrupting(list):
    """Texts that end in an interrupt."""

    def __iter__(self):
        yield from super().__iter__()
        raise KeyboardInterrupt


REFUSED = {
    "an id that exists": lambda index: index.add(np.ones((1, 3)), ["gnu ibex"], ids=["a"]),
    "a vector that is not finite": lambda index: index.add([[1, np.nan, 0]], ["gnu ibex"], ids=["x"]),
    "a text too many": lambda index: index.add(np.ones((1, 3)), ["gnu", "ibex"], ids=["x"]),
    "an interrupt": lambda index: index.add(np.ones((2, 3)), Interrupting(["gnu", "ibex"]), ids=["x", "y"]),
    "bad payload": lambda index: index.add(np.ones((1, 3)), ["gnu"], ids=["x"], payload=[{"n": float("inf")}]),
    "an upsert": lambda index: index.upsert([[1, np.inf, 0]], ["gnu ibex"], ids=["a"]),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_the_words_of_refused_documents_are_forgotten(tmp_path, refused):
    with build(tmp_path / "a") as index:
        add(index, d="zebra")
        n_words = index.model.terms.tokenizer.n_terms
        before = [found(index, word) for word in ("zebra", "gnu", "red")]
        with pytest.raises((hi2.Error, KeyboardInterrupt)):
            refused(index)
        assert index.model.terms.tokenizer.n_terms == n_words
        assert [found(index, word) for word in ("zebra", "gnu", "red")] == before
        assert index.search(np.ones(3), "gnu ibex", k=9).lexical.tolist() == [0.0] * 4
        add(index, e="kiwi")  # the number that gnu would have had
        assert found(index, "gnu") == []
        assert found(index, "kiwi") == ["e"]
        assert index.search(np.ones(3), "gnu", k=1).lexical.tolist() == [0.0]
        index.verify()
        index.commit()
        assert word_files(tmp_path / "a") == {"words-000002.txt": ["zebra", "kiwi"]}
        index.verify()


def test_searches_beside_refused_additions_find_the_right_words(tmp_path):
    """Searches ask for words while they are learned and forgotten, and again when others have their numbers."""
    index = build()
    stop = threading.Event()
    wrong: list = []

    def search() -> None:
        while not stop.is_set():
            for word in ("gnu", "ibex"):
                if found(index, word) or index.search(np.ones(3), word, k=9).lexical.any():
                    wrong.append(word)
            if found(index, "red") != ["a"]:
                wrong.append("red")

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for round in range(150):
        with pytest.raises(hi2.Error):
            index.add([[1, np.nan, 0]], ["gnu ibex"], ids=["x"])
        index.add(np.ones((1, 3)), [f"kiwi{round}"], ids=[f"k{round}"])
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    index.verify()
    assert [found(index, f"kiwi{round}") for round in (0, 77, 149)] == [["k0"], ["k77"], ["k149"]]


def test_indexes_that_share_a_selector_learn_on_their_own(tmp_path):
    index = build()
    other = hi2.HybridIndex.build(np.eye(3), TEXTS, terms=index.model.terms)
    refitted = index.refit(Parts(replace(index.model, terms=None)))
    add(index, d="zebra")
    for own in (other, refitted):
        assert own.model.terms.tokenizer.n_terms == 6
        own.verify()
    other.save(tmp_path / "a")
    assert word_files(tmp_path / "a") == {}


def test_new_words_of_an_index_with_fitted_terms_have_bags(tmp_path):
    """Statistics are of the terms that were fitted; the words that follow are in the bags all the same."""
    fitted = build(bags=False).model.terms
    hi2.HybridIndex.build(np.eye(2), ["unheard red", "fresh"], terms=fitted, path=tmp_path / "a").close()
    index = hi2.HybridIndex.open(tmp_path / "a")
    index.verify()
    assert found(index, "unheard") == [0]
    assert found(index, "fresh") == [1]


def test_trained_parts_keep_the_numbers_of_their_words(tmp_path):
    """Documents were deleted and added since, so that words would be numbered otherwise."""
    index = build()
    gains = np.linspace(0.5, 2, index.model.n_terms).astype(np.float32)
    parts = Parts(replace(index.model, terms=replace(index.model.terms, gains=gains)))
    index.delete("a")
    add(index, d="zebra green sky")
    refitted = index.refit(parts)
    refitted.save(tmp_path / "a")
    for own in (refitted, hi2.HybridIndex.open(tmp_path / "a")):
        own.verify()
        words = ("red", "green", "sky", "zebra")
        assert [sorted(found(own, word)) for word in words] == [[], ["b", "d"], ["c", "d"], ["d"]]


@pytest.mark.parametrize("limit", [0, 1000, 2000, 6000, 9000])
def test_a_full_disk_loses_no_words(tmp_path, limit):
    resource = pytest.importorskip("resource", reason="limits and forks are Unix's")
    folder = tmp_path / "a"
    build(folder).close()

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with hi2.HybridIndex.open(folder, "w") as index:
            texts = [" ".join(f"word{i}x{j}" for j in range(20)) for i in range(60)]
            index.add(np.ones((60, 3)), texts, ids=[f"d{i}" for i in range(60)])
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(hi2.Error, match="previous commit is intact"):
                index.commit()
            hi2.HybridIndex.open(folder).verify()
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            index.add(np.ones((1, 3)), ["zebra"], ids=["z"])
            index.commit()
            index.verify()
        again = hi2.HybridIndex.open(folder)
        again.verify()
        assert found(again, "word59x19") == ["d59"]
        assert found(again, "zebra") == ["z"]
        assert list(word_files(folder)) == ["words-000002.txt"]

    assert in_child(work) == 0


def test_words_of_a_commit_that_died_are_collected(tmp_path):
    folder = tmp_path / "a"
    build(folder).close()
    (folder / "words-000007.txt").write_text("left\n")
    (folder / "words.txt").write_text("not ours\n")
    hi2.HybridIndex.open(folder, "w").close()
    assert not (folder / "words-000007.txt").exists()
    assert (folder / "words.txt").exists()


def test_a_reader_of_the_last_generation_but_one_verifies_after_its_words_are_gone(tmp_path):
    folder = tmp_path / "a"
    with build(folder) as index:
        add(index, d="zebra")
        index.commit()
        readers = [hi2.HybridIndex.open(folder, mmap=mmap) for mmap in (True, False)]
        for word in ("yak", "emu", "kiwi"):
            index.add(np.ones((1, 3)), [word], ids=[word])
            index.commit()
        assert "words-000002.txt" not in word_files(folder)
        for reader in readers:
            reader.verify()
            assert found(reader, "zebra") == ["d"]
            assert found(reader, "yak") == []
