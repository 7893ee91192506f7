"""What does a browser get? One page of static files, and a form for the token where one is needed."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, RedirectResponse, Response

from hi2.server.login import COOKIE, HEADERS, LOGIN, STATIC, login_page
from hi2.server.problems import Refused
from hi2.server.tokens import Tokens

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HTML = "text/html; charset=utf-8"


def page_routes(tokens: Tokens | None) -> APIRouter:
    """Return the routes of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def page() -> Response:
        return FileResponse(STATIC / "index.html", media_type=_HTML, headers=HEADERS)

    @routes.get("/static/{name}")
    async def file(name: str) -> Response:
        path = STATIC / name
        if path.parent != STATIC or path.suffix not in _KINDS or not path.is_file():
            raise Refused(404, "There is no such file.")
        return FileResponse(path, media_type=_KINDS[path.suffix], headers=HEADERS)

    @routes.post(LOGIN)
    async def login(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        token = form.get("token", [""])[0].strip()
        if tokens is None:
            return RedirectResponse("/", 303)
        if not token.isascii() or tokens.right(token) is None:
            return Response(login_page("This token is not known."), 401, HEADERS, _HTML)
        answer = RedirectResponse("/", 303)
        secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
        return answer

    return routes
