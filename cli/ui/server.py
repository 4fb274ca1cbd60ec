"""The local server: the page's files, and reads passed on the way that every command uses.

The user's credentials stay in this process, whatever they are: a token, a credential plugin or a
client certificate. The browser has a cookie for this server and nothing else
(docs/adr/0018-identity-of-the-page.md).
"""

import asyncio
import socket
import webbrowser
from argparse import Namespace
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TextIO
from urllib.parse import urlencode

from aiohttp import hdrs, web

from cli import client, sanitize
from cli.client import Way
from cli.errors import UnansweredError
from cli.ui import questions
from cli.ui.guard import HOST, OPEN, Guard
from cli.ui.questions import Check
from shared.page import serving
from shared.readapi import api
from shared.system_clock import SystemClock

READS: Final = frozenset(
    {
        *("queue", "nodes", "jobs", "migrations", "rescales", "parkings", "namespaces"),
        *("prices", "explain"),
    }
)
"""The reads that are passed on."""
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


def create_app(way: Way, guard: Guard, check: Check) -> web.Application:
    """Return the application.

    Args:
        way: To the read API, with the user's credentials. It is used by one thread.
        guard: Lets only the user's browser in.
        check: Examines the installation.
    """
    app = web.Application(middlewares=[guard.middleware])
    reads = _Reads(way, check)
    app.router.add_get(OPEN, guard.open)
    app.router.add_get("/v1/doctor", reads.doctor)
    app.router.add_post("/v1/what-if", reads.what_if)
    app.router.add_get("/v1/{name}", reads.answer)
    serving.add_routes(app)
    app.on_cleanup.append(reads.close)
    return app


async def _serve(way: Way, options: Namespace, out: TextIO) -> None:
    listener = _listen(options.port)
    guard = Guard(listener.getsockname()[1], _fragment(options.namespace))
    runner = web.AppRunner(
        create_app(way, guard, questions.checks(options.service)),
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

    def __init__(self, way: Way, check: Check) -> None:
        self._way, self._check = way, check
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reads")

    async def answer(self, request: web.Request) -> web.Response:
        """``GET /v1/…``: the answer of the read API, or 502 with the reason in words."""
        name = request.match_info["name"]
        if name not in READS:
            raise web.HTTPNotFound(text=f"{name[:100]} is not one of {', '.join(sorted(READS))}")
        query = {key: text for key, text in request.query.items() if key in _PARAMETERS}
        return await self._answered(lambda: self._fetch(name, query))

    async def what_if(self, request: web.Request) -> web.Response:
        """``POST /v1/what-if`` with a manifest: as the command answers it; nothing is written."""
        body = await request.read()
        namespace = request.query.get("namespace") or self._way.namespace or "default"
        return await self._answered(lambda: questions.what_if(self._way, body, namespace))

    async def doctor(self, _request: web.Request) -> web.Response:
        """``GET /v1/doctor``: the findings, or 404 where no kubeconfig is used."""
        server = self._way.api_server
        if server is None:
            raise web.HTTPNotFound(text="the checks need a kubeconfig: leave --url out")
        return await self._answered(lambda: questions.report(server, self._check, SystemClock()))

    async def _answered(self, ask: Callable[[], bytes]) -> web.Response:
        loop = asyncio.get_running_loop()
        try:
            body = await loop.run_in_executor(self._thread, ask)
        except UnansweredError as error:
            raise web.HTTPBadGateway(text=sanitize.lines(str(error))) from error
        headers = {hdrs.CACHE_CONTROL: "no-store"}
        return web.Response(body=body, content_type="application/json", headers=headers)

    def _fetch(self, name: str, query: dict[str, str]) -> bytes:
        return sanitize.json_texts(self._way.fetch(f"/v1/{name}", question=None, **query))

    async def close(self, _app: web.Application) -> None:
        """Begin no more reads."""
        self._thread.shutdown(wait=False, cancel_futures=True)
