"""Relays a port on all addresses of this machine to a server on loopback, usually the read API.

The API server's service proxy never connects to a loopback address. The read API does not
authenticate, so connections from other machines are refused.
"""

import argparse
import asyncio
import contextlib
import sys
from functools import partial
from typing import Final

from devcluster.local.ports import LOOPBACK

_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - other machines are refused below
_CHUNK_BYTES: Final = 2**16


def relay_argv(port: int, target_port: int) -> tuple[str, ...]:
    """Return the command line of a relay: to any server of this machine."""
    return (
        sys.executable,
        "-m",
        "devcluster.shuntyard.read_api_relay",
        str(port),
        str(target_port),
    )


async def serve(port: int, target_port: int) -> None:
    """Relay until cancelled."""
    server = await asyncio.start_server(partial(_join, target_port), _EVERY_ADDRESS, port)
    async with server:
        await server.serve_forever()


async def _join(
    target_port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with contextlib.suppress(OSError), contextlib.closing(writer):  # either end may disconnect
        if not comes_from_here(writer):
            return
        from_target, to_target = await asyncio.open_connection(LOOPBACK, target_port)
        with contextlib.closing(to_target):
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, to_target))
                group.create_task(_copy(from_target, writer))


def comes_from_here(writer: asyncio.StreamWriter) -> bool:
    """Return True if the peer is on this machine: the kernel then gives both ends one address."""
    there, here = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
    return bool(there[0] == here[0])


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()


def main() -> None:
    """Relay between the two ports of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("target_port", type=int)
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.target_port))


if __name__ == "__main__":
    main()
