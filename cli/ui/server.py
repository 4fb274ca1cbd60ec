"""The local server: the page's files, and reads passed on the way that every command uses.

The user's credentials stay in this process, whatever they are: a token, a credential plugin or a
client certificate. The browser has a cookie for this server and nothing else
(docs/adr/0018-identity-of-the-page.md).
"""

import asyncio
import socket
import webbrowser
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TextIO
from urllib.parse import urlencode

from aiohttp import hdrs, web

from cli import client, sanitize
from cli.client import Way
from cli.errors import UnansweredError
from cli.ui.guard import HOST, OPEN, Guard
from shared import api
from shared.page import serving

READS: Final = frozenset(
    {"queue", "nodes", "jobs", "migrations", "rescales", "namespaces", "prices", "explain"}
)
"""What is passed on: reads, and nothing that costs the extender a question."""
_PARAMETERS: Final = frozenset(
    {"namespace", "kind", "job", "pod", "name", "limit", "continue", "slots"}
)
_DRAIN_SECONDS: Final = 0.5


def run(options: Namespace, out: TextIO) -> int:
    """Serve the page until Ctrl-C; return the exit code.

    Raises:
        UnansweredError: The read API cannot be reached, or the port is taken.
    """
    way = client.way(options)
    # A first read here: problems are shown in the terminal, and a plugin asks for a login there.
    client.parse(way.fetch("/v1/queue", question=None, limit="1"), api.QueueResponse)
    asyncio.run(_serve(way, options, out))
    return 0


def create_app(way: Way, guard: Guard) -> web.Application:
    """Return the application.

    Args:
        way: To the read API, with the user's credentials. It is used by one thread.
        guard: Lets only the user's browser in.
    """
    app = web.Application(middlewares=[guard.middleware])
    reads = _Reads(way)
    app.router.add_get(OPEN, guard.open)
    app.router.add_get("/v1/{name}", reads.answer)
    serving.add_routes(app)
    app.on_cleanup.append(reads.close)
    return app


async def _serve(way: Way, options: Namespace, out: TextIO) -> None:
    listener = _listen(options.port)
    guard = Guard(listener.getsockname()[1], _fragment(options.namespace))
    runner = web.AppRunner(
        create_app(way, guard),
        handle_signals=False,
        access_log=None,
        shutdown_timeout=_DRAIN_SECONDS,
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        print(f"Open {guard.link}", file=out)
        print("The link works once, in one browser. Ctrl-C ends the server.", file=out, flush=True)
        if not options.no_browser:
            await asyncio.to_thread(webbrowser.open, guard.link)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        problem = error.strerror or error
        raise UnansweredError(f"--port {port}: {problem}; without it a free one is used") from error


def _fragment(namespace: str | None) -> str:
    return f"/?{urlencode({'namespace': namespace})}" if namespace else ""


class _Reads:
    """Passes reads on, one after the other: a plugin must not ask for two logins at a time."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reads")

    async def answer(self, request: web.Request) -> web.Response:
        """``GET /v1/…``: the answer of the read API, or 502 with the reason in words."""
        name = request.match_info["name"]
        if name not in READS:
            raise web.HTTPNotFound(text=f"{name[:100]} is not one of {', '.join(sorted(READS))}")
        query = {key: text for key, text in request.query.items() if key in _PARAMETERS}
        loop = asyncio.get_running_loop()
        try:
            body = await loop.run_in_executor(self._thread, self._fetch, name, query)
        except UnansweredError as error:
            raise web.HTTPBadGateway(text=sanitize.lines(str(error))) from error
        headers = {hdrs.CACHE_CONTROL: "no-store"}
        return web.Response(body=body, content_type="application/json", headers=headers)

    def _fetch(self, name: str, query: dict[str, str]) -> bytes:
        return sanitize.json_texts(self._way.fetch(f"/v1/{name}", question=None, **query))

    async def close(self, _app: web.Application) -> None:
        """Begin no more reads."""
        self._thread.shutdown(wait=False, cancel_futures=True)
