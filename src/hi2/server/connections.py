"""How long may a connection be silent? Clients that are slow, or that send no request, are closed.

Requests are handled as they arrive, so a slow client holds no thread. It holds a socket and memory, and that is what is
bounded here: bytes and seconds until the headers of a request are complete, seconds without a request, an answer that
nobody reads, and the number of connections. One timer per connection looks at all of them.
"""

from __future__ import annotations

import asyncio
from time import monotonic

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Bytes of a request line and its headers.
MOST_HEADER_BYTES = 32 << 10


def bounded_protocol(*, seconds: float, idle: float, connections: int) -> type[HttpToolsProtocol]:
    """Return uvicorn's HTTP protocol with these bounds: ``seconds`` for headers and for progress, ``idle`` between."""

    class BoundedProtocol(HttpToolsProtocol):
        """One connection of a client."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._n_header_bytes = 0
            self._in_body = False
            #: Since when headers are awaited, or the next request; and what the last answer still had to send.
            self._headers_since: float | None = monotonic()
            self._idle_since = monotonic()
            self._unsent = 0
            self._watch = self.loop.call_later(seconds, self._look)
            if len(self.connections) > connections:
                self.connections.discard(self)
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self._watch.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if not self._in_body:
                self._n_header_bytes += len(data)
                self._headers_since = self._headers_since or monotonic()
            super().data_received(data)
            if self._n_header_bytes > MOST_HEADER_BYTES and not self._in_body and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_body = False

        def on_headers_complete(self) -> None:
            self._in_body = True
            self._n_header_bytes = 0
            self._headers_since = None
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._in_body = False

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._idle_since = monotonic()

        def _look(self) -> None:
            """Close the connection if its client does nothing."""
            now, unsent = monotonic(), self.transport.get_write_buffer_size()
            answered = self.cycle is None or self.cycle.response_complete
            late = self._headers_since is not None and now - self._headers_since > 0.9 * seconds
            silent = answered and unsent == 0 and now - self._idle_since > (seconds if self.cycle is None else idle)
            if late or silent or (unsent > 0 and unsent >= self._unsent > 0):  # nobody reads the answer
                self.transport.abort()
                return
            self._unsent = unsent
            self._watch = self.loop.call_later(seconds, self._look)

    return BoundedProtocol
