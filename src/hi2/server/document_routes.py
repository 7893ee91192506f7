"""How do documents come in and out? One at a time, some together, or as a stream of lines."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from hi2.index import HybridIndex
from hi2.server.answers import to_json
from hi2.server.bulk import write_stream
from hi2.server.change_queue import Apply
from hi2.server.collection import Collection, Collections
from hi2.server.collection_routes import PROBLEMS, Name, in_thread, may_write
from hi2.server.document_changes import upsert
from hi2.server.guard import BULK
from hi2.server.limits import Limits
from hi2.server.problems import Refused
from hi2.server.schema import BulkAnswer, Changed, Content, Document, Documents, NewPayload, Stored, Wait
from hi2.types import Id

_WAIT = Query(description="'commit' answers when the change is durable: it outlives a crash, and searches see it.")
Durable = Annotated[Wait | None, _WAIT]
_CHANGED: dict[int | str, dict[str, Any]] = {
    200: {"model": Changed, "description": "The change is durable."},
    202: {"model": Changed, "description": "The change is applied; nothing is promised after a crash."},
}


_BULK: dict[int | str, dict[str, Any]] = {
    status: {"model": BulkAnswer, "description": own["description"]} for status, own in _CHANGED.items()
}


def document_routes(collections: Collections, limits: Limits) -> APIRouter:
    """Return the routes of documents."""
    routes = APIRouter(prefix="/v1/collections/{name}/documents", tags=["documents"], responses=PROBLEMS)
    options: dict[str, Any] = {"responses": _CHANGED, "response_model": None, "dependencies": [Depends(may_write)]}

    @routes.get("/{id:path}", response_model=None, responses={200: {"model": Stored}})
    async def get(name: Name, id: str) -> Response:
        """Return what is stored of a document."""
        collection = collections.get(name)
        found = await in_thread(_get, collection, id)
        return Response(to_json(found), media_type="application/json")

    @routes.post("", **options)
    async def put_many(name: Name, given: Documents, wait: Durable = None) -> Response:
        """Store documents. Those whose ids exist are replaced as a whole."""
        if len(given.documents) > limits.batch:
            raise Refused(400, f"A request has at most {limits.batch} documents; send more as {BULK}.")
        return await _change(collections.get(name), upsert(given.documents), wait)

    @routes.post(
        "/bulk", response_model=None, responses=_BULK, dependencies=[Depends(may_write)], openapi_extra=_NDJSON
    )
    async def bulk(name: Name, request: Request, wait: Durable = None) -> Response:
        """Store documents that come as lines of JSON, however many. Bad lines are refused and counted."""
        collection = _writable(collections.get(name))
        answer = await write_stream(collection.changes, request, limits, durable=wait is not None)
        return Response(to_json(answer), 200 if answer["durable"] else 202, media_type="application/json")

    @routes.put("/{id:path}", **options)
    async def put(name: Name, id: str, given: Content, wait: Durable = None) -> Response:
        """Store one document, in the place of one with the same id."""
        collection = collections.get(name)
        own = Document(id=collection.id_from_path(id), **given.model_dump())
        return await _change(collection, upsert([own]), wait)

    @routes.patch("/{id:path}", **options)
    async def patch(name: Name, id: str, given: NewPayload, wait: Durable = None) -> Response:
        """Change keys of a document's payload; the others stay, and so do its text and its vector."""
        collection = collections.get(name)
        own = collection.id_from_path(id)

        def update(index: HybridIndex) -> int:
            if own not in index:
                raise _missing(id)
            index.update([own], payload=[given.payload])
            return 1

        return await _change(collection, update, wait)

    @routes.delete("/{id:path}", **options)
    async def delete(name: Name, id: str, wait: Durable = None) -> Response:
        """Delete a document."""
        collection = collections.get(name)
        own = collection.id_from_path(id)

        def remove(index: HybridIndex) -> int:
            if own not in index:
                raise _missing(id)
            return index.delete([own])

        return await _change(collection, remove, wait)

    @routes.delete("", **options)
    async def delete_matching(
        name: Name, filter: Annotated[str, Query(min_length=1, max_length=4096)], wait: Durable = None
    ) -> Response:
        """Delete all documents whose payload matches a filter."""
        return await _change(collections.get(name), lambda index: index.delete(filter=filter), wait)

    return routes


_NDJSON: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {BULK: {"schema": {"type": "string", "description": 'Lines such as {"id": "a", "text": "…"}'}}},
    }
}


async def _change(collection: Collection, apply: Apply, wait: str | None) -> Response:
    n = await _writable(collection).changes.change(apply, durable=wait is not None)
    body = to_json({"n": n, "durable": wait is not None})
    return Response(body, 202 if wait is None else 200, media_type="application/json")


def _writable(collection: Collection) -> Collection:
    if not collection.writable:
        raise Refused(403, "This server is read only.")
    return collection


def _get(collection: Collection, text: str) -> dict[str, Any]:
    id: Id = collection.id_from_path(text)
    found = collection.index.get(id, None)
    if found is None:
        raise _missing(text)
    return {"id": id, "text": found.get("text"), "payload": found.get("payload", {})}


def _missing(id: str) -> Refused:
    return Refused(404, f"There is no document '{id[:100]}'.")
