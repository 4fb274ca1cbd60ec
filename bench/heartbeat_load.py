"""Agents that call as fast as they are answered, over connections that stay open."""

import asyncio
import ssl
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

HEAD = (
    "POST /v1/heartbeats HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\n{encoding}Content-Length: {length}\r\n\r\n"
)


@dataclass(frozen=True)
class Call:
    """One heartbeat as it goes over the wire."""

    token: str
    body: bytes
    packed: bool = False

    def request(self) -> bytes:
        """Return head and body."""
        encoding = "Content-Encoding: gzip\r\n" if self.packed else ""
        head = HEAD.format(token=self.token, encoding=encoding, length=len(self.body))
        return head.encode() + self.body


async def send(port: int, calls: Iterable[Call], tls: ssl.SSLContext, connections: int) -> int:
    """Send all calls over so many connections; return how many there were.

    Raises:
        RuntimeError: One was not answered with 200.
    """
    left = iter(calls)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_caller(port, left, tls)) for _ in range(connections)]
    return sum(task.result() for task in tasks)


async def _caller(port: int, calls: Iterator[Call], tls: ssl.SSLContext) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    count = 0
    for call in calls:
        writer.write(call.request())
        await answered(reader)
        count += 1
    writer.close()
    return count


async def answered(reader: asyncio.StreamReader) -> bytes:
    """Return the body of an answer; raises ``RuntimeError`` unless it came with 200."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    lengths = [int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")]
    body = await reader.readexactly(lengths[0])
    if b" 200 " not in lines[0]:
        raise RuntimeError(f"{lines[0].decode()}: {body.decode()}")
    return body
