"""How does a program ask a server? As it asks an index: ``hi2.Client(url).search`` has the arguments of an index.

Requests that a busy server refuses, and those that meet a connection that is gone, are sent again after a pause that
doubles. They can be repeated: a search changes nothing, and a document that is stored twice is stored once. A document
that was deleted by an attempt whose answer was lost is missing for the next.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from hi2.errors import Error, InvalidParameter, MissingExtra, described, invalid
from hi2.types import Hits, Id

_PREFIX = "/v1/collections/"
#: Answers after which a request is sent again: the server is busy, or about to stop.
_AGAIN = frozenset({429, 502, 503, 504})
#: The first pause, and the longest, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Client:
    """A collection of a server (``hi2 serve``).

    ``url`` is the address of the server, with ``collection`` if it has several, or that of a collection
    (``http://127.0.0.1:8000/v1/collections/wiki``). ``timeout`` is in seconds, per attempt. A request is sent up to
    ``retries`` times more. A client may be used by any number of threads.
    """

    def __init__(
        self,
        url: str,
        collection: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 5,
    ) -> None:
        parts = urlsplit(url) if isinstance(url, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
            raise invalid("url", "an address such as 'http://127.0.0.1:8000'", described(url))
        server, _, named = url.partition(_PREFIX)
        if named and collection is not None:
            raise invalid("collection", "left out where the url has one", described(collection))
        self._httpx = _httpx()
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._options: dict[str, Any] = {"base_url": server.rstrip("/"), "timeout": timeout, "headers": headers}
        self._http = self._httpx.Client(**self._options)
        #: Connections that are kept between searches of an event loop, inside ``async with``.
        self._kept: Any = None
        self._retries = retries
        try:
            self.collection = named.strip("/") or collection or self._only_collection()
        except BaseException:
            self.close()
            raise

    def _only_collection(self) -> str:
        found = [own["name"] for own in self._send("GET", "/v1/collections")["collections"]]
        if len(found) != 1:
            raise invalid("collection", f"one of {', '.join(found) or 'none: the server has no collections'}", None)
        return str(found[0])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        self._kept = self._httpx.AsyncClient(**self._options)
        return self

    async def __aexit__(self, *_: object) -> None:
        kept, self._kept = self._kept, None
        await kept.aclose()
        self.close()

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
        filter: str | None = None,
        filters: Sequence[str | None] | None = None,
        min_score: float | None = None,
        offset: int = 0,
        group_by: str | None = None,
        syntax: bool = False,
    ) -> Hits:
        """Return the ``k`` best documents of one query or of a batch, as ``HybridIndex.search`` does.

        A filter is given as text, and there is no ``rerank``; the server has its own ``threads``. Hits bring their
        texts and payloads along.
        """
        asked = _Asked.of(vectors, texts, filter, filters, k, offset)
        options: dict[str, Any] = {
            "clusters": clusters,
            "terms": terms,
            "per_doc": per_doc,
            "refine": refine,
            "budget": budget,
        }
        options |= {"adaptive": adaptive, "lexical": lexical, "profile": profile, "min_score": min_score}
        body = asked.body({**options, "group_by": group_by, "syntax": syntax or None})
        return asked.hits(self._send("POST", self._path("/search"), body), self, body)

    async def asearch(
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
        filter: str | None = None,
        filters: Sequence[str | None] | None = None,
        min_score: float | None = None,
        offset: int = 0,
        group_by: str | None = None,
        syntax: bool = False,
    ) -> Hits:
        """Search as ``search`` does, without blocking the event loop; a task that is cancelled ends at once.

        Inside ``async with client`` connections are kept; otherwise each search opens one.
        """
        asked = _Asked.of(vectors, texts, filter, filters, k, offset)
        options: dict[str, Any] = {
            "clusters": clusters,
            "terms": terms,
            "per_doc": per_doc,
            "refine": refine,
            "budget": budget,
        }
        options |= {"adaptive": adaptive, "lexical": lexical, "profile": profile, "min_score": min_score}
        body = asked.body({**options, "group_by": group_by, "syntax": syntax or None})
        return asked.hits(await self._asend("POST", self._path("/search"), body), self, body)

    def explain(self, vector: Any, text: str | None = None, *, id: Id, **options: Any) -> RemoteExplanation:
        """Return why a document is, or is not, among the best of a query; options are those of the index."""
        one = _Asked.of(vector, text, None, None, int(options.get("k", 10)), 0)
        if not one.single:
            raise invalid("vector", "one query", "a batch")
        body = {**one.queries[0], **({"words": True} if one.words else {}), "id": id, **options}
        found = self._send("POST", self._path("/explain"), body)
        return RemoteExplanation(found["text"], found["explanation"])

    # -- documents ----------------------------------------------------------------------------------------------------

    def get(self, id: Id, default: Any = ...) -> dict[str, Any]:
        """Return what is stored of a document: ``id``, ``text`` and ``payload``; the default if there is none."""
        try:
            found: dict[str, Any] = self._send("GET", self._path("/documents/", id))
        except MissingDocument:
            if default is ...:
                raise
            return default  # type: ignore[no-any-return]
        return found

    def upsert(
        self,
        vectors: Any = None,
        texts: Sequence[str | None] | None = None,
        *,
        ids: Sequence[Id],
        payload: Sequence[Mapping[str, Any]] | None = None,
        wait: bool = True,
    ) -> int:
        """Store documents, replacing those whose ids exist, and return how many. With ``wait`` they are durable then.

        Documents are sent in one request, however many there are; the server writes them in batches.
        """
        n = len(ids)
        given = [None] * n if vectors is None else [None if own is None else _floats(own) for own in vectors]
        columns = (ids, given, [None] * n if texts is None else texts, [{}] * n if payload is None else payload)
        if len({len(own) for own in columns}) > 1:
            raise invalid("ids", "as many as vectors, texts and payload", [len(own) for own in columns])
        rows = (
            {"id": id, "vector": vector, "text": text, "payload": dict(own)}
            for id, vector, text, own in zip(*columns, strict=True)
        )
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        answer = self._send("POST", self._path("/documents/bulk") + _waits(wait), lines)
        if answer["n_refused"]:
            raise InvalidParameter(f"{answer['n_refused']} documents were refused, such as {answer['refused'][0]}")
        return int(answer["n"])

    def update(self, id: Id, *, payload: Mapping[str, Any], wait: bool = True) -> None:
        """Change keys of a document's payload; the others stay."""
        self._send("PATCH", self._path("/documents/", id) + _waits(wait), {"payload": dict(payload)})

    def delete(self, id: Id | None = None, *, filter: str | None = None, wait: bool = True) -> int:
        """Delete a document, or all that pass a filter, and return how many."""
        if (id is None) == (filter is None):
            raise InvalidParameter("Either the 'id' or the 'filter' parameter must be given.")
        path = self._path("/documents") if filter is not None else self._path("/documents/", str(id))
        query = _waits(wait) + ("" if filter is None else f"&filter={quote(filter, safe='')}")
        return int(self._send("DELETE", path + query)["n"])

    def facet(self, name: str, *, filter: str | None = None, limit: int = 100) -> dict[Any, int]:
        """Return the values of a payload column with the number of documents that have each."""
        query = f"?limit={limit}" + ("" if filter is None else f"&filter={quote(filter, safe='')}")
        return dict(self._send("GET", self._path("/facets/", name) + query)["values"])

    def info(self) -> dict[str, Any]:
        """Return counts, bytes by part, drift and health of the collection."""
        found: dict[str, Any] = self._send("GET", self._path("/info"))
        return found

    # -- sending ------------------------------------------------------------------------------------------------------

    def _path(self, rest: str, part: object = "") -> str:
        return f"{_PREFIX}{quote(self.collection, safe='')}{rest}{quote(str(part), safe='')}"

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        for attempt in range(self._retries + 1):
            try:
                answer = self._http.request(method, path, **_content(body))
            except self._httpx.TransportError as error:
                pause = self._pause(attempt, None, error)
            else:
                if answer.status_code not in _AGAIN or attempt == self._retries:
                    return _read(answer)
                pause = self._pause(attempt, answer.headers.get("retry-after"), None)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _asend(self, method: str, path: str, body: Any = None) -> Any:
        if self._kept is None:
            async with self._httpx.AsyncClient(**self._options) as http:
                return await self._asend_with(http, method, path, body)
        return await self._asend_with(self._kept, method, path, body)

    async def _asend_with(self, http: Any, method: str, path: str, body: Any) -> Any:
        for attempt in range(self._retries + 1):
            try:
                answer = await http.request(method, path, **_content(body))
            except self._httpx.TransportError as error:
                pause = self._pause(attempt, None, error)
            else:
                if answer.status_code not in _AGAIN or attempt == self._retries:
                    return _read(answer)
                pause = self._pause(attempt, answer.headers.get("retry-after"), None)
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _pause(self, attempt: int, asked: str | None, error: Exception | None) -> float:
        """Seconds until the next attempt: what the server asks for, or twice the last, and some by chance."""
        if error is not None and attempt == self._retries:
            server = self._options["base_url"]
            raise Error(f"{server} does not answer: {error}. Start it with hi2 serve, or look at the url.") from error
        own = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
        least = min(float(asked), _LONGEST_PAUSE) if asked is not None and asked.isdigit() else 0.0
        return float(max(own, least) * random.uniform(0.75, 1.25))


class MissingDocument(Error, KeyError):
    """A server has no such document or collection."""

    __str__ = Exception.__str__  # that of a KeyError is a repr


@dataclass(frozen=True)
class RemoteExplanation:
    """What a server says of a document and a query: in words, and as data."""

    text: str
    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.data

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Asked:
    """Queries as they are sent."""

    queries: list[dict[str, Any]]
    single: bool
    words: bool
    k: int
    offset: int

    @classmethod
    def of(cls, vectors: Any, texts: Any, filter: Any, filters: Any, k: int, offset: int) -> _Asked:
        if filter is not None and not isinstance(filter, str):
            raise invalid("filter", "a text: a server reads no other filters", described(filter))
        if filter is not None and filters is not None:
            raise invalid("filters", "left out where filter is given", "both")
        words = vectors is None
        if isinstance(vectors, str) or (isinstance(vectors, (list, tuple)) and vectors and isinstance(vectors[0], str)):
            if texts is not None:
                raise invalid("vectors", "vectors where texts are given too", "text")
            vectors, texts = None, vectors
        single = isinstance(texts, str) or (texts is None and np.ndim(vectors) == 1) or np.ndim(vectors) == 1
        rows = None if vectors is None else [_floats(own) for own in ([vectors] if single else vectors)]
        said = None if texts is None else [texts] if single else list(texts)
        n = len(rows) if rows is not None else len(said or ())
        own = [filter] * n if filters is None else list(filters)
        if n == 0 or len(own) != n or (said is not None and len(said) != n):
            raise invalid("texts", "one per query, and so are filters", [n, len(said or ()), len(own)])
        queries = [
            {
                **({} if said is None or said[i] is None else {"text": said[i]}),
                **({} if rows is None else {"vector": rows[i]}),
                **({} if own[i] is None else {"filter": own[i]}),
            }
            for i in range(n)
        ]
        return cls(queries, single, words, k, offset)

    def body(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request."""
        given = {name: value for name, value in options.items() if value is not None}
        given |= {
            "k": self.k,
            **({"offset": self.offset} if self.offset else {}),
            **({"words": True} if self.words else {}),
        }
        return {**self.queries[0], **given} if self.single else {"queries": self.queries, **given}

    def hits(self, answer: Any, client: Client, body: dict[str, Any]) -> Hits:
        """Return what was found as hits."""
        results = [answer] if self.single else answer["results"]
        rows = [found["hits"] for found in results]
        source = _RemoteDocuments(rows, client, self, body)
        counts, n_scored = [len(own) for own in rows], [found["n_scored"] for found in results]
        if self.single:
            made = _arrays(rows, counts[0])
            return Hits(*(made[0][0], made[1][0], n_scored[0], counts[0]), **_parts(made, 0), source=source)
        made = _arrays(rows, self.k)
        return Hits(
            made[0], made[1], np.array(n_scored), np.array(counts), np.zeros(len(rows)), **_parts(made), source=source
        )


def _arrays(rows: Sequence[Sequence[Mapping[str, Any]]], width: int) -> tuple[Any, ...]:
    """Ids, scores, both parts and groups as (n, width) arrays; None for parts that no hit has."""
    texts = any(isinstance(hit["id"], str) for own in rows for hit in own)
    ids = np.full((len(rows), width), *((None, object) if texts else (-1, np.int64)))
    numbers = {name: np.full((len(rows), width), fill, np.float32) for name, fill in _FILLS.items()}
    groups = np.full((len(rows), width), None, object)
    for i, own in enumerate(rows):
        for j, hit in enumerate(own):
            ids[i, j], groups[i, j] = hit["id"], hit.get("group")
            for name, array in numbers.items():
                array[i, j] = hit[name] if hit.get(name) is not None else _FILLS[name]
    hits = [hit for own in rows for hit in own]
    dense, lexical = (any(hit.get(name) is not None for hit in hits) for name in ("dense", "lexical"))
    words = None if not lexical else numbers["lexical" if dense else "score"]  # the score where words alone rank
    by_group = groups if any("group" in hit for hit in hits) else None
    return ids, numbers["score"], numbers["dense"] if dense else None, words, by_group


_FILLS = {"score": -np.inf, "dense": -np.inf, "lexical": 0.0}


def _parts(made: Sequence[Any], row: int | slice = slice(None)) -> dict[str, Any]:
    names = zip(("dense", "lexical", "groups"), made[2:], strict=True)
    return {name: None if own is None else own[row] for name, own in names}


class _RemoteDocuments:
    """Reads hits that came over the network: texts and payloads came with them, snippets are asked for."""

    def __init__(self, rows: Sequence[Any], client: Client, asked: _Asked, body: dict[str, Any]) -> None:
        self._found = {hit["id"]: hit for own in rows for hit in own}
        self._client, self._asked, self._body = client, asked, body
        self._snippets: dict[int, dict[Id, str]] = {}

    def documents(self, ids: Sequence[Id]) -> list[dict[str, Any]]:
        """Return what the server stores of some documents."""
        return [{key: self._found[id].get(key) for key in ("id", "text", "payload")} for id in ids]

    def snippet(self, query: int, id: Id, text: str) -> str:
        """Return the best passage of a document; the first time, the query is asked once more."""
        if query not in self._snippets:
            shared = {
                key: value for key, value in self._body.items() if key not in ("queries", "text", "vector", "filter")
            }
            body = {**shared, **self._asked.queries[query], "include": ["snippet"]}
            found = self._client._send("POST", self._client._path("/search"), body)["hits"]
            self._snippets[query] = {hit["id"]: hit["snippet"] for hit in found}
        return self._snippets[query].get(id, text)

    def explain(self, query: int, id: Id) -> RemoteExplanation:
        """Return why a document was found."""
        own = self._asked.queries[query]
        names = ("clusters", "terms", "per_doc", "refine", "budget", "adaptive", "lexical", "syntax", "k", "words")
        body: dict[str, Any] = {key: own[key] for key in ("text", "vector") if key in own}
        body |= {key: self._body[key] for key in names if key in self._body} | {"id": id}
        found = self._client._send("POST", self._client._path("/explain"), body)
        return RemoteExplanation(found["text"], found["explanation"])


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("A client needs an extra; install it with: pip install 'hi2[server]'") from error
    return httpx


def _floats(vector: Any) -> list[float]:
    return [float(own) for own in np.asarray(vector, np.float32).tolist()]


def _waits(wait: bool) -> str:
    return "?wait=commit" if wait else "?"


def _content(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    if isinstance(body, bytes):
        return {"content": body, "headers": {"content-type": "application/x-ndjson"}}
    return {"content": json.dumps(body).encode(), "headers": {"content-type": "application/json"}}


def _read(answer: Any) -> Any:
    """The answer as data, or the error that it tells."""
    if answer.is_success:
        return answer.json() if answer.content else None
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"The server answered with status {answer.status_code}."
    if answer.status_code in (400, 413, 422):
        raise InvalidParameter(detail)
    if answer.status_code == 404:
        raise MissingDocument(detail)
    raise Error(detail)
