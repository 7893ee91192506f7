"""How is the server watched? Whether it lives, whether it is ready, and what it has counted."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from hi2.server.metrics import CONTENT_TYPE, Metrics


def operation_routes(metrics: Metrics) -> APIRouter:
    """Return the routes of operation."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/health")
    async def health() -> dict[str, str]:
        """Answer while the process lives. No token is needed."""
        return {"status": "ok"}

    @routes.get("/ready")
    async def ready() -> dict[str, str]:
        """Answer when the indexes are open: the server listens only then."""
        return {"status": "ready"}

    @routes.get("/metrics", response_model=None, responses={200: {"content": {"text/plain": {}}}})
    async def numbers() -> Response:
        """Return the counts of this server for Prometheus."""
        found = await asyncio.get_running_loop().run_in_executor(None, metrics.render)  # it looks into the indexes
        return Response(found, media_type=CONTENT_TYPE)

    return routes
