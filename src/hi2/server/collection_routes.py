"""Which collections are there, and what is in them? Listing, making and dropping; info, health and facets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from hi2.server.answers import to_json
from hi2.server.collection import Collections
from hi2.server.problems import Refused
from hi2.server.schema import CollectionInfo, Facet, NewCollection, Problem
from hi2.server.schema import Collections as AllCollections
from hi2.server.tokens import WRITE

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503, 507)
}
Name = Annotated[str, Path(max_length=100, description="The name of the collection.")]
Filter = Annotated[str | None, Query(max_length=4096, description="Such as: year >= 2020")]


def may_write(request: Request) -> None:
    """Refuse a token that may only read."""
    if request.scope["state"]["right"] != WRITE:
        raise Refused(403, "This token may read only.")


async def in_thread(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a call returns that reads the disk or computes, without holding up other requests."""
    return await asyncio.get_running_loop().run_in_executor(None, lambda: call(*arguments, **options))


def collection_routes(collections: Collections) -> APIRouter:
    """Return the routes of collections."""
    routes = APIRouter(prefix="/v1/collections", tags=["collections"], responses=PROBLEMS)

    @routes.get("", response_model=AllCollections)
    async def list_collections() -> Any:
        """Return all collections."""
        return {"collections": [await in_thread(collection.describe) for collection in collections]}

    @routes.put("/{name}", status_code=201, response_model=CollectionInfo, dependencies=[Depends(may_write)])
    async def create(name: Name, given: NewCollection) -> Any:
        """Make an empty collection; it fits itself as it grows."""
        made = await asyncio.shield(collections.create(name, **given.model_dump()))
        return await in_thread(made.describe)

    @routes.delete("/{name}", status_code=204, response_model=None, dependencies=[Depends(may_write)])
    async def drop(name: Name) -> Response:
        """Remove a collection and all its documents."""
        await asyncio.shield(collections.drop(name))  # what has begun is finished, whoever still waits
        return Response(status_code=204)

    @routes.get("/{name}", response_model=CollectionInfo)
    async def describe(name: Name) -> Any:
        """Return a collection in short."""
        return await in_thread(collections.get(name).describe)

    @routes.get("/{name}/info", response_model=None, responses={200: {"content": {"application/json": {}}}})
    async def info(name: Name) -> Response:
        """Return counts, bytes by part, how even the lists are, drift since the fit, and advice."""
        collection = collections.get(name)
        index = collection.index
        found = await in_thread(lambda: {**index.info(), "health": index.health()})
        del found["path"]
        found["parts"]["encoder"] = collection.encoder_name()  # its text may name a folder of this machine
        return Response(to_json(found), media_type=_JSON)

    @routes.get("/{name}/facets/{column:path}", response_model=Facet)
    async def facet(
        name: Name, column: str, filter: Filter = None, limit: Annotated[int, Query(ge=1, le=10_000)] = 100
    ) -> Response:
        """Return the values of a payload column and how many documents have each."""
        index = collections.get(name).index
        found = await in_thread(index.facet, column, filter=filter, limit=limit)
        return Response(to_json({"values": list(found.items())}), media_type=_JSON)

    return routes


_JSON = "application/json"
