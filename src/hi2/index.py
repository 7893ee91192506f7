"""The hybrid inverted index: build it, search it, change it, keep it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from hi2.changes.add import add
from hi2.changes.add_profiles import add_profile, add_profiles
from hi2.changes.build import build, create
from hi2.changes.commit import commit, save
from hi2.changes.delete import delete
from hi2.changes.merge import merge
from hi2.changes.open_index import OpenIndex, open_folder
from hi2.changes.refit import refit
from hi2.changes.update import update
from hi2.changes.upsert import upsert
from hi2.codecs import Codec, CodecSpec
from hi2.data.ids import parse_ids
from hi2.encoders import Encoder
from hi2.filters.column_types import ColumnTypes
from hi2.ingest.documents import NewDocuments
from hi2.ingest.fit import Specs
from hi2.progress import AnyProgress
from hi2.search import selection
from hi2.search.pipeline import explain_one, search
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.state.model import Model
from hi2.state.profile import Profile
from hi2.state.snapshot import NO_DEFAULT, get_documents, stored_texts
from hi2.store.trained_parts import Parts
from hi2.types import Floats, Hits, Id

if TYPE_CHECKING:
    from hi2.search.explanation import Explanation
    from hi2.tuning.targets import Tuned


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _in_a_thread(method: Callable[_P, _T], doc: str) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Return a method as a coroutine that leaves the work to another thread; it takes the same arguments."""

    async def run(*arguments: _P.args, **options: _P.kwargs) -> _T:
        own: Callable[..., _T] = getattr(arguments[0], method.__name__)  # a subclass may have another
        return await asyncio.to_thread(own, *arguments[1:], **options)

    run.__doc__, run.__name__ = doc, f"a{method.__name__}"
    run.__qualname__ = f"HybridIndex.{run.__name__}"
    run.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return run


class HybridIndex:
    """Documents filed under embedding clusters and salient terms, ranked by meaning and words in one pass.

    An index is safe to search from any number of threads, even while one thread changes it: a search sees the index
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

    def __init__(self, index: OpenIndex) -> None:
        """Use ``HybridIndex.build`` or ``HybridIndex.open``."""
        self._index = index

    # -- creating one -------------------------------------------------------------------------------------------------

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
        payload: Any = None,
        keep_text: bool | None = None,
        bags: bool = True,
        columns: Mapping[str, str] | None = None,
        metric: str = "inner_product",
        path: str | Path | None = None,
        overwrite: bool = False,
        threads: int | None = None,
        progress: AnyProgress = None,
    ) -> HybridIndex:
        """Fit the parts to the documents and file them; without documents, return an empty index as ``create`` does.

        ``vectors`` is (n, dim): an array, a memmap, the path of a ``.npy`` file, or an iterator of batches; ``texts``
        any iterable of strings. A list of vectors may have None for some documents: their words alone find them.
        ``ids`` are integers or strings, 0, 1, 2, … by default. ``clusters=None`` files under
        terms alone, ``terms=None`` under clusters alone. ``term_weights`` (one mapping of term to weight per document,
        or a CSR matrix) replaces BM25. ``payload`` (one mapping per document) is stored, and so are the texts unless
        ``keep_text`` is False; hits and ``get`` return them. With an ``encoder`` (any callable from strings to vectors)
        ``vectors`` may be left out, and queries may be text alone. With ``path`` the index is written there while it is
        built, so memory does not hold the codes; it is returned open for writing. ``overwrite`` lets it take the place
        of an index that is there, once it is whole.

        A payload is one mapping per document, a pandas DataFrame, an Arrow table or a mapping of columns. Every key is
        a column of one type, and the keys of objects are columns by their path (``author.name``). ``columns`` declares
        types; a column that is ``"other"`` takes any value and cannot be filtered on.

        ``progress`` is True, False, None (bars on a terminal) or a callable of (phase, steps done, steps in all).

        ``bags`` keeps the words of each document, so that searches can rank by them too; they take about 1.4 bytes per
        distinct word of a document. Terms are English words, stemmed; ``terms=BM25(tokenizer=…)`` has other languages
        and BERT's WordPiece.

        Without a ``codec`` fewer than 10,000 documents keep their vectors. More are stored as RaBitQ, one bit per
        dimension, and the best hits are rescored by ``refine``, SQ8 unless given.
        """
        new = NewDocuments(vectors, texts, ids, term_weights, payload, keep_text)
        specs = Specs(clusters, terms, codec, refine, metric, bags, columns)
        return cls(
            build(new, specs, encoder=encoder, path=path, overwrite=overwrite, threads=threads, progress=progress)
        )

    @classmethod
    def create(
        cls,
        *,
        dim: int | None = None,
        encoder: Encoder | None = None,
        clusters: KMeans | None = KMeans(),  # noqa: B008
        terms: BM25 | None = BM25(),  # noqa: B008
        keep_text: bool = True,
        bags: bool = True,
        columns: Mapping[str, str] | None = None,
        metric: str = "inner_product",
        path: str | Path | None = None,
        overwrite: bool = False,
    ) -> HybridIndex:
        """Return an index without documents, which can be searched and grows with ``add``.

        ``dim`` is the dimension of the vectors, or ``encoder`` makes them. While there are few documents all of them
        are scored. An index that keeps texts is fitted when there are 256, and again whenever they are twice as many as
        at the last fit, or half as many more with other terms: after the ``add`` that brings them, while searches go
        on. One that was built does the same, if the number of clusters and the codec were left to it.
        """
        specs = Specs(clusters, terms, None, None, metric, bags, columns)
        return cls(create(specs, dim=dim, encoder=encoder, path=path, overwrite=overwrite, keep_text=keep_text))

    @classmethod
    def open(
        cls,
        path: str | Path,
        mode: str = "r",
        *,
        mmap: bool = True,
        encoder: Encoder | None = None,
        trust_encoder: bool = False,
        refresh: float | None = None,
    ) -> HybridIndex:
        """Open a stored index: mode "r" to search it, "w" to change it too (one writer at a time).

        Arrays are memory-mapped, so opening takes the same time at any size. ``mmap=False`` reads them instead: where
        other programs may shorten the files of an index, a map would end the process (SIGBUS). Sizes, headers and list
        directories are checked; ``verify`` checks everything.

        An ``encoder`` must be the one the index was built with. Without it, a query that is text alone finds the
        built-in encoders and those given to ``hi2.register_encoder``. No other is loaded because an index names it,
        so an index from elsewhere is safe to open and search. ``trust_encoder=True`` loads the sentence-transformers
        model that the index names.

        A reader stays at the commit it opened until ``refresh()``. With ``refresh=`` seconds it looks for a later one
        by itself, when it is used and so many seconds have passed.
        """
        index = open_folder(path, mode, mmap=mmap, encoder=encoder, trust_encoder=trust_encoder, refresh=refresh)
        return cls(index)

    def refresh(self) -> bool:
        """Bring an index that was opened for reading to the last commit; return whether there was a later one.

        It takes milliseconds: what has not changed is not read again. Searches that run meanwhile go on with what they
        began with.
        """
        return self._index.refresh()

    def save(self, path: str | Path, *, overwrite: bool = False, progress: AnyProgress = None) -> None:
        """Write a copy of the index to a new folder. The folder appears only when the copy is complete.

        With ``overwrite`` it takes the place of an index that is there, which stays until then. Who has that one open
        goes on reading it.
        """
        save(self._index.state, path, overwrite=overwrite, progress=progress)

    def __reduce__(self) -> Any:
        """Pickle the index as the path of its folder; it is opened for reading again, as of its last commit."""
        return HybridIndex._reopened, self._index.way_back()

    @classmethod
    def _reopened(
        cls, path: str, mmap: bool, encoder: Encoder | None, trust_encoder: bool, refresh: float | None = None
    ) -> HybridIndex:
        return cls.open(path, mmap=mmap, encoder=encoder, trust_encoder=trust_encoder, refresh=refresh)

    def close(self) -> None:
        """Release the writer's lock. Changes since the last commit are lost, and no more are accepted."""
        self._index.close()

    def __enter__(self) -> HybridIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The fitted parts. Any of them can be passed to another ``build``."""
        return self._index.current().model

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self._index.current().model.dim

    @property
    def encoder(self) -> Encoder | None:
        """What makes vectors from text, loaded when it is first needed; None if the index has none.

        InvalidParameter where the index names one that was neither given nor registered and is not built in.
        """
        return self._index.encoder()

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The settings that ``tune`` found, by name."""
        return dict(self._index.current().profiles)

    def __len__(self) -> int:
        return self._index.current().snapshot.n_alive

    def __contains__(self, id: object) -> bool:
        return self._index.current().snapshot.has(id)

    def __repr__(self) -> str:
        return f"<HybridIndex of {len(self)} documents, dim={self.dim}, {self.model}>"

    def ids(self, *, filter: Any = None) -> list[Id]:
        """Return the ids of all documents, or of those that pass a filter, in order of arrival."""
        return selection.ids(self._index.current().snapshot, filter)

    def column_types(self) -> ColumnTypes:
        """Return the types of the payload's columns; ``mismatch(payload)`` says what keeps a payload out."""
        return self._index.current().column_types()

    def count(self, *, filter: Any = None) -> int:
        """Return how many documents there are, or how many pass a filter."""
        return selection.count(self._index.current().snapshot, filter)

    def facet(self, name: str, *, filter: Any = None, limit: int | None = None) -> dict[Any, int]:
        """Return the values of a payload column with the number of documents that have each, the most frequent first.

        Of lists, every value is counted. ``filter`` leaves documents out; ``limit`` keeps the first values.
        """
        return selection.facet(self._index.current().snapshot, name, filter, limit)

    def iterate(self, *, batch_size: int = 1000, filter: Any = None) -> Iterator[list[dict[str, Any]]]:
        """Yield all documents, or those that pass a filter, as ``get`` returns them, in lists of ``batch_size``.

        They come in order of arrival, as they are now: changes that follow do not disturb the iteration.
        """
        return selection.batches(self._index.current().snapshot, filter, batch_size)

    def vectors(self, ids: Id | Sequence[Id]) -> Floats:
        """Return the vectors of documents, (n, dim), or (dim,) for one id, as the finest store keeps them.

        ``Flat`` gives them back exactly, ``Half`` and ``SQ8`` nearly; other codecs cannot without such a refine store.
        With ``metric="cosine"`` they have length one. A document without a vector has NaN.
        """
        return selection.vectors(self._index.current(), ids)

    def texts(self) -> list[str]:
        """Return the texts of all documents in the order of ``ids``. An index that does not store all texts refuses."""
        return stored_texts(self._index.current().snapshot)

    def parse_ids(self, ids: Sequence[str]) -> list[Id]:
        """Return ids that are given as strings as the index has them: integers where its ids are integers."""
        return parse_ids(ids, self._index.current().snapshot.id_kind)

    def get(self, ids: Id | Sequence[Id], default: Any = NO_DEFAULT) -> Any:
        """Return what is stored of one document, or of several: a dict with ``text`` and ``payload`` if stored.

        An id that is not in the index is refused, unless there is a ``default`` to return for it.
        """
        return get_documents(self._index.current().snapshot, ids, default)

    def info(self, queries: Sequence[str] | None = None) -> dict[str, Any]:
        """Return counts, bytes by part, how even the lists are, and drift since the fit.

        ``searches`` counts the texts searched for since the index was opened, and those that opened no term list: for
        these only clusters were searched. ``queries`` are counted in the same way without being searched for.
        """
        from hi2.reports.info import info

        return info(self._index.state, self._index.stored, self._index.search_counts.report(), queries)

    def health(self, queries: Sequence[str] | None = None) -> dict[str, Any]:
        """Return what has changed since the parts were fitted, and ``advice`` in words where something should be done.

        The report covers how even the lists are, how many are empty, and deleted documents. It compares terms, lengths
        and (with a refine store) quantisation errors of added documents with the fitted ones. It counts queries that
        open no term list: of ``queries``, or of those searched for since the index was opened.
        """
        from hi2.reports.health import health

        return health(self._index.state, self._index.stored, self._index.search_counts.report(), queries)

    def verify(self) -> None:
        """Check every checksum and every invariant. Raise FormatError at the first that does not hold."""
        from hi2.reports.verify import verify

        verify(self._index.state, self._index.stored)

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
        lexical: float | None = None,
        profile: str | None = None,
        filter: Any = None,
        filters: Sequence[Any] | None = None,
        min_score: float | None = None,
        offset: int = 0,
        group_by: str | None = None,
        rerank: Any = None,
        rerank_depth: int | None = None,
        syntax: bool = False,
        threads: int | None = None,
    ) -> Hits:
        """Return the ``k`` best documents of one query, (dim,) with a string, or of a batch, (n, dim) with n strings.

        Where the index has an encoder, a string or a list of strings is enough. Without one, and for vectors that are
        None, words alone rank: BM25 over all documents that have one of them.

        The query opens ``clusters`` clusters and up to ``terms`` terms; 0 skips a side, None takes the default. Only
        the ``per_doc`` best terms of every document count, as if the index had been built with that value (γ and
        budgets apart). The refine store, if there is one, rescores the best ``refine`` times k hits; 0 skips it.
        ``threads`` share a batch.

        With ``adaptive`` every query weighs its lists. A document is scored if its chance to be among the best is at
        least this value; the chance follows from how near its cluster is and how rare its query term is. A query may
        then open terms alone, clusters alone, or both, each list down to some cluster. ``budget`` limits how many
        documents are scored, to those with the best chances. With either, ``clusters`` limits how many clusters are
        opened whole; all by default. ``tune`` fits the chances to a collection. ``profile`` is the name of
        a setting that ``tune`` found; arguments given with it take precedence.

        Vectors and words rank together where documents have bags and the query has text. The score is the dense score
        plus ``lexical`` · w · BM25 of its words in the document. w is known of the query and the model: the spread of
        dense scores, more where the query is far from all documents, less where its words are common
        (docs/hybrid.md has the formula). ``hits.dense`` and ``hits.lexical`` are the dense score and BM25. ``lexical``
        is 0.3 by default, and 0 ranks by vectors alone. A score depends on query, model and document only. The words
        of the best 112 candidates are read, or of an eighth more than hits are wanted, and all of them are scored by
        the refine store unless ``refine`` is 0. Where words rank, half of the default clusters are opened.
        With ``syntax`` a word that begins with + is required and one that begins with - is excluded.

        A search that finds fewer than k documents of an index that has more opens further clusters until it has them,
        unless ``clusters``, ``terms``, ``per_doc``, ``budget``, ``adaptive`` or ``profile`` is given, or the query is
        text alone.

        ``filter`` is a text such as ``"year >= 2020 and lang in ('en', 'de')"``, the same as an expression of
        ``hi2.column``, a boolean mask in the order of ``ids()``, or a list of ids. ``filters`` has one filter per query
        of a batch. A search with a filter always finds min(k, passing) hits. If few documents pass, all of them are
        scored. Otherwise the fewer pass, the more clusters are opened, until k are found. ``hits.complete`` says
        whether all documents that pass were scored.

        ``offset`` skips the first hits. Where words rank, a page beyond the first hundred hits looks at more candidates
        than the page before it, and may repeat a hit or leave one out: ask for all of them at once. ``min_score`` drops
        hits that score less. ``group_by``, a payload column, returns the best hit of each of k groups. ``rerank``, a
        callable from a query and texts to scores or a cross-encoder, scores the best ``rerank_depth`` hits again (100,
        or offset + k if that is more) and drops the others; the index must store texts.
        """
        return search(
            self._index.current(),
            vectors,
            texts,
            encoder=self._index.encoder,
            search_counts=self._index.search_counts,
            k=k,
            effort={
                "clusters": clusters,
                "terms": terms,
                "per_doc": per_doc,
                "refine": refine,
                "budget": budget,
                "adaptive": adaptive,
                "lexical": lexical,
            },
            profile=profile,
            filter=filter,
            filters=filters,
            min_score=min_score,
            offset=offset,
            group_by=group_by,
            rerank=rerank,
            rerank_depth=rerank_depth,
            syntax=syntax,
            threads=threads,
        )

    asearch = _in_a_thread(
        search,
        """Search as ``search`` does, in a thread of its own, so that the event loop goes on.

        A task that is cancelled ends at once; the search it began goes on in its thread and its hits are dropped.
        """,
    )

    def explain(
        self,
        vector: Any,
        text: str | None = None,
        *,
        id: Id,
        against: Id | None = None,
        k: int = 10,
        clusters: int | None = None,
        terms: int | None = None,
        per_doc: int | None = None,
        refine: int | None = None,
        budget: int | None = None,
        adaptive: float | None = None,
        lexical: float | None = None,
        syntax: bool = False,
    ) -> Explanation:
        """Return why a document is, or is not, among the ``k`` best of a query; ``str`` says it in words.

        The score is shown word by word. ``against`` is another document: the explanation then says what puts one of
        them ahead of the other. The other arguments are those of the search.
        """
        return explain_one(
            self._index.current(),
            vector,
            text,
            encoder=self._index.encoder,
            id=id,
            against=against,
            k=k,
            syntax=syntax,
            effort={
                "clusters": clusters,
                "terms": terms,
                "per_doc": per_doc,
                "refine": refine,
                "budget": budget,
                "adaptive": adaptive,
                "lexical": lexical,
            },
        )

    def tune(
        self,
        queries: Any,
        texts: Sequence[str] | None = None,
        *,
        relevant: Sequence[Sequence[Id] | Mapping[Id, float]] | None = None,
        target: float | None = None,
        latency: float | None = None,
        budget: int | None = None,
        k: int = 100,
        name: str | None = None,
        threads: int | None = None,
        progress: AnyProgress = None,
    ) -> Tuned:
        """Find the best settings for a sample of queries, and add them to the index as named profiles.

        ``queries`` are vectors, with ``texts``, or texts alone where the index has an encoder. Recall is agreement with
        brute force over the finest store by vectors alone; with ``relevant`` it is the share of brute force's recall.
        ``relevant`` has the ids of each query's relevant documents, or a mapping from ids to grades. It also teaches
        how much words count, if there are texts and the documents have bags: ``lexical``, chosen by nDCG@10. A few
        dozen queries are enough; the default stays unless another weight is better by some standard error.
        ``tuned.lexical`` says what it gains. Without labels the profiles rank by vectors alone (``lexical=0``).

        With a ``target`` (0.95) the cheapest setting that reaches it becomes the profile ``name``. With a ``latency``
        in milliseconds or a ``budget`` of documents it is the best setting within the limit. With none of them three
        profiles are made: fast (0.90), balanced (0.95) and exact (0.99). Nothing is rebuilt. On disk a profile becomes
        durable with the next commit.
        """
        from hi2.tuning.targets import tune

        return tune(
            self._index.changeable_state(),
            queries,
            texts,
            encoder=self._index.encoder,
            relevant=relevant,
            target=target,
            latency=latency,
            budget=budget,
            k=k,
            name=name,
            threads=threads,
            progress=progress,
            keep=partial(add_profiles, self._index),
        )

    def add_profile(self, name: str, profile: Profile) -> None:
        """Add a profile that was tuned elsewhere for this very model. A profile of another model is refused."""
        add_profile(self._index, name, profile)

    # -- changing it --------------------------------------------------------------------------------------------------

    def add(
        self,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        *,
        ids: Any = None,
        term_weights: Any = None,
        payload: Any = None,
        keep_text: bool | None = None,
        threads: int | None = None,
        progress: AnyProgress = None,
    ) -> None:
        """File further documents with the parts as they were fitted. An id that exists is refused.

        Searches that begin after this returns see them. ``keep_text=None`` stores text if the index does. Documents
        whose vector is None, and texts alone where the index has no encoder, are found by their words alone.
        """
        new = NewDocuments(vectors, texts, ids, term_weights, payload, keep_text)
        add(self._index, new, threads=threads, progress=progress)

    def upsert(
        self,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        *,
        ids: Any,
        term_weights: Any = None,
        payload: Any = None,
        keep_text: bool | None = None,
        threads: int | None = None,
        progress: AnyProgress = None,
    ) -> None:
        """File documents, replacing those whose ids exist, payload and text included, in one change."""
        new = NewDocuments(vectors, texts, ids, term_weights, payload, keep_text)
        upsert(self._index, new, threads=threads, progress=progress)

    def update(self, ids: Id | Sequence[Id], *, payload: Any) -> None:
        """Change the payload of documents; their vectors, texts and words stay.

        ``payload`` has one mapping per id, or is one mapping for one id. Its keys replace those of the document, and
        other keys stay; None makes a value null. An updated document is the last to have arrived.
        """
        update(self._index, ids, payload)

    def delete(self, ids: Id | Sequence[Id] | None = None, *, filter: Any = None, missing_ok: bool = False) -> int:
        """Delete documents, by id or all that pass a ``filter``, and return how many.

        An unknown id is refused, or skipped with ``missing_ok``.
        """
        return delete(self._index, ids, filter=filter, missing_ok=missing_ok)

    def merge(self, *, progress: AnyProgress = None) -> None:
        """Merge all segments into one and drop deleted documents. On disk it takes effect with the next commit."""
        merge(self._index, progress=progress)

    def commit(self, *, progress: AnyProgress = None) -> None:
        """Make every change since the last commit durable at once. Readers opened before keep what they saw."""
        commit(self._index, progress=progress)

    def refit(
        self,
        parts: Parts | str | Path | None = None,
        *,
        terms: BM25 | None = None,
        bags: bool = True,
        vectors: Any = None,
        texts: Iterable[str] | None = None,
        threads: int | None = None,
        progress: AnyProgress = None,
    ) -> HybridIndex:
        """Fit clusters, codec and the statistics of terms again to what the index stores, and return it.

        Without arguments this happens in place: other changes wait, searches go on, and the next commit makes it
        durable. Trained parts are not touched, and profiles are dropped. It needs texts that are kept and vectors that
        the codec gives back.

        With arguments another index is returned, in memory, and this one stays as it is. With ``texts`` or ``terms``,
        another ``BM25``, terms are fitted again and clusters and codes stay; documents of an index without bags get
        them. ``parts`` are trained parts, or the folder that holds them.

        Texts that the index does not store must be given, in the order of ``ids``. So must vectors where trained parts
        encode documents again. Documents stay, profiles do not.
        """
        return HybridIndex(
            refit(
                self._index,
                parts,
                terms=terms,
                bags=bags,
                vectors=vectors,
                texts=texts,
                threads=threads,
                progress=progress,
            )
        )
