"""The hybrid inverted index: build it, search it, change it, keep it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hi2.arguments import MAX_K, thread_count
from hi2.changes import (
    build_on_disk,
    check_profile_name,
    with_added,
    with_first_documents,
    with_merged,
    with_profile,
    with_replaced,
    without,
)
from hi2.codecs import Codec, CodecSpec, default_codecs
from hi2.documents import Documents, collect
from hi2.drift import Added
from hi2.encoders import Encoder, load_encoder
from hi2.encoders.encoder import EncoderIdentity, encode
from hi2.errors import Error, InvalidParameter, ReadOnly, invalid
from hi2.fitting import fit_model, term_reader
from hi2.ids import check_id
from hi2.model import Model
from hi2.parts import Parts
from hi2.profiles import Profile
from hi2.progress import Progress
from hi2.searching import Effort, PerQuery, Tally, resolve_effort, search
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.shaping import Shape, shaped
from hi2.snapshot import EMPTY, stored_of
from hi2.storage.manifest import read_manifest
from hi2.store import State, Stored, Writer, read_index, write_copy
from hi2.types import Hits, Id
from hi2.vectors import METRICS

if TYPE_CHECKING:
    from hi2.explanation import Explanation
    from hi2.tuning import Tuned


class HybridIndex:
    """Documents filed under embedding clusters and salient terms, scored once by one codec.

    An index is safe to search from any number of threads, also while one thread changes it: a search sees the index
    as it was when the search began.

    >>> import numpy as np, hi2
    >>> vectors = np.random.default_rng(0).standard_normal((4, 8), np.float32)
    >>> texts = ["a red apple", "a green pear", "the fast car", "the slow train"]
    >>> index = hi2.HybridIndex.build(vectors, texts, ids=["apple", "pear", "car", "train"])
    >>> index.search(vectors[2], "which car is fast?", k=1).ids.tolist()
    ['car']
    >>> index = hi2.HybridIndex.build(texts=texts, encoder=hi2.StaticEncoder())
    >>> index.search("a quick automobile", k=1).ids.tolist()
    [2]
    """

    def __init__(
        self,
        state: State,
        *,
        writer: Writer | None = None,
        stored: Stored | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        """Use ``HybridIndex.build`` or ``HybridIndex.open``."""
        self._encoder = encoder
        self._state = state
        self._writer = writer
        self._stored = stored
        self._change = threading.RLock()
        self._closed = False
        self._tally = Tally()

    # -- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        *,
        ids: Any = None,
        encoder: Encoder | None = None,
        clusters: KMeans | ClusterSelector | None = KMeans(),  # noqa: B008 - specs are immutable
        terms: BM25 | TermWeights | TermSelector | None = BM25(),  # noqa: B008
        codec: CodecSpec | Codec | None = None,
        refine: CodecSpec | Codec | None = None,
        term_weights: Any = None,
        payload: Iterable[Mapping[str, Any]] | None = None,
        keep_text: bool = False,
        metric: str = "inner_product",
        path: str | Path | None = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> HybridIndex:
        """Fit the parts to the documents and file them.

        ``vectors`` is (n, dim): an array, a memmap, the path of a ``.npy`` file, or an iterator of batches; ``texts``
        any iterable of strings. ``ids`` are integers or strings, 0, 1, 2, … by default. ``clusters=None`` files under
        terms alone, ``terms=None`` under clusters alone. ``term_weights`` (one mapping of term to weight a document,
        or a CSR matrix) takes the place of BM25. ``payload`` (one mapping a document) and, with ``keep_text``, the
        texts are stored and given back by ``get``. With an ``encoder`` (any callable from strings to vectors)
        ``vectors`` may be left out, and queries may be text alone. With ``path`` the index is written there as it is
        built, so that memory does not hold the codes, and comes back open for writing.

        Without a ``codec`` fewer than 10,000 documents keep their vectors; more are stored as RaBitQ, one bit a
        dimension, and the best hits are rescored by ``refine``, SQ8 unless given.
        """
        if metric not in METRICS:
            raise invalid("metric", f"one of {METRICS}", repr(metric))
        if term_weights is not None and isinstance(terms, BM25) and terms == BM25():
            terms = TermWeights()
        if clusters is None and terms is None:
            raise InvalidParameter("The 'clusters' and 'terms' parameters must not both be None: no lists are left.")
        if path is not None and Path(path).exists():
            raise invalid("path", "a folder that does not exist yet", f"'{path}'; remove it or choose another")
        n_threads, bars = thread_count(threads), Progress.of(progress)
        reader = term_reader(terms)
        documents = collect(
            vectors,
            texts,
            ids=ids,
            term_weights=term_weights,
            payload=payload,
            keep_text=keep_text,
            metric=metric,
            dim=None,
            reader=reader,
            encoder=encoder,
            first_id=0,
            progress=bars,
        )
        identity = None if encoder is None else EncoderIdentity.of(encoder)
        if identity is not None and len(identity.probe) != documents.vectors.dim:
            must = f"one that makes vectors of dimension {documents.vectors.dim}"
            raise invalid("encoder", must, f"dimension {len(identity.probe)}")
        codec, refine = default_codecs(codec, refine, documents.vectors.n)
        model = fit_model(
            documents,
            metric=metric,
            clusters=clusters,
            terms=terms,
            reader=reader,
            codec=codec,
            refine=refine,
            encoder=identity,
            threads=n_threads,
            progress=bars,
        )
        state = State(model, EMPTY, Added(), documents.ids.next_integer(), keep_text)
        if path is None:
            return cls(with_first_documents(state, documents, threads=n_threads, progress=bars), encoder=encoder)
        build_on_disk(Path(path), state, documents, threads=n_threads, progress=bars)
        return cls.open(path, "w", encoder=encoder)

    @classmethod
    def open(
        cls, path: str | Path, mode: str = "r", *, mmap: bool = True, encoder: Encoder | None = None
    ) -> HybridIndex:
        """Open a stored index: mode "r" to search it, "w" to change it too (one writer at a time).

        Arrays are memory-mapped, so opening costs the same at any size; ``mmap=False`` reads them. Sizes, headers and
        list directories are checked; ``verify`` checks everything. An ``encoder`` must be the one the index was built
        with; those of this library are loaded by themselves when a query is text alone.
        """
        if mode not in ("r", "w"):
            raise invalid("mode", "'r' or 'w'", repr(mode))
        folder = Path(path)
        if mode == "r":
            stored = read_index(folder, mmap=mmap)
            _check_encoder(stored.state.model, encoder)
            return cls(stored.state, stored=stored, encoder=encoder)
        read_manifest(folder)  # a folder that is no index gets no lock file
        try:
            writer = Writer(folder)
        except OSError as error:
            raise Error(f"{folder} cannot be opened for writing: {error}.") from error
        try:
            stored = read_index(folder, mmap=mmap)
            _check_encoder(stored.state.model, encoder)
            writer.adopt(stored)
        except BaseException:
            writer.close()
            raise
        return cls(stored.state, writer=writer, stored=stored, encoder=encoder)

    def save(self, path: str | Path, *, progress: bool | Progress | None = None) -> None:
        """Write a copy of the index to a new folder, which takes its name when it is whole."""
        write_copy(Path(path), self._state, Progress.of(progress))

    def close(self) -> None:
        """Give the writer's lock back; changes since the last commit are dropped, and no more are taken."""
        if self._writer is not None:
            self._writer.close()
            self._closed = True

    def __enter__(self) -> HybridIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The fitted parts; any of them can go into another ``build``."""
        return self._state.model

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self._state.model.dim

    def __len__(self) -> int:
        return self._state.snapshot.n_alive

    def __contains__(self, id: object) -> bool:
        known = isinstance(id, (int, str, np.integer)) and not isinstance(id, bool)
        return known and self._state.snapshot.find([check_id(id)])[0] is not None

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={spec}" for name, spec in self.model.specs().items() if spec is not None)
        return f"<HybridIndex of {len(self)} documents, dim={self.dim}, {parts}>"

    def ids(self) -> list[Id]:
        """Return the ids of all documents in order of arrival."""
        found: list[Id] = []
        for live in self._state.snapshot.lives:
            rows = np.sort(live.segment.rows[live.flags()])
            found.extend(live.segment.take_ids(rows.astype(np.uint32)))
        return found

    def texts(self) -> list[str]:
        """Return the texts of all documents in the order of ``ids``; an index that keeps none says so."""
        stored = self.get(self.ids())
        if not all("text" in own for own in stored):
            raise invalid("texts", "given: this index keeps none, or not all (keep_text=True would)", None)
        return [own["text"] for own in stored]

    def parse_ids(self, ids: Sequence[str]) -> list[Id]:
        """Return ids given as strings as the index has them: integers where its ids are integers."""
        if self._state.snapshot.id_kind != "int":
            return list(ids)
        for id in ids:
            if not (id.isascii() and id.isdigit()):
                raise invalid("ids", "integers, as in this index", repr(id))
        return [int(id) for id in ids]

    def get(self, ids: Id | Sequence[Id]) -> Any:
        """Return what is stored of one document, or of several: a dict with ``text`` and ``payload`` if kept."""
        if isinstance(ids, (str, int, np.integer)):
            return self.get([ids])[0]
        return stored_of(self._state.snapshot, [check_id(id, name="ids") for id in ids])

    def info(self, queries: Sequence[str] | None = None) -> dict[str, Any]:
        """Return counts, bytes by part, how even the lists are, and drift since the fit.

        ``searches`` counts the texts searched for since the index was opened, and those among them that opened no term
        list: for these only clusters were searched. ``queries`` are counted likewise without being searched for.
        """
        from hi2.inspection import describe, without_term_list

        report = {**describe(self._state, self._stored), "searches": self._tally.report()}
        if queries is not None:
            report["queries"] = {"n": len(queries), "without_term_list": without_term_list(self._state, queries)}
        return report

    def health(self, queries: Sequence[str] | None = None) -> dict[str, Any]:
        """Return what has changed since the parts were fitted, and ``advice`` in words where something should be done.

        How even the lists are and how many are empty, deleted documents, how terms, lengths and (with a refine store)
        quantisation errors of added documents differ from the fitted ones, and how many queries open no term list: of
        ``queries``, or of those searched for since the index was opened.
        """
        from hi2.health import health

        return health(self._state, self._stored, self._tally.report(), queries)

    def verify(self) -> None:
        """Check every checksum and every invariant; raise FormatError at the first that does not hold."""
        from hi2.inspection import verify

        verify(self._state, self._stored)

    # -- searching ----------------------------------------------------------------------------------------------------

    def search(
        self,
        vectors: Any,
        texts: str | Sequence[str | None] | None = None,
        *,
        k: int = 10,
        clusters: int | None = None,
        terms: int | None = None,
        per_doc: int | None = None,
        refine: int | None = None,
        budget: int | None = None,
        adaptive: float | None = None,
        profile: str | None = None,
        filter: Any = None,
        filters: Sequence[Any] | None = None,
        min_score: float | None = None,
        offset: int = 0,
        group_by: str | None = None,
        rerank: Any = None,
        rerank_depth: int | None = None,
        threads: int | None = None,
    ) -> Hits:
        """Return the ``k`` best documents of one query, (dim,) with a string, or of a batch, (n, dim) with n strings.

        Where the index has an encoder, a string or a list of strings alone will do.

        ``clusters`` clusters are opened and up to ``terms`` terms; 0 skips a side, None takes the default. Only the
        ``per_doc`` best terms of every document count, as if the index had been built with it (γ and budgets apart).
        ``refine`` times k hits are rescored by the refine store, if there is one; 0 skips it. ``threads`` share a
        batch.

        ``adaptive`` lets every query weigh its lists: a document is scored if the chance that it is among the best is
        at least so much, by how near its cluster is and how rare the query's term is that it is filed under. A query
        may so open terms alone, clusters alone, or both, each list down to some cluster. ``budget`` is how many
        documents may be scored at most: of what the query would open those of which most is expected. With either,
        ``clusters`` is the most clusters that are opened for their own sake, all by default. ``tune`` fits the chances
        to a collection. ``profile`` is the name of a setting that ``tune`` found; what is given beside it goes first.

        ``filter`` lets through what a text such as ``"year >= 2020 and lang in ('en', 'de')"``, the same as an
        expression of ``hi2.column``, a boolean mask by ``ids()`` or a list of ids says; ``filters`` has one for every
        query of a batch. Always min(k, passing) hits are found: few that pass are all scored, else the more
        clusters are opened the fewer documents pass, and more until k are found; ``hits.complete`` says whether all
        that passes was scored.

        ``offset`` leaves out the first hits, ``min_score`` those that score less. ``group_by`` a payload column gives
        the best hit of each of k groups. ``rerank``, a callable from a query and texts to scores or a cross-encoder,
        gives the best ``rerank_depth`` (100, or as many as are asked for) new scores and leaves out the others; the
        index must keep texts.
        """
        state = self._state
        chosen: dict[str, Any] = {
            "clusters": clusters,
            "terms": terms,
            "per_doc": per_doc,
            "refine": refine,
            "budget": budget,
            "adaptive": adaptive,
        }
        if profile is not None:
            chosen = self._profiled(state, profile, chosen)
            if filter is not None or filters is not None:  # what a filter opens is counted in clusters
                chosen["adaptive"] = None
        effort = resolve_effort(state.model, k=k, **chosen)
        if filters is not None:
            if filter is not None:
                raise invalid("filters", "left out where filter is given", "both")
            if isinstance(filters, str) or not isinstance(filters, Sequence):
                raise invalid("filters", "a list with one filter a query", f"a {type(filters).__name__}")
            filter = PerQuery(list(filters))
        for name, own in (("budget", budget), ("adaptive", adaptive)):
            if filter is not None and own is not None:
                raise invalid(name, "left out with a filter, which opens as much as it needs", own)
        vectors, texts = self._with_vectors(vectors, texts)

        asked_for = effort
        if offset == 0 and min_score is None and group_by is None and rerank is None and rerank_depth is None:
            hits = search(state, vectors, texts, effort, filters=filter, threads=threads)
        else:

            def run(depth: int) -> Hits:
                nonlocal asked_for
                asked_for = resolve_effort(state.model, k=min(depth, MAX_K), **chosen)
                return search(state, vectors, texts, asked_for, filters=filter, threads=threads)

            shape = Shape.of(effort.k, offset, min_score, group_by, rerank, rerank_depth)
            asked = [texts] if isinstance(texts, str) else texts
            hits = shaped(shape, run, state.snapshot, asked, lambda ids: stored_of(state.snapshot, ids))
        if effort.terms and effort.per_doc:
            self._tally.count(texts, hits)
        return hits.explained_by(_Why(state, vectors, texts, asked_for, filter))

    def explain(
        self,
        vector: Any,
        text: str | None = None,
        *,
        id: Id,
        k: int = 10,
        clusters: int | None = None,
        terms: int | None = None,
        per_doc: int | None = None,
        refine: int | None = None,
        budget: int | None = None,
        adaptive: float | None = None,
    ) -> Explanation:
        """Return why a document is, or is not, among the ``k`` best of a query: as data, and in words by ``str``."""
        from hi2.explanation import explain

        state = self._state
        effort = resolve_effort(
            state.model,
            k=k,
            clusters=clusters,
            terms=terms,
            per_doc=per_doc,
            refine=refine,
            budget=budget,
            adaptive=adaptive,
        )
        vector, query_text = self._with_vectors(vector, text)
        return explain(state, vector, query_text, effort, id=check_id(id))

    def tune(
        self,
        queries: Any,
        texts: Sequence[str] | None = None,
        *,
        relevant: Sequence[Sequence[Id]] | None = None,
        target: float | None = None,
        latency: float | None = None,
        budget: int | None = None,
        k: int = 100,
        name: str | None = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Tuned:
        """Find the settings worth having from a sample of queries, and keep them as named profiles.

        ``queries`` are vectors, with ``texts``, or texts alone where the index has an encoder. What counts is agreement
        with brute force over the finest store; with ``relevant``, ids for each query, the share of brute force's
        recall. With a ``target`` (0.95) the cheapest setting that reaches it is kept as ``name``, with a ``latency`` in
        milliseconds or a ``budget`` of documents the best within it; with none of them three profiles are made, fast
        (0.90), balanced (0.95) and exact (0.99). Nothing is rebuilt; on disk a profile is kept with the next commit.
        """
        from hi2.tuning import tune

        if name is not None:
            check_profile_name(name)
            if target is None and latency is None and budget is None:
                raise invalid("name", "left out without a target, a latency or a budget", repr(name))
        with self._changing():
            state = self._state
        given, own = self._with_vectors(queries, texts)
        found = tune(
            state,
            given,
            own,
            relevant=relevant,
            target=target,
            latency=latency,
            budget=budget,
            k=k,
            name=name,
            threads=thread_count(threads),
            progress=Progress.of(progress),
        )
        with self._changing():
            for label, profile in found.profiles.items():
                self._state = with_profile(self._state, label, profile)
        return found

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The settings that ``tune`` found, by name."""
        return dict(self._state.profiles)

    def add_profile(self, name: str, profile: Profile) -> None:
        """Keep a profile that was tuned elsewhere for this very model; another's is refused."""
        with self._changing():
            self._state = with_profile(self._state, name, profile)

    @staticmethod
    def _profiled(state: State, name: str, chosen: dict[str, Any]) -> dict[str, Any]:
        profile = state.profiles.get(name)
        if profile is None:
            known = ", ".join(state.profiles) or "there is none: tune() makes them"
            raise invalid("profile", f"one that this index has ({known})", repr(name))
        given = {key: value for key, value in chosen.items() if value is not None}
        return {**profile.arguments(), **given, "benefit": profile.benefit}

    @property
    def encoder(self) -> Encoder | None:
        """What turns text into vectors; loaded when it is first needed, None if the index has none."""
        if self._encoder is None and self.model.encoder is not None:
            self._encoder = load_encoder(self.model.encoder)
        return self._encoder

    def _with_vectors(self, vectors: Any, texts: Any) -> tuple[Any, Any]:
        """Return queries as vectors and texts; where text alone was given, the encoder makes the vectors."""
        alone = isinstance(vectors, str) or (
            isinstance(vectors, (list, tuple)) and len(vectors) > 0 and isinstance(vectors[0], str)
        )
        if not alone:
            return vectors, texts
        if texts is not None:
            raise invalid("vectors", "vectors where texts are given too", "text")
        if self.encoder is None:
            raise invalid("vectors", "a vector: this index has no encoder", "text alone")
        encoded = encode(self.encoder, [vectors] if isinstance(vectors, str) else vectors, dim=self.dim)
        return (encoded[0] if isinstance(vectors, str) else encoded), vectors

    # -- changing it --------------------------------------------------------------------------------------------------

    def add(
        self,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        *,
        ids: Any = None,
        term_weights: Any = None,
        payload: Iterable[Mapping[str, Any]] | None = None,
        keep_text: bool | None = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> None:
        """File further documents with the parts as they were fitted; an id that exists is refused.

        Searches that begin after this returns see them. ``keep_text=None`` keeps text if the index does.
        """
        with self._changing():
            documents = self._collect(vectors, texts, ids, term_weights, payload, keep_text, Progress.of(progress))
            ids = documents.ids.as_list()
            for id, place in zip(ids, self._state.snapshot.find(ids), strict=True):
                if place is not None:
                    raise invalid("ids", "new; use upsert to replace documents", f"{id!r}, which exists")
            n_threads, bars = thread_count(threads), Progress.of(progress)
            self._state = with_added(self._state, documents, self._writer, threads=n_threads, progress=bars)

    def upsert(
        self,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        *,
        ids: Any,
        term_weights: Any = None,
        payload: Iterable[Mapping[str, Any]] | None = None,
        keep_text: bool | None = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> None:
        """File documents, replacing those whose ids exist, in one change."""
        if ids is None:
            raise invalid("ids", "given: they say what is replaced", None)
        with self._changing():
            documents = self._collect(vectors, texts, ids, term_weights, payload, keep_text, Progress.of(progress))
            n_threads, bars = thread_count(threads), Progress.of(progress)
            self._state = with_replaced(self._state, documents, self._writer, threads=n_threads, progress=bars)

    def delete(self, ids: Id | Sequence[Id], *, missing_ok: bool = False) -> int:
        """Remove documents and return how many; an unknown id is refused, or skipped with ``missing_ok``."""
        wanted = [ids] if isinstance(ids, (str, int, np.integer)) else list(ids)
        wanted = list(dict.fromkeys(check_id(id, name="ids") for id in wanted))
        with self._changing():
            places = self._state.snapshot.find(wanted)
            for id, place in zip(wanted, places, strict=True):
                if place is None and not missing_ok:
                    raise invalid("ids", "in the index, or missing_ok=True", repr(id))
            found = [place for place in places if place is not None]
            self._state = without(self._state, found)
            return len(found)

    def merge(self, *, progress: bool | Progress | None = None) -> None:
        """Make all segments one and drop deleted documents; on disk it takes effect with the next commit."""
        with self._changing():
            lives = self._state.snapshot.lives
            if len(lives) > 1 or any(live.alive is not None for live in lives):
                self._state = with_merged(self._state, 0, len(lives), self._writer, Progress.of(progress))

    def commit(self, *, progress: bool | Progress | None = None) -> None:
        """Make every change since the last commit durable at once; readers opened before keep what they saw."""
        with self._changing():
            if self._writer is None:
                raise Error("There is nothing to commit to: the index is in memory. Use save(path), then open it.")
            self._stored = self._writer.commit(self._state, Progress.of(progress))
            self._state = self._stored.state

    def refit(
        self,
        parts: Parts | str | Path,
        *,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> HybridIndex:
        """Return the index with trained ``parts`` (or the folder that holds them), in memory; this one stays as it is.

        Texts the index does not keep must be given, in the order of ``ids``; so must vectors where the parts encode
        documents anew.
        """
        from hi2.refitting import refitted

        state = refitted(
            self._state,
            parts if isinstance(parts, Parts) else Parts.load(parts),
            vectors=vectors,
            texts=texts,
            stored_texts=self.texts,
            threads=thread_count(threads),
            progress=Progress.of(progress),
        )
        return HybridIndex(state, encoder=self._encoder)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        if self._stored is not None and self._writer is None:
            raise ReadOnly(f"{self._stored.folder} was opened for reading. Open it with mode='w' to change it.")
        with self._change:
            if self._closed:
                raise ReadOnly("The index was closed. Open it again with mode='w' to change it.")
            yield

    def _collect(
        self, vectors: Any, texts: Any, ids: Any, weights: Any, payload: Any, keep_text: bool | None, bars: Progress
    ) -> Documents:
        model, snapshot = self._state.model, self._state.snapshot
        if keep_text is None:
            keep_text = texts is not None and self._state.keep_text
        if ids is None and snapshot.id_kind == "str":
            raise invalid("ids", "given: this index has string ids", None)
        documents = collect(
            vectors,
            texts,
            ids=ids,
            term_weights=weights,
            payload=payload,
            keep_text=keep_text,
            metric=model.metric,
            dim=model.dim,
            reader=term_reader(model.terms),
            encoder=self.encoder if vectors is None else None,
            first_id=self._state.next_id,
            progress=bars,
        )
        if snapshot.id_kind not in (None, documents.ids.kind):
            raise invalid("ids", f"of type {snapshot.id_kind}, as in the index", f"type {documents.ids.kind}")
        return documents


class _Why:
    """Explains documents to the queries of one search, as the index was then."""

    __slots__ = ("effort", "filter", "state", "texts", "vectors")

    def __init__(self, state: State, vectors: Any, texts: Any, effort: Effort, filter: Any) -> None:
        self.state, self.vectors, self.texts, self.effort, self.filter = state, vectors, texts, effort, filter

    def __call__(self, query: int, id: Id) -> Explanation:
        from hi2.explanation import explain

        single = np.ndim(self.vectors) == 1
        text = self.texts if single or self.texts is None else self.texts[query]
        vector = self.vectors if single else self.vectors[query]
        own = self.filter.filters[query] if isinstance(self.filter, PerQuery) else self.filter
        return explain(self.state, vector, text, self.effort, id=check_id(id), filter=own)


def _check_encoder(model: Model, encoder: Encoder | None) -> None:
    if encoder is not None and model.encoder is not None:
        model.encoder.check(encoder)
    elif encoder is not None:
        EncoderIdentity.check_dim(encoder, model.dim)
