"""What happens to every request before and after it is answered? Rights, sizes, time, errors and counting.

It wraps the application as ASGI itself, because it stands before every search and must cost little.
"""

from __future__ import annotations

import asyncio
import logging
import re
from http.cookies import CookieError, SimpleCookie
from time import perf_counter

from hi2.server.admission import Admission, Overloaded
from hi2.server.asgi import App, Message, Receive, Scope, Send
from hi2.server.limits import Limits
from hi2.server.login import COOKIE, HEADERS, LOGIN, login_page
from hi2.server.metrics import Metrics
from hi2.server.problems import Refused, refusal
from hi2.server.tokens import WRITE, Tokens

_log = logging.getLogger("hi2.server")

#: Requests that need no token.
_OPEN = frozenset({"/health"})
#: Where a browser is asked for a token.
_PAGE = "/"
BULK = "application/x-ndjson"
_BULK_PATH = "/documents/bulk"
_JSON = b"application/json"
_SEARCH = re.compile(r"/v1/collections/[^/]+/(?:search|explain)")
_BODIES = frozenset({"POST", "PUT", "PATCH"})
_SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]


_BUSY = refusal(Overloaded())
_BUSY_BODY = _BUSY.body()
_BUSY_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(_BUSY_BODY)).encode()),
    *((name.encode(), value.encode()) for name, value in _BUSY.headers.items()),
]


class Deadline:
    """Until when a request must be answered. It is cancelled then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self.passed = False
        self._end = self._loop.call_later(seconds, self._pass)

    def renew(self) -> None:
        """Begin anew: a long request has made progress."""
        self._end.cancel()
        self._end = self._loop.call_later(self._seconds, self._pass)

    def cancel(self) -> None:
        """The request has been answered."""
        self._end.cancel()

    def _pass(self) -> None:
        self.passed = True
        if self._task is not None:
            self._task.cancel()


class Guard:
    """The application with rights, limits and metrics around it."""

    def __init__(
        self,
        app: App,
        *,
        limits: Limits,
        metrics: Metrics,
        tokens: Tokens | None,
        hosts: frozenset[str] | None,
        admission: Admission,
    ) -> None:
        self._app, self._limits, self._metrics, self._tokens = app, limits, metrics, tokens
        #: Says whether one more search is too many. It is asked first, so that a refusal costs little.
        self._admission = admission
        #: The names under which the server may be addressed; None for any.
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        if self._admission.full and _SEARCH.fullmatch(scope["path"]):
            # At once: a busy server has no time for refusals.
            await self._refuse_search(send)
            return
        begin = perf_counter()
        exchange = _Exchange(receive, send, self._limits.body)
        deadline = Deadline(self._limits.seconds)
        try:
            scope["state"] = {"right": self._checked(scope, exchange), "deadline": deadline, "exchange": exchange}
            await self._app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            if not deadline.passed:
                raise
            late = "The request did not arrive in time." if exchange.reading else "The answer took too long."
            await exchange.refuse(Refused(408 if exchange.reading else 503, late, {"connection": "close"}))
        except Exception as error:
            await exchange.refuse(refusal(error))
        finally:
            deadline.cancel()
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.answered(route, exchange.status, perf_counter() - begin)

    async def _refuse_search(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": _BUSY.status, "headers": _BUSY_HEADERS})
        await send({"type": "http.response.body", "body": _BUSY_BODY})
        self._metrics.answered("search", _BUSY.status, 0.0)

    def _checked(self, scope: Scope, exchange: _Exchange) -> str:
        """Return what the client may do; refuse a request that is too large, of another type or without a right."""
        headers = dict(scope["headers"])
        if self._hosts is not None and _host(headers.get(b"host", b"")) not in self._hosts:
            raise Refused(421, "This server is not addressed under that name; see --allow-host.")
        right = self._right(scope["path"], headers)
        if right is None:
            wants_page = scope["path"] == _PAGE and scope["method"] == "GET"
            if wants_page:
                exchange.asks_for_token = True
            raise Refused(401, "A token is needed: Authorization: Bearer TOKEN.", {"www-authenticate": "Bearer"})
        if scope["method"] in _BODIES:
            exchange.check_body(headers, scope["path"])
        return right

    def _right(self, path: str, headers: dict[bytes, bytes]) -> str | None:
        if self._tokens is None or path in _OPEN:
            return WRITE
        given = headers.get(b"authorization", b"").decode("latin-1")
        if given[:7].lower() == "bearer ":
            return self._tokens.right(given[7:].strip())
        if path == LOGIN:
            return "login"
        if b"cookie" in headers:
            return self._tokens.right(_cookie(headers[b"cookie"].decode("latin-1")))
        return None


class _Exchange:
    """What is received and sent for one request: bytes are counted, and the first status is remembered."""

    def __init__(self, receive: Receive, send: Send, most: int) -> None:
        self._receive, self._send, self._most = receive, send, most
        self._n_bytes = 0
        self.status = 500
        self.begun = self._dropped = False
        self.reading = False
        self.bulk = False
        self.asks_for_token = False

    def check_body(self, headers: dict[bytes, bytes], path: str) -> None:
        """Refuse a body that is too large, or of a type that a page of another host could send unasked."""
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        self.bulk = kind == BULK.encode() and path.endswith(_BULK_PATH)  # what is read as a stream has no largest size
        form = path == LOGIN
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        if has_body and kind != _JSON and not self.bulk and not form:
            raise Refused(415, f"The body must be application/json, or {BULK} for bulk requests.")
        length = headers.get(b"content-length", b"")
        if not self.bulk and length.isdigit() and int(length) > self._most:
            raise self._too_large()

    async def receive(self) -> Message:
        """Pass a message on; refuse a body that grows too large."""
        self.reading = True
        message = await self._receive()
        self.reading = False
        if message["type"] == "http.request":
            self._n_bytes += len(message.get("body", b""))
            if self._n_bytes > self._most and not self.bulk:
                raise self._too_large()
        return message

    async def send(self, message: Message, *, final: bool = False) -> None:
        """Pass a message on. Starlette answers an unforeseen error with 500, and raises it: it is answered once."""
        if message["type"] == "http.response.start":
            if message["status"] == 500 and not final:
                self._dropped = True
                return
            self.begun, self.status = True, message["status"]
            message["headers"] = [*message.get("headers", []), *_SAFE_HEADERS]
        elif self._dropped and not final:
            return
        await self._send(message)

    async def refuse(self, problem: Refused) -> None:
        """Answer with a problem, unless the answer has begun; then the connection breaks."""
        if self.begun:
            _log.warning("An answer was cut off: %s", problem.detail)
            raise problem
        body, kind = problem.body(), b"application/json"
        if self.asks_for_token:
            body, kind = login_page(), b"text/html; charset=utf-8"
            problem.headers.update(HEADERS)
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in problem.headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": headers}, final=True)
        await self.send({"type": "http.response.body", "body": body}, final=True)

    def _too_large(self) -> Refused:
        return Refused(413, f"The body is larger than {self._most} bytes; send large amounts as a bulk request.")


def _host(value: bytes) -> str:
    """The name in a Host header, without its port."""
    text = value.decode("latin-1").lower()
    return text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
