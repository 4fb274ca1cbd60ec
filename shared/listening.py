"""A site that ends without leaving behind a connection it has just accepted."""

import asyncio
import socket
import ssl

from aiohttp import web
from typing_extensions import override


class Site(web.SockSite):
    """Serves a runner's application on a listening socket.

    asyncio gives an accepted connection to its protocol one turn of the loop later. If the server
    was closed in between, CPython (3.11 to 3.13 at least) forgets the socket: it stays open,
    answered by nobody, until garbage collection finds it. So this one first accepts nothing more,
    and closes when what was accepted is somebody's.
    """

    def __init__(
        self, runner: web.BaseRunner, opened: socket.socket, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(runner, opened, ssl_context=tls)
        self._opened = opened

    @override
    async def stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._opened)
        await asyncio.sleep(0)
        await super().stop()
