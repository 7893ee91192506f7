"""How does the server run? uvicorn on one socket, until a signal; what is running is finished then."""

from __future__ import annotations

import sys
from collections.abc import Callable

import uvicorn

from hi2.server.app import Service, make_app
from hi2.server.connections import bounded_protocol

#: Seconds until headers must have arrived, and for which an idle connection is kept.
HEADER_SECONDS, IDLE_SECONDS = 10.0, 30
#: Seconds that running requests have when the server is told to stop.
SHUTDOWN_SECONDS = 30
#: Seconds for which Python lets a thread go on while others wait. Threads that search hold the interpreter for
#: microseconds; the default of 5 ms would be most of a request's time.
_SWITCH_SECONDS = 0.0005


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    quiet: bool = False,
    started: Callable[[int], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. ``started`` is called with the port when requests are taken; 0 chooses one."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        make_app(service),
        host=host,
        port=port,
        http=bounded_protocol(seconds=HEADER_SECONDS, idle=IDLE_SECONDS, connections=service.limits.connections),
        ws="none",
        access_log=False,
        proxy_headers=False,
        log_level="warning" if quiet else "info",
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    _Server(config, started).run()


class _Server(uvicorn.Server):
    """uvicorn, which says when it has begun."""

    def __init__(self, config: uvicorn.Config, started: Callable[[int], None] | None) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self._on_start is not None and self.started:
            self._on_start(self.servers[0].sockets[0].getsockname()[1])
