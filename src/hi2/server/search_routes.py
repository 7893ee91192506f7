"""How is a search asked for over HTTP? One query or many, and the explanation of one document."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hi2.server.admission import Admission
from hi2.server.answers import Wanted, to_json
from hi2.server.asgi import App, Receive, Scope, Send
from hi2.server.collection import Collection, Collections
from hi2.server.limits import Limits
from hi2.server.problems import Refused
from hi2.server.schema import Explain, Explained, Found, FoundForEach, Problem, Query, Search
from hi2.server.search_queue import Asked, Options, SearchQueue

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": Found | FoundForEach, "description": "The hits; for several queries, those of each in 'results'."},
    400: {"model": Problem, "description": "An argument is not what it must be."},
    401: {"model": Problem, "description": "A token is needed."},
    404: {"model": Problem, "description": "There is no such collection."},
    408: {"model": Problem, "description": "The request did not arrive in time."},
    413: {"model": Problem, "description": "The request is too large."},
    415: {"model": Problem, "description": "The body is not JSON."},
    422: {"model": Problem, "description": "The request is not of the form it must have."},
    429: {"model": Problem, "description": "The server is busy; Retry-After says when to come again."},
    503: {"model": Problem, "description": "The answer took too long."},
}
#: Arguments of a search that are passed on if they are given.
_PASSED = (
    "profile",
    "lexical",
    "clusters",
    "terms",
    "per_doc",
    "refine",
    "budget",
    "adaptive",
    "min_score",
    "group_by",
)


def search_routes(collections: Collections, searches: SearchQueue, limits: Limits, admission: Admission) -> APIRouter:
    """Return the routes of searches."""
    routes = APIRouter(prefix="/v1/collections/{name}", tags=["search"])

    # Searches are answered by SearchEndpoint before FastAPI sees them; this is the route of the OpenAPI document.
    @routes.post("/search", responses=_ANSWERS, response_model=None, openapi_extra=_search_schema())
    async def search(name: str, request: Request) -> Response:
        """Return the best documents of one query, or of several."""
        return Response(await answer(collections, searches, limits, name, await request.body()), media_type=_JSON)

    @routes.post("/explain", responses={**_ANSWERS, 200: {"model": Explained}}, response_model=None)
    async def explain(name: str, given: Explain) -> Response:
        """Return why a document is, or is not, among the best of a query."""
        collection = collections.get(name)
        _check_query(given, limits)
        _check_k(given.k, 0, limits)
        if given.filter is not None:
            raise Refused(400, "An explanation takes no filter; a search with 'explain' does.")
        with admission.search():
            found = await asyncio.get_running_loop().run_in_executor(None, _explained, collection, given)
        return Response(to_json(found), media_type=_JSON)

    return routes


async def answer(collections: Collections, searches: SearchQueue, limits: Limits, name: str, body: bytes) -> bytes:
    """Return the answer to a search. The body is read here: FastAPI takes five times as long for a vector."""
    collection = collections.get(name)
    given = Search.model_validate_json(body)
    queries = _queries(given, limits)
    if not given.words and any(query.vector is None for query in queries):
        collection.check_takes_text()
    found = await searches.search(collection.searcher, queries, _options(given))
    return found[0] if given.queries is None else b'{"results":[' + b",".join(found) + b"]}"


class SearchEndpoint:
    """Answers searches as ASGI, and leaves all else to an application.

    FastAPI and Starlette pass a request through some twenty calls, which takes longer than the search itself: with them
    the server answered 1,190 searches per second, without them 1,720 (hotpotqa, 16 connections, two and three runs).
    """

    def __init__(
        self, app: App, collections: Collections, searches: SearchQueue, limits: Limits, admission: Admission
    ) -> None:
        self._app, self._answering, self._admission = app, (collections, searches, limits), admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = _SEARCH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if path is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = _ROUTE
        asked = await _body(receive)
        with self._admission.search():
            body = await answer(*self._answering, path[1], asked)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True)
class _Route:
    """What the metrics of a request are filed under."""

    path: str


_JSON = "application/json"
_SEARCH = re.compile(r"/v1/collections/([^/]+)/search")
_ROUTE = _Route("/v1/collections/{name}/search")


async def _body(receive: Receive) -> bytes:
    message = await receive()
    parts = [message.get("body", b"")]
    while message.get("more_body", False):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)


def _search_schema() -> dict[str, Any]:
    """The OpenAPI description of a search's body, whole, because FastAPI does not read it."""
    schema = Search.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["properties"]["queries"]["anyOf"][0]["items"] = schema.pop("$defs")["Query"]
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _queries(given: Search, limits: Limits) -> list[Asked]:
    """Return the queries of a request; refuse what is beyond the limits."""
    _check_k(given.k, given.offset, limits)
    n_hits = (given.k + given.offset) * len(given.queries or [1])
    if n_hits > (limits.explained if given.explain else limits.hits):
        most = f"{limits.hits} hits, or {limits.explained} that are explained"
        raise Refused(400, f"A request has at most {most}. This one asks for {n_hits}.")
    if given.queries is None:
        _check_query(given, limits)
        return [Asked(given.text, given.vector, given.filter)]
    if given.text is not None or given.vector is not None:
        raise Refused(400, "Give one query by 'text' and 'vector', or several in 'queries', not both.")
    if len(given.queries) > limits.batch:
        raise Refused(400, f"A request has at most {limits.batch} queries. This one has {len(given.queries)}.")
    for query in given.queries:
        _check_query(query, limits)
    _check_filter(given.filter, limits)
    own = (given.filter if query.filter is None else query.filter for query in given.queries)
    return [Asked(query.text, query.vector, filter) for query, filter in zip(given.queries, own, strict=True)]


def _check_k(k: int, offset: int, limits: Limits) -> None:
    if k + offset > limits.k:
        raise Refused(400, f"'k' and 'offset' are at most {limits.k} together. They are {k} and {offset}.")


def _check_query(query: Query, limits: Limits) -> None:
    if query.vector is None and (query.text is None or not query.text.strip()):
        raise Refused(400, "A query needs 'text' with words, 'vector', or both.")
    _check_filter(query.filter, limits)


def _check_filter(filter: str | None, limits: Limits) -> None:
    if filter is not None and len(filter) > limits.filter:
        raise Refused(400, f"A filter has at most {limits.filter} characters. This one has {len(filter)}.")


def _options(given: Search) -> Options:
    passed = [(name, value) for name in _PASSED if (value := getattr(given, name)) is not None]
    passed += [("offset", given.offset)] if given.offset else []
    passed += [("syntax", True)] if given.syntax else []
    include = given.include
    wanted = Wanted("text" in include, "payload" in include, "snippet" in include, given.explain)
    return Options(given.k, given.words, wanted, tuple(passed))


def _explained(collection: Collection, given: Explain) -> dict[str, Any]:
    vector: Any = given.vector
    text_alone = vector is None and not given.words
    if text_alone:
        collection.check_takes_text()
    found = collection.index.explain(
        given.text if text_alone else vector,
        None if text_alone else given.text,
        id=given.id,
        against=given.against,
        k=given.k,
        clusters=given.clusters,
        terms=given.terms,
        per_doc=given.per_doc,
        refine=given.refine,
        budget=given.budget,
        adaptive=given.adaptive,
        lexical=given.lexical,
        syntax=given.syntax,
    )
    return {"text": str(found), "explanation": found.to_dict()}
