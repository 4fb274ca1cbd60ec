"""``python -m bench connections``: memory of the extender per open connection of an agent.

The listener is that of ``bench heartbeats``: a separate process, with TLS. Every agent has reported
before the measurement, so that the nodes' reports are not counted; then connections are opened one
after the other, each with a heartbeat, and stay open.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import results
from bench.agents import heartbeat_server
from bench.agents.heartbeats import Call, Listener, answered, listening, send


@dataclass(frozen=True)
class Row:
    """Resident memory of the listener's process with a number of connections."""

    connections: int
    resident_bytes: int
    bytes_each: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--connections", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--pods", type=int, default=10, help="pods of ours on each node")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    with listening(max(options.connections), options.pods) as listener:
        rows = asyncio.run(_rows(listener, sorted(options.connections), options.pods))
    for row in rows:
        print(f"{row.connections:6} {row.resident_bytes / 2**20:8.1f} MiB {row.bytes_each:9,} each")
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


async def _rows(listener: Listener, counts: list[int], pods: int) -> list[Row]:
    all_calls = list(_calls(counts[-1], pods))
    for _ in range(2):  # the second time nothing is allocated for the first time
        await send(listener.port, all_calls, listener.tls, 1)
    before = listener.process.memory_info().rss
    rows, open_now = [Row(0, before, 0)], 0
    async with AsyncExitStack() as stack:
        for count in counts:
            for call in all_calls[open_now:count]:
                await stack.enter_async_context(_agent(listener, call))
            open_now = count
            resident = listener.process.memory_info().rss
            rows.append(Row(count, resident, (resident - before) // count))
    return rows


def _calls(nodes: int, pods: int) -> Iterator[Call]:
    for node in range(nodes):
        body = heartbeat_server.heartbeat_body(node, 1, range(pods), full=True, packed=False)
        yield Call(f"{heartbeat_server.TOKEN_PREFIX}{heartbeat_server.node_name(node)}", body)


@asynccontextmanager
async def _agent(listener: Listener, call: Call) -> AsyncIterator[None]:
    """Send one heartbeat, and keep the connection open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port, ssl=listener.tls)
    try:
        writer.write(call.request())
        await answered(reader)
        yield
    finally:
        writer.close()
