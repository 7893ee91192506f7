"""Which application answers? FastAPI with the routes of collections, documents, searches and operation, guarded."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hi2.errors import Error
from hi2.server.admission import Admission, Overloaded
from hi2.server.asgi import App
from hi2.server.collection import Collections
from hi2.server.collection_routes import collection_routes
from hi2.server.document_routes import document_routes
from hi2.server.guard import Guard
from hi2.server.limits import Limits
from hi2.server.metrics import Metrics
from hi2.server.operation_routes import operation_routes
from hi2.server.page import page_routes
from hi2.server.problems import Refused, refusal
from hi2.server.search_queue import SearchQueue
from hi2.server.search_routes import SearchEndpoint, search_routes
from hi2.server.tokens import Tokens
from hi2.version import __version__

#: Names of the machine itself: no other is taken on a loopback address, so that no page of another host gets in by DNS.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Service:
    """What a server serves, and how."""

    indexes: tuple[Path, ...] = ()
    folder: Path | None = None
    tokens: Tokens | None = None
    limits: Limits = field(default_factory=Limits)
    #: Encoders by the names that new collections may give.
    encoders: Mapping[str, Any] = field(default_factory=dict)
    trust_encoder: bool = False
    read_only: bool = False
    #: The names under which the server may be addressed; None for any.
    hosts: frozenset[str] | None = LOOPBACK
    #: Origins of pages that may call the server from a browser.
    origins: tuple[str, ...] = ()
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)


def make_app(service: Service) -> App:
    """Return the ASGI application of a service. Its indexes are open when this returns."""
    metrics = Metrics()
    collections = Collections(
        list(service.indexes),
        limits=service.limits,
        folder=service.folder,
        encoders=service.encoders,
        trust_encoder=service.trust_encoder,
        writable=not service.read_only,
    )
    searches = SearchQueue(service.threads, observe=metrics.searched)
    admission = Admission(service.limits.searches)
    metrics.watch(collections, searches)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await collections.close()
        searches.close()

    app = FastAPI(
        title="hi2",
        version=__version__,
        description="Search by meaning and words in one pass.",
        docs_url=None,  # these pages load scripts from another host
        redoc_url=None,
        lifespan=lifespan,
    )
    app.include_router(collection_routes(collections))
    app.include_router(search_routes(collections, searches, service.limits, admission))
    app.include_router(document_routes(collections, service.limits))
    app.include_router(operation_routes(metrics))
    app.include_router(page_routes(service.tokens))
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_problem)
    for kind in (Refused, Overloaded, Error, ValidationError, OSError):  # others are answered by the guard
        app.add_exception_handler(kind, _refused)
    guarded = Guard(
        SearchEndpoint(app, collections, searches, service.limits, admission),
        limits=service.limits,
        metrics=metrics,
        tokens=service.tokens,
        hosts=service.hosts,
        admission=admission,
    )
    if not service.origins:
        return guarded
    allowed = {"allow_methods": ["*"], "allow_headers": ["authorization", "content-type"]}
    return CORSMiddleware(guarded, allow_origins=list(service.origins), **allowed)  # type: ignore[arg-type]


async def _invalid_request(_: Request, error: Exception) -> Response:
    said = "; ".join(
        f"{'.'.join(str(part) for part in own['loc'])}: {own['msg']}"
        for own in error.errors()[:5]  # type: ignore[attr-defined]
    )
    return await _refused(_, Refused(422, said))


async def _http_problem(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    headers = dict(getattr(error, "headers", None) or {})
    return await _refused(_, Refused(status, str(getattr(error, "detail", "")), headers))


async def _refused(_: Request, error: Exception) -> Response:
    own = refusal(error)
    if own.status == 500:  # the guard answers it
        raise error
    return Response(own.body(), own.status, own.headers, "application/json")
