"""How are the parts learned? One run from queries to parts: mine, train, choose on dev, assemble (§4.3)."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hi2.arguments import thread_count
from hi2.codecs import OPQ, Codec, CodecSpec, Flat
from hi2.codecs.codec import ENCODING
from hi2.encoders.encoder import Encoder
from hi2.errors import invalid
from hi2.ingest.documents import Documents, collect, term_reader
from hi2.ingest.fit import fit_model
from hi2.progress import Progress
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.learned import TermScorer
from hi2.selectors.terms import BM25, LearnedTerms, TermSelector, fit_terms
from hi2.state.model import Model
from hi2.store.parts import Parts, checksum, text_checksum
from hi2.text.bags import Bags
from hi2.training.adaptation import adapted, mapped, mapped_examples
from hi2.training.density import held_back
from hi2.training.examples import COMMON, FEW, Examples, Queries, examples_of, queries_of
from hi2.training.folding import laid_down, one_map, taken_up, takes_up
from hi2.training.jpq import JPQLoop
from hi2.training.loop import Loop
from hi2.training.losses import temperature_for
from hi2.training.reconstruction import found_by_codec, reconstructed
from hi2.training.scorer import Scorer, scorer_files
from hi2.training.settings import Settings
from hi2.training.states import Backbone, kept_states
from hi2.training.students import Centroids, Codebooks, Gains, QueryMap
from hi2.types import I64, Array, Floats
from hi2.version import __version__

#: Without labels the teacher's best so many are what dev queries look for.
WANTED = 10
MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def distill(
    vectors: Any,
    texts: Sequence[str] | None,
    queries: Sequence[str],
    *,
    query_vectors: Any = None,
    positives: Sequence[Sequence[int]] | None = None,
    dev: Sequence[int] | None = None,
    encoder: Encoder | None = None,
    clusters: KMeans | ClusterSelector = KMeans(),  # noqa: B008 - specs are immutable
    terms: BM25 | TermSelector = BM25(),  # noqa: B008
    codec: CodecSpec | Codec | None = None,
    settings: Settings = Settings(),  # noqa: B008
    backbone: str = MINILM,
    folder: str | Path | None = None,
    metric: str = "inner_product",
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Parts:
    """Learn selectors and codec of a collection from queries.

    ``vectors`` and ``texts`` are the documents, row for row; ``queries`` are texts, with ``query_vectors`` or an
    ``encoder``. ``positives`` are the rows of documents that answer each query; without them the teacher's own best
    take their place, so that queries alone suffice. ``dev`` are the positions of queries to choose on, held out; a
    seeded tenth by default. ``clusters``, ``terms`` and ``codec`` are specs, or the parts of an index that exists.
    ``folder`` keeps checkpoints: a run that was interrupted goes on.
    """
    bars, n_threads = Progress.of(progress), thread_count(threads)
    torch.manual_seed(settings.seed)
    torch.set_num_threads(n_threads)
    if codec is None:
        codec = Flat() if settings.method == "ivf" else OPQ()
    wants_terms = settings.method in ("hi2", "light")
    if wants_terms and terms is None:
        raise invalid("terms", f"given: '{settings.method}' learns them (distill-vq does not)", None)
    documents, start = _start(
        vectors, texts, clusters, terms if wants_terms or texts is not None else None, codec, metric, n_threads, bars
    )
    data = documents.vectors.read(slice(0, documents.vectors.n))
    given = start.clusters if isinstance(clusters, ClusterSelector) else None  # fresh ones have taken up nothing
    query_map, given, own_codec = laid_down(given, start.codec)
    start = replace(start, clusters=start.clusters if given is None else given, codec=own_codec)
    asked, kept = queries_of(queries, query_vectors, encoder, positives, dev, data, start, settings)
    if query_map is not None:
        asked, kept = (mapped(own, query_map) for own in (asked, kept))
    train, held = (examples_of(own, data, documents.bags, start.terms, settings, bars) for own in (asked, kept))
    labels = None if start.clusters is None else start.clusters.assign(data, threads=n_threads)[0]
    work = None if folder is None else Path(folder)
    record: dict[str, Any] = {
        "settings": settings.to_json(),
        "backbone": backbone if settings.method == "hi2" else None,
        "data": {
            "vectors": checksum(data),
            "texts": None if texts is None else text_checksum(texts),
            "queries": checksum(asked.vectors, *(asked.positives or ())),
            "dev": checksum(kept.vectors, *(kept.positives or ())),
        },
        "n_documents": len(data),
        "n_queries": len(asked),
        "n_dev": len(kept),
        "labels": positives is not None,
        "versions": {"python": platform.python_version(), **dict(_versions())},
    }
    unmapped = kept.vectors
    if settings.adapt and wants_terms and positives is not None and takes_up(start.codec):
        place = None if work is None else work / "teacher"
        name = json.dumps([record["data"], repr(start.terms.spec) if start.terms else None])
        learned, record["adapted"] = adapted(train, held, data, settings, place, name, bars)
        if learned is not None:
            train, held = (mapped_examples(own, learned, data, bars) for own in (train, held))
            query_map = one_map(query_map, learned)
    torch.manual_seed(settings.seed)  # whether or not a teacher learned in this process
    run = _Run(start, documents, data, labels, query_map, unmapped, settings, n_threads, bars)
    return run.learn(train, held, texts, backbone, work, record)


def _start(
    vectors: Any, texts: Any, clusters: Any, terms: Any, codec: Any, metric: str, threads: int, bars: Progress
) -> tuple[Documents, Model]:
    """The documents, and the parts they would be indexed with untrained."""
    if terms is not None and texts is None:
        raise invalid("texts", "given, one string a document: terms are learned from them", None)
    reader = term_reader(terms)
    if isinstance(terms, TermSelector) and isinstance(terms.spec, LearnedTerms):
        raise invalid("terms", "counted (BM25); these are trained already", repr(terms.spec))
    documents = collect(
        vectors,
        texts,
        ids=None,
        term_weights=None,
        payload=None,
        keep_text=False,
        metric=metric,
        dim=None,
        reader=reader,
        encoder=None,
        first_id=0,
        progress=bars,
    )
    model = fit_model(
        documents,
        metric=metric,
        clusters=clusters,
        terms=terms,
        reader=reader,
        codec=codec,
        refine=None,
        encoder=None,
        threads=threads,
        progress=bars,
    )
    return documents, model


class _Run:
    """One training of one collection."""

    def __init__(
        self,
        start: Model,
        documents: Documents,
        vectors: Floats,
        labels: Array | None,
        query_map: Floats | None,
        unmapped: Floats,
        settings: Settings,
        threads: int,
        bars: Progress,
    ) -> None:
        self.start, self.bags, self.vectors, self.labels = start, documents.bags, vectors, labels
        self.query_map, self.unmapped = query_map, unmapped
        self.settings, self.threads, self.bars = settings, threads, bars

    def learn(
        self,
        train: Examples,
        dev: Examples,
        texts: Sequence[str] | None,
        backbone: str,
        folder: Path | None,
        record: dict[str, Any],
    ) -> Parts:
        """Train what the method trains, and return the parts."""
        method = self.settings.method
        first = next(iter(train.looks(self.settings)))
        scores = first.vectors @ self.vectors[first.pool].T
        temperature = temperature_for(scores, self.settings.perplexity)
        students = self._students(texts, backbone, folder)
        scorer = students["terms"] if method == "hi2" else None
        if method == "light":
            students["terms"].begin(first, torch.from_numpy(scores / temperature))
        kind = JPQLoop if method == "jpq" else Loop
        checkpoints = None if folder is None else folder / "checkpoints"
        name = json.dumps(
            [
                record["data"],
                self._start_name(),
                None if scorer is None else scorer.backbone.fingerprint,
                None if self.query_map is None else checksum(self.query_map),
            ]
        )
        loop = kind(students, self.vectors, temperature, self.settings, folder=checkpoints, data=name)
        loop.run(train, dev, self.bars)
        loop.students.cpu()
        record |= {"temperature": temperature, "curve": loop.curve.to_json()}
        wanted = [found[:WANTED] for found in dev.nearest]
        if dev.queries.positives is not None:
            wanted = list(dev.queries.positives)
        clusters = self.start.clusters
        if clusters is not None and "clusters" in students:
            trained = students["clusters"].centroids.detach().numpy().copy()
            clusters = replace(clusters, centroids=np.ascontiguousarray(trained, np.float32))
        codec = self.start.codec
        query_map, asked = self.query_map, dev.queries
        if "query" in students:
            learned = np.eye(self.start.dim, dtype=np.float32) + students["query"].change.detach().numpy()
            asked = mapped(asked, learned)
            query_map = one_map(query_map, learned)
        if "codec" in students:
            codec, record["codec"] = self._chosen_codec(students["codec"], asked, wanted, must_learn=method == "jpq")
        terms, weights = self.start.terms, None
        if method in ("hi2", "light") and self.start.terms is not None:
            terms, weights, record["density"] = self._terms(students["terms"], scorer, dev.queries, wanted, clusters)
        if query_map is not None:
            clusters, codec = taken_up(query_map, clusters, codec)
        model = Model(self.start.dim, self.start.metric, clusters, terms, codec, None, None)
        return Parts(model, record, weights)

    def _start_name(self) -> list[str]:
        """Names what training begins with: clusters, codec and terms."""
        start = self.start
        named = [
            start.codec.encoding_name,
            checksum(*(start.codec.arrays[name] for name in sorted(start.codec.arrays))),
        ]
        if start.clusters is not None:
            named.append(checksum(start.clusters.anchors, start.clusters.centroids))
        if start.terms is not None:
            named += [checksum(start.terms.df, start.terms.mean_scores), start.terms.tokenizer.fingerprint]
        return named

    # -- the students -------------------------------------------------------------------------------------------------

    def _students(self, texts: Sequence[str] | None, backbone: str, folder: Path | None) -> dict[str, Any]:
        """What the method trains, by name."""
        method, codec = self.settings.method, self.start.codec
        students: dict[str, Any] = {}
        if method != "jpq" and self.start.clusters is not None and self.labels is not None:
            students["clusters"] = Centroids(self.start.clusters.centroids, self.labels, self.vectors)
        if method != "ivf" and "codebooks" in codec.arrays:
            students["codec"] = self._codebooks()
        if method == "light":
            students["terms"] = self._gains()
        if method == "hi2":
            students["terms"] = self._scorer(texts, backbone, folder)
        if method == "jpq":
            students["query"] = QueryMap(self.start.dim)
        if not students or (method == "jpq" and "codec" not in students):
            raise invalid("codec", "PQ or OPQ: there is nothing to train otherwise", repr(codec.spec))
        if method == "jpq" and not takes_up(codec):
            raise invalid("codec", "not residual: its rotation takes up the map of queries", repr(codec.spec))
        return students

    def _codes(self, codec: Codec) -> Array:
        own = self.vectors
        if codec.spec.residual and self.start.clusters is not None and self.labels is not None:
            own = self.start.clusters.residuals(own, self.labels)
        return codec.encode(np.ascontiguousarray(own), threads=self.threads)

    def _codebooks(self) -> Codebooks:
        codec = self.start.codec
        residual = codec.spec.residual and self.start.clusters is not None
        return Codebooks(
            codec,
            unpacked(self._codes(codec), codec),
            rotation=self.settings.rotation and "rotation" in codec.arrays,
            anchors=self.start.clusters.anchors if residual and self.start.clusters is not None else None,
            labels=self.labels if residual else None,
        )

    def _gains(self) -> Gains:
        bags, selector = self._counted()
        return Gains(bags, selector.scores(bags), self._common(selector))

    def _common(self, selector: TermSelector) -> Array:
        common: Array = selector.df > max(COMMON * len(self.vectors), FEW)
        return common

    def _counted(self) -> tuple[Bags, TermSelector]:
        if self.bags is None or self.start.terms is None:
            raise AssertionError("terms are learned from texts")
        return self.bags, self.start.terms

    def _scorer(self, texts: Sequence[str] | None, source: str, folder: Path | None) -> Scorer:
        if texts is None or self.start.terms is None:
            raise AssertionError("terms are learned from texts")
        own = self.start.terms.tokenizer
        settings = self.settings
        backbone = Backbone.load(
            source,
            own,
            max_tokens=settings.max_tokens,
            layers=settings.layers,
            trainable=settings.trainable_layers,
        )
        if folder is None:
            raise invalid("folder", "given: a transformer's states of the documents are kept there", None)
        states = kept_states(folder / "states", texts, backbone, self.bars)
        return Scorer(backbone, states, own.dropped, self._common(self.start.terms))

    # -- what is chosen on dev ----------------------------------------------------------------------------------------

    def _chosen_codec(
        self, student: Codebooks, dev: Queries, wanted: Sequence[I64], *, must_learn: bool
    ) -> tuple[Codec, dict[str, float]]:
        """The trained codebooks with the codes they were trained on or new ones, or as they were: the best on dev."""
        before = self.start.codec
        learned = {"codebooks": np.ascontiguousarray(student.codebooks.detach().numpy())}
        if "rotation" in before.arrays:
            learned["rotation"] = np.ascontiguousarray(student.rotation.detach().numpy())
        first = {name: before.arrays.get(ENCODING + name, before.arrays[name]) for name in learned}
        kept = before.spec.restore(before.dim, {**learned, **{ENCODING + name: own for name, own in first.items()}})
        trained = before.spec.restore(before.dim, learned)
        base = None
        if before.spec.residual and self.start.clusters is not None and self.labels is not None:
            base = self.start.clusters.anchors[self.labels]
        old = self._codes(before)
        tried = {
            "untrained": (before, old),
            "kept": (kept, old),
            "encoded again": (trained, self._codes(trained)),
        }
        found = {}
        with self.bars.phase("choose codes", 3) as advance:
            for name, (codec, codes) in tried.items():
                documents = reconstructed(codec, unpacked(codes, codec), base)
                found[name] = found_by_codec(dev.vectors, documents, wanted)
                if name == "untrained" and dev.vectors is not self.unmapped:
                    found["untrained, queries as they are"] = found_by_codec(self.unmapped, documents, wanted)
                advance(1)
        choices = [name for name in tried if name != "untrained" or not must_learn]
        return tried[max(choices, key=lambda name: found[name])][0], found

    def _terms(
        self, student: Any, scorer: Scorer | None, dev: Queries, wanted: Sequence[I64], clusters: ClusterSelector | None
    ) -> tuple[TermSelector, Bags | None, Any]:
        bags, reference = self._counted()
        if scorer is None:
            gains = student.gains.detach().exp().numpy().astype(np.float32)
            if reference.gains is not None:  # they were learned on top of
                gains = gains * reference.gains
            trained = replace(reference, gains=gains)
            own, weights = bags, None
        else:
            weights = own = scorer.weights(self.bars)
            spec = LearnedTerms(reference.spec.per_doc, reference.spec.gamma, scorer=TermScorer(*scorer_files(scorer)))
            trained = fit_terms(spec, own, reference.tokenizer)
        held, table = held_back(trained, reference, own, bags, dev, wanted, clusters, self.labels, self.bars)
        if held is reference:
            return reference, None, table
        return fit_terms(held.spec, own, held.tokenizer, held.gains), weights, table


def unpacked(codes: Array, codec: Codec) -> Array:
    """Return one code word number a subspace; four-bit codes stand two in a byte."""
    n_words, n_subspaces = codec.arrays["codebooks"].shape[1], codec.arrays["codebooks"].shape[0]
    if n_words > 16:
        return codes
    both = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), -1)
    return np.ascontiguousarray(both[:, :n_subspaces])


def _versions() -> Iterator[tuple[str, str]]:
    yield "hi2", __version__
    for name in ("numpy", "torch", "transformers", "faiss-cpu"):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
