"""How long may a connection be silent? Clients that are slow, or that send no request, are closed.

Requests are handled as they arrive, so a slow client holds no thread. It holds a socket and memory, and that is what is
bounded here: bytes and seconds until the headers of a request are complete, and the number of connections.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Bytes of a request line and its headers.
MOST_HEADER_BYTES = 32 << 10


def bounded_protocol(*, seconds: float, connections: int) -> type[HttpToolsProtocol]:
    """Return uvicorn's HTTP protocol with these bounds."""

    class BoundedProtocol(HttpToolsProtocol):
        """One connection of a client."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._n_header_bytes = 0
            self._in_body = False
            self._headers_due = self.loop.call_later(seconds, transport.abort)
            if len(self.connections) > connections:
                self.connections.discard(self)
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_due.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._n_header_bytes = 0 if self._in_body else self._n_header_bytes + len(data)
            super().data_received(data)
            if self._n_header_bytes > MOST_HEADER_BYTES and not self._in_body and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_body = False

        def on_headers_complete(self) -> None:
            self._headers_due.cancel()
            self._in_body = True
            self._n_header_bytes = 0
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._headers_due.cancel()
            self._headers_due = self.loop.call_later(seconds, self._close_if_silent)

        def _close_if_silent(self) -> None:
            cycle: Any = self.cycle
            if cycle is None or cycle.response_complete:
                self.transport.abort()

    return BoundedProtocol
