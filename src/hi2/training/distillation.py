"""How are parts trained? One run from queries to parts: mine examples, train, choose on dev, assemble (§4.3)."""

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
from hi2.codecs.codec import ENCODING_PREFIX
from hi2.encoders.encoder import Encoder
from hi2.errors import invalid
from hi2.ingest.documents import Documents, collect, term_reader
from hi2.ingest.fit import fit_model
from hi2.progress import AnyProgress, Progress
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.learned import TermScorer
from hi2.selectors.terms import BM25, LearnedTerms, TermSelector, fit_terms
from hi2.state.model import Model
from hi2.store.trained_parts import Parts, checksum, text_checksum
from hi2.text.bags import Bags
from hi2.training.df_discount import discount_frequent_terms
from hi2.training.examples import COMMON_MIN_DOCS, COMMON_SHARE, Examples, Queries, mine_examples, split_queries
from hi2.training.jpq import JPQLoop
from hi2.training.loop import Loop
from hi2.training.losses import temperature_for
from hi2.training.query_map import learn_query_map, map_examples, map_queries
from hi2.training.query_map_folding import can_fold, compose, extract_query_map, fold_query_map
from hi2.training.reconstruction import recall, reconstruct
from hi2.training.settings import Settings
from hi2.training.students import Centroids, Codebooks, Gains, QueryMap
from hi2.training.term_scorer import TrainableScorer, scorer_files
from hi2.training.token_states import Backbone, cache_states
from hi2.types import I64, Array, Floats
from hi2.version import __version__

#: Without labels, the teacher's 10 best documents are what a dev query should find.
N_TARGETS = 10
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
    progress: AnyProgress = None,
) -> Parts:
    """Train the selectors and the codec of a collection from queries.

    ``vectors`` and ``texts`` are the documents, row by row. ``queries`` are texts; their vectors are ``query_vectors``
    or made by ``encoder``. ``positives`` holds, for each query, the rows of the documents that answer it. Without them
    the teacher's best documents are used, so queries alone suffice. ``dev`` are the positions of queries to hold out
    and choose on; by default a random tenth. ``clusters``, ``terms`` and ``codec`` are specs, or the fitted parts of an
    existing index. Checkpoints are written to ``folder``, and an interrupted run resumes from them.
    """
    bars, n_threads = Progress.of(progress), thread_count(threads)
    torch.manual_seed(settings.seed)
    torch.set_num_threads(n_threads)
    if codec is None:
        codec = Flat() if settings.method == "ivf" else OPQ()
    wants_terms = settings.method in ("hi2", "light")
    if wants_terms and terms is None:
        raise invalid("terms", f"given: '{settings.method}' learns them (distill-vq does not)", None)
    documents, start = _fit_start(
        vectors, texts, clusters, terms if wants_terms or texts is not None else None, codec, metric, n_threads, bars
    )
    data = documents.vectors.read(slice(0, documents.vectors.n))
    # A map may be folded into given clusters, but not into those that were just fitted.
    given = start.clusters if isinstance(clusters, ClusterSelector) else None
    query_map, given, plain_codec = extract_query_map(given, start.codec)
    start = replace(start, clusters=start.clusters if given is None else given, codec=plain_codec)
    train_queries, dev_queries = split_queries(queries, query_vectors, encoder, positives, dev, data, start, settings)
    if query_map is not None:
        train_queries, dev_queries = (map_queries(part, query_map) for part in (train_queries, dev_queries))
    train_examples, dev_examples = (
        mine_examples(part, data, documents.bags, start.terms, settings, bars) for part in (train_queries, dev_queries)
    )
    labels = None if start.clusters is None else start.clusters.assign(data, threads=n_threads)[0]
    work = None if folder is None else Path(folder)
    record: dict[str, Any] = {
        "settings": settings.to_json(),
        "backbone": backbone if settings.method == "hi2" else None,
        "data": {
            "vectors": checksum(data),
            "texts": None if texts is None else text_checksum(texts),
            "queries": checksum(train_queries.vectors, *(train_queries.positives or ())),
            "dev": checksum(dev_queries.vectors, *(dev_queries.positives or ())),
        },
        "n_documents": len(data),
        "n_queries": len(train_queries),
        "n_dev": len(dev_queries),
        "labels": positives is not None,
        "versions": {"python": platform.python_version(), **dict(_versions())},
    }
    unmapped = dev_queries.vectors
    if settings.adapt and wants_terms and positives is not None and can_fold(start.codec):
        checkpoints = None if work is None else work / "teacher"
        name = json.dumps([record["data"], repr(start.terms.spec) if start.terms else None])
        learned, record["adapted"] = learn_query_map(
            train_examples, dev_examples, data, settings, checkpoints, name, bars
        )
        if learned is not None:
            train_examples, dev_examples = (
                map_examples(part, learned, data, bars) for part in (train_examples, dev_examples)
            )
            query_map = compose(query_map, learned)
    torch.manual_seed(settings.seed)  # the same state whether the map was learned now or resumed
    run = _Run(start, documents, data, labels, query_map, unmapped, settings, n_threads, bars)
    return run.train(train_examples, dev_examples, texts, backbone, work, record)


def _fit_start(
    vectors: Any, texts: Any, clusters: Any, terms: Any, codec: Any, metric: str, threads: int, bars: Progress
) -> tuple[Documents, Model]:
    """Return the documents, and the model an untrained index of them would have."""
    if terms is not None and texts is None:
        raise invalid("texts", "given, one string per document: terms are learned from them", None)
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
        bags=False,  # an index that takes the parts has its own
        encoder=None,
        threads=threads,
        progress=bars,
    )
    if documents.bags is not None:  # words that were added to an index after its fit have no statistics to learn from
        documents = replace(documents, bags=documents.bags.below(model.n_terms))
    return documents, model


class _Run:
    """One training run over one collection.

    ``query_map`` is the map that all queries here were mapped by, ``unmapped`` the vectors of dev queries without the
    map that was learned in this run.
    """

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

    def train(
        self,
        train: Examples,
        dev: Examples,
        texts: Sequence[str] | None,
        backbone: str,
        folder: Path | None,
        record: dict[str, Any],
    ) -> Parts:
        """Train the students of the method, and return the parts."""
        method = self.settings.method
        first = next(iter(train.fixed_batches(self.settings)))
        scores = first.vectors @ self.vectors[first.pool].T
        temperature = temperature_for(scores, self.settings.perplexity)
        students = self._students(texts, backbone, folder)
        scorer = students["terms"] if method == "hi2" else None
        if method == "light":
            students["terms"].set_scale(first, torch.from_numpy(scores / temperature))
        loop_type = JPQLoop if method == "jpq" else Loop
        checkpoints = None if folder is None else folder / "checkpoints"
        name = json.dumps(
            [
                record["data"],
                self._start_checksums(),
                None if scorer is None else scorer.backbone.fingerprint,
                None if self.query_map is None else checksum(self.query_map),
            ]
        )
        loop = loop_type(students, self.vectors, temperature, self.settings, folder=checkpoints, data=name)
        loop.run(train, dev, self.bars)
        loop.students.cpu()
        record |= {"temperature": temperature, "curve": loop.curve.to_json()}
        targets = [nearest[:N_TARGETS] for nearest in dev.nearest]
        if dev.queries.positives is not None:
            targets = list(dev.queries.positives)
        clusters = self.start.clusters
        if clusters is not None and "clusters" in students:
            trained = students["clusters"].centroids.detach().numpy().copy()
            clusters = replace(clusters, centroids=np.ascontiguousarray(trained, np.float32))
        codec = self.start.codec
        query_map, dev_queries = self.query_map, dev.queries
        if "query" in students:
            learned = np.eye(self.start.dim, dtype=np.float32) + students["query"].change.detach().numpy()
            dev_queries = map_queries(dev_queries, learned)
            query_map = compose(query_map, learned)
        if "codec" in students:
            codec, record["codec"] = self._choose_codec(
                students["codec"], dev_queries, targets, must_learn=method == "jpq"
            )
        terms, weights = self.start.terms, None
        if method in ("hi2", "light") and self.start.terms is not None:
            terms, weights, record["density"] = self._choose_terms(
                students["terms"], scorer, dev.queries, targets, clusters
            )
        if query_map is not None:
            clusters, codec = fold_query_map(query_map, clusters, codec)
        model = Model(self.start.dim, self.start.metric, clusters, terms, codec, None, None)
        return Parts(model, record, weights)

    def _start_checksums(self) -> list[str]:
        """Return checksums of the codec, clusters and terms that training starts from."""
        start = self.start
        checksums = [
            start.codec.encoding_name,
            checksum(*(start.codec.arrays[name] for name in sorted(start.codec.arrays))),
        ]
        if start.clusters is not None:
            checksums.append(checksum(start.clusters.anchors, start.clusters.centroids))
        if start.terms is not None:
            checksums += [checksum(start.terms.df, start.terms.mean_scores), start.terms.tokenizer.fingerprint]
        return checksums

    # -- the students -------------------------------------------------------------------------------------------------

    def _students(self, texts: Sequence[str] | None, backbone: str, folder: Path | None) -> dict[str, Any]:
        """Return the students of the method by name."""
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
        if method == "jpq" and not can_fold(codec):
            raise invalid("codec", "not residual: its rotation takes up the map of queries", repr(codec.spec))
        return students

    def _codes(self, codec: Codec) -> Array:
        vectors = self.vectors
        if codec.spec.residual and self.start.clusters is not None and self.labels is not None:
            vectors = self.start.clusters.residuals(vectors, self.labels)
        return codec.encode(np.ascontiguousarray(vectors), threads=self.threads)

    def _codebooks(self) -> Codebooks:
        codec = self.start.codec
        residual = codec.spec.residual and self.start.clusters is not None
        return Codebooks(
            codec,
            unpack_codes(self._codes(codec), codec),
            rotation=self.settings.rotation and "rotation" in codec.arrays,
            anchors=self.start.clusters.anchors if residual and self.start.clusters is not None else None,
            labels=self.labels if residual else None,
        )

    def _gains(self) -> Gains:
        bags, selector = self._bags_and_selector()
        return Gains(bags, selector.scores(bags), self._common_terms(selector))

    def _common_terms(self, selector: TermSelector) -> Array:
        common: Array = selector.df > max(COMMON_SHARE * len(self.vectors), COMMON_MIN_DOCS)
        return common

    def _bags_and_selector(self) -> tuple[Bags, TermSelector]:
        if self.bags is None or self.start.terms is None:
            raise AssertionError("terms are learned from texts")
        return self.bags, self.start.terms

    def _scorer(self, texts: Sequence[str] | None, source: str, folder: Path | None) -> TrainableScorer:
        if texts is None or self.start.terms is None:
            raise AssertionError("terms are learned from texts")
        tokenizer = self.start.terms.tokenizer
        settings = self.settings
        backbone = Backbone.load(
            source,
            tokenizer,
            max_tokens=settings.max_tokens,
            layers=settings.layers,
            trainable=settings.trainable_layers,
        )
        if folder is None:
            raise invalid("folder", "given: a transformer's states of the documents are kept there", None)
        states = cache_states(folder / "states", texts, backbone, self.bars)
        return TrainableScorer(backbone, states, tokenizer.dropped, self._common_terms(self.start.terms))

    # -- choices on dev queries ----------------------------------------------------------------------------------------

    def _choose_codec(
        self, student: Codebooks, dev: Queries, targets: Sequence[I64], *, must_learn: bool
    ) -> tuple[Codec, dict[str, float]]:
        """Return the codec with the highest recall on dev, and the recall of each.

        The choices are the codec before training, the trained codebooks with the codes they were trained on, and the
        trained codebooks with documents encoded again.
        """
        before = self.start.codec
        learned = {"codebooks": np.ascontiguousarray(student.codebooks.detach().numpy())}
        if "rotation" in before.arrays:
            learned["rotation"] = np.ascontiguousarray(student.rotation.detach().numpy())
        encoding = {
            ENCODING_PREFIX + name: before.arrays.get(ENCODING_PREFIX + name, before.arrays[name]) for name in learned
        }
        kept = before.spec.restore(before.dim, {**learned, **encoding})
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
                documents = reconstruct(codec, unpack_codes(codes, codec), base)
                found[name] = recall(dev.vectors, documents, targets)
                if name == "untrained" and dev.vectors is not self.unmapped:
                    found["untrained, queries as they are"] = recall(self.unmapped, documents, targets)
                advance(1)
        choices = [name for name in tried if name != "untrained" or not must_learn]
        return tried[max(choices, key=lambda name: found[name])][0], found

    def _choose_terms(
        self,
        student: Any,
        scorer: TrainableScorer | None,
        dev: Queries,
        targets: Sequence[I64],
        clusters: ClusterSelector | None,
    ) -> tuple[TermSelector, Bags | None, Any]:
        """Return the trained selector, or the one before training if it finds as much; weights; and what was tried.

        ``weights`` are the scores of all documents' terms if a trained scorer made them, else None.
        """
        bags, reference = self._bags_and_selector()
        if scorer is None:
            gains = student.gains.detach().exp().numpy().astype(np.float32)
            if reference.gains is not None:  # the student learned on top of these
                gains = gains * reference.gains
            trained = replace(reference, gains=gains)
            trained_bags, weights = bags, None
        else:
            weights = scorer.weights(self.bars)
            trained_bags = weights
            spec = LearnedTerms(reference.spec.per_doc, reference.spec.gamma, scorer=TermScorer(*scorer_files(scorer)))
            trained = fit_terms(spec, trained_bags, reference.tokenizer)
        chosen, table = discount_frequent_terms(
            trained, reference, trained_bags, bags, dev, targets, clusters, self.labels, self.bars
        )
        if chosen is reference:
            return reference, None, table
        return fit_terms(chosen.spec, trained_bags, chosen.tokenizer, chosen.gains), weights, table


def unpack_codes(codes: Array, codec: Codec) -> Array:
    """Return one codeword number per subspace; four-bit codes are stored two per byte."""
    n_words, n_subspaces = codec.arrays["codebooks"].shape[1], codec.arrays["codebooks"].shape[0]
    if n_words > 16:
        return codes
    halves = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), -1)
    return np.ascontiguousarray(halves[:, :n_subspaces])


def _versions() -> Iterator[tuple[str, str]]:
    yield "hi2", __version__
    for name in ("numpy", "torch", "transformers", "faiss-cpu"):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
