"""The files of the page, and the HTTP headers with which every server of ours sends them.

The page loads nothing from elsewhere and has no inline script or style; the policy in the headers
lets a browser enforce that. It reads ``../v1/…``, relative to its own address, so it works at any
depth: on the extender, in ``shuntyard ui``, and behind a proxy with a path of its own.
"""

import asyncio
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Final, NamedTuple

from aiohttp import hdrs, web

PATH: Final = "/ui/"
"""Where the page is, on every server."""
INDEX: Final = "index.html"
_KINDS: Final = {
    INDEX: "text/html",
    "page.js": "text/javascript",
    "page.css": "text/css",
    "icon.svg": "image/svg+xml",
    "licenses.txt": "text/plain",
}
"""The files and their media types; no other name is looked up."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _File(NamedTuple):
    """A file of the page; the tag changes with its bytes."""

    body: bytes
    media_type: str
    tag: str


def add_routes(app: web.Application) -> None:
    """Serve the page at ``PATH``; a request for ``/ui`` is sent there."""
    app.router.add_get(PATH.rstrip("/"), _forward)
    app.router.add_get(PATH, _file)
    app.router.add_get(f"{PATH}{{name}}", _file)


def is_of_page(path: str) -> bool:
    """Return True if a path of a request is the page's: public files, the same for everyone."""
    return path == PATH.rstrip("/") or path.startswith(PATH)


async def _file(request: web.Request) -> web.Response:
    """Answer with a file, or with 304 if the caller has it."""
    name = request.match_info.get("name", INDEX)
    if name not in _KINDS:
        raise web.HTTPNotFound(text=f"the page has no file {name[:100]}")
    file = await asyncio.to_thread(_read, name)
    headers = {**HEADERS, hdrs.CACHE_CONTROL: "no-cache", hdrs.ETAG: f'"{file.tag}"'}
    known = request.if_none_match
    if known and any(one.value == file.tag for one in known):
        return web.Response(status=304, headers=headers)
    charset = None if file.media_type.startswith("image/") else "utf-8"
    return web.Response(
        body=file.body, content_type=file.media_type, charset=charset, headers=headers
    )


@cache
def _read(name: str) -> _File:
    body = resources.files("shared.page").joinpath("static", name).read_bytes()
    return _File(body, _KINDS[name], sha256(body).hexdigest()[:32])


async def _forward(request: web.Request) -> web.Response:
    # Relative, because a proxy may have put a path before ours.
    raise web.HTTPFound(f"{request.path.rpartition('/')[2]}/", headers=HEADERS)
