"""The guard of the local server: only the browser that opened the link is answered.

Any page in any browser on this machine can send requests to a loopback port, and so can every
other user of the machine. So the link holds a secret that works once. It is exchanged for a cookie
that scripts cannot read and that no other site's page can send. The ``Host`` must be ours, which
ends DNS rebinding, and a request that names another origin is refused.
"""

import hmac
import html
import secrets
from dataclasses import dataclass, field
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from shared.page import serving

HOST: Final = "127.0.0.1"
OPEN: Final = "/open"
"""Where the secret is exchanged for the cookie."""
_SECRET_BYTES: Final = 32
_SITE: Final = "Sec-Fetch-Site"
_SAFE_SITES: Final = frozenset({"same-origin", "none"})
_AGAIN: Final = "run `shuntyard ui` again for a new link"
_OPENED: Final = """\
<!doctype html>
<html lang="en">
<title>Shuntyard</title>
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">Open the page</a></p>
</html>
"""


@dataclass
class Guard:
    """Exchanges the secret and checks every request.

    Attributes:
        port: The server's.
        fragment: Part of the page's address that is shown first, after ``#``.
    """

    port: int
    fragment: str = ""
    _secret: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES), repr=False)
    _cookie: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES), repr=False)

    @property
    def origin(self) -> str:
        """Scheme, host and port of the page."""
        return f"http://{HOST}:{self.port}"

    @property
    def link(self) -> str:
        """The link to open; it works once."""
        return f"{self.origin}{OPEN}?secret={self._secret}"

    @property
    def _cookie_name(self) -> str:
        # Cookies of one host are shared by its ports: two servers must not replace each other's.
        return f"shuntyard-ui-{self.port}"

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in requests of our page; add the page's headers to every answer."""
        try:
            self._check(request)
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(serving.HEADERS)
            raise
        response.headers.update(serving.HEADERS)
        return response

    async def open(self, request: web.Request) -> web.Response:
        """``GET /open?secret=…``: set the cookie and lead to the page; the secret works once."""
        given = request.query.get("secret", "")
        if not self._secret or not hmac.compare_digest(given.encode(), self._secret.encode()):
            problem = "this link was used already, or is not complete"
            raise web.HTTPForbidden(text=f"{problem}: {_AGAIN}")
        self._secret = ""
        # A page and no redirect: a link from a mail or a chat comes from another site, and its
        # redirect would be sent without the cookie.
        address = html.escape(f"{serving.PATH}{self.fragment and f'#{self.fragment}'}")
        response = web.Response(text=_OPENED.format(address=address), content_type="text/html")
        response.set_cookie(
            self._cookie_name, self._cookie, httponly=True, samesite="Strict", path="/"
        )
        return response

    def _check(self, request: web.Request) -> None:
        if request.headers.getall(hdrs.HOST, []) != [f"{HOST}:{self.port}"]:
            raise web.HTTPForbidden(text=f"expected the Host {HOST}:{self.port}")
        if request.headers.get(hdrs.ORIGIN, self.origin) != self.origin:
            raise web.HTTPForbidden(text=f"expected the Origin {self.origin}")
        if request.path == OPEN:  # followed from a terminal, a mail or a chat
            return
        if request.headers.get(_SITE, "none") not in _SAFE_SITES:
            raise web.HTTPForbidden(text="the request comes from a page of another site")
        shown = request.cookies.get(self._cookie_name, "")
        if not hmac.compare_digest(shown.encode(), self._cookie.encode()):
            raise web.HTTPForbidden(text=f"this browser did not open the link: {_AGAIN}")
