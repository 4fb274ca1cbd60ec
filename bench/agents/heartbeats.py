"""``python -m bench heartbeats``: what agents' heartbeats cost the extender, over TLS.

The listener runs in a separate process on a generated cluster; this one sends heartbeats as fast as
they are answered. The CPU time of the listener's process is measured.
"""

import argparse
import asyncio
import json
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.agents import heartbeat_server
from bench.agents.heartbeat_server import ACCOUNT, AUDIENCE, TOKEN_PREFIX, review
from devcluster.credentials.certificates import Authority
from extender.servers.agents.tokens import AgentTokens
from shared.kube import auth, paths, reviews
from shared.kube.client import KubeClient
from shared.kube.reviews import TokenVerdict
from shared.system_clock import SystemClock

CHECKS = 20_000
REVIEWS = 200
Tokens = dict[str, dict[str, float]]
HEAD = (
    "POST /v1/heartbeats HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\n{encoding}Content-Length: {length}\r\n\r\n"
)


@dataclass(frozen=True)
class Call:
    """One heartbeat request."""

    token: str
    body: bytes
    packed: bool = False

    def request(self) -> bytes:
        """Return the bytes of head and body."""
        encoding = "Content-Encoding: gzip\r\n" if self.packed else ""
        head = HEAD.format(token=self.token, encoding=encoding, length=len(self.body))
        return head.encode() + self.body


@dataclass(frozen=True)
class Row:
    """One kind of heartbeat; ``cpu_us`` is CPU time of the listener's process per heartbeat."""

    kind: str
    body_bytes: int
    heartbeats: int
    cpu_us: float
    per_cpu_second: float
    per_second: float


@dataclass(frozen=True)
class Listener:
    """The listener's process."""

    port: int
    process: psutil.Process
    tls: ssl.SSLContext

    def cpu_seconds(self) -> float:
        """Return its user and system time so far."""
        times = self.process.cpu_times()
        return times.user + times.system


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=1000, help="number of nodes")
    parser.add_argument("--pods", type=int, default=10, help="pods of ours per node")
    parser.add_argument("--changed", type=int, default=3, help="changed pods per heartbeat")
    parser.add_argument("--rounds", type=int, default=10, help="heartbeats per node and kind")
    parser.add_argument("--connections", type=int, default=64, help="open connections")
    parser.add_argument(
        "--kubeconfig", type=Path, help="also measure TokenReviews against this API server"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print tables, return the exit code."""
    with listening(options.nodes, options.pods) as listener:
        rows = list(_rows(listener, options))
    _print(rows)
    tokens = asyncio.run(measure_tokens(options.kubeconfig))
    show_tokens(tokens)
    if options.json:
        results = {"heartbeats": [asdict(row) for row in rows], "tokens": tokens}
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


@contextmanager
def listening(nodes: int, pods: int) -> Iterator[Listener]:
    """Run the listener's process meanwhile."""
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        authority = Authority.create(Path(directory), SystemClock())
        pair = authority.issue_server("extender")
        command = [sys.executable, "-m", "bench.agents.heartbeat_server"]
        command += ["--nodes", str(nodes), "--pods", str(pods)]
        command += ["--certificate", str(pair.certificate), "--key", str(pair.key)]
        process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            port = int(process.stdout.readline())
            tls = ssl.create_default_context(cafile=authority.certificate)
            tls.check_hostname = False
            yield Listener(port, psutil.Process(process.pid), tls)
        finally:
            process.communicate()


def _rows(listener: Listener, options: argparse.Namespace) -> Iterator[Row]:
    everything, changed = range(options.pods), range(options.changed)
    kinds = {
        "full": (everything, True, False),
        "changes": (changed, False, False),
        "changes, packed": (changed, False, True),
        "nothing changed": (range(0), False, False),
    }
    sequence = 1
    for kind, (pods, full, packed) in kinds.items():
        rounds = 2 if full else options.rounds
        calls = [
            Call(
                f"{heartbeat_server.TOKEN_PREFIX}{heartbeat_server.node_name(node)}",
                heartbeat_server.heartbeat_body(node, sequence + i, pods, full=full, packed=packed),
                packed,
            )
            for i in range(rounds)
            for node in range(options.nodes)
        ]
        sequence += rounds
        yield _row(kind, listener, calls, options.connections)


def _row(kind: str, listener: Listener, calls: list[Call], connections: int) -> Row:
    clock = SystemClock()
    cpu, begun = listener.cpu_seconds(), clock.monotonic()
    count = asyncio.run(send(listener.port, calls, listener.tls, connections))
    seconds, cpu_seconds = clock.monotonic() - begun, listener.cpu_seconds() - cpu
    cost = round(cpu_seconds / count * 1e6, 1)
    return Row(
        kind, len(calls[-1].body), count, cost, round(count / cpu_seconds), round(count / seconds)
    )


def _print(rows: list[Row]) -> None:
    print(f"{'heartbeat':>16} {'bytes':>7} {'CPU us':>8} {'per CPU second':>15} {'per second':>11}")
    for row in rows:
        print(
            f"{row.kind:>16} {row.body_bytes:7} {row.cpu_us:8.0f} {row.per_cpu_second:15.0f} "
            f"{row.per_second:11.0f}"
        )


async def send(port: int, calls: Iterable[Call], tls: ssl.SSLContext, connections: int) -> int:
    """Send all calls over so many connections; return their number.

    Raises:
        RuntimeError: A call was not answered with 200.
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
    """Return the body of an answer; raises ``RuntimeError`` unless the status is 200."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    lengths = [int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")]
    body = await reader.readexactly(lengths[0])
    if b" 200 " not in lines[0]:
        raise RuntimeError(f"{lines[0].decode()}: {body.decode()}")
    return body


async def measure_tokens(kubeconfig: Path | None) -> Tokens:
    """Return the median wall and CPU microseconds of each kind of token check."""
    check = _check(review)
    first = await _timed([f"Bearer {TOKEN_PREFIX}{i}" for i in range(CHECKS)], check.node_of)
    kept = await _timed([f"Bearer {TOKEN_PREFIX}1"] * CHECKS, check.node_of)
    costs = {"kept": kept, "not kept, reviewer answers at once": first}
    if kubeconfig is not None:
        async with KubeClient.connect(auth.load(kubeconfig)) as client:
            costs |= await _against(client)
    return costs


async def _against(client: KubeClient) -> Tokens:
    """Review tokens of the account ``default`` by the API server, first and repeatedly."""
    path = paths.namespaced("/api/v1/serviceaccounts", "default", "default", "token")
    body = {"spec": {"audiences": [AUDIENCE], "expirationSeconds": 600}}
    answers = [json.loads(await client.post(path, body)) for _ in range(REVIEWS)]
    tokens = [answer["status"]["token"] for answer in answers]

    async def reviewed(token: str) -> TokenVerdict:
        verdict = await reviews.review_token(client, token, AUDIENCE)
        assert verdict.authenticated, verdict.error  # noqa: S101 - otherwise the measurement is void
        return verdict

    first = await _timed(tokens, reviewed)
    return {"reviewed, new token": first, "reviewed once more": await _timed(tokens, reviewed)}


def show_tokens(tokens: Tokens) -> None:
    """Print the costs as a table."""
    print(f"\n{'token check':>34} {'wall us':>9} {'CPU us':>8}")
    for kind, row in tokens.items():
        print(f"{kind:>34} {row['wall_us']:9.1f} {row['cpu_us']:8.1f}")


def _check(reviewer: Callable[[str], Awaitable[TokenVerdict]]) -> AgentTokens:
    return AgentTokens(
        review=reviewer,
        audience=AUDIENCE,
        accounts=frozenset({ACCOUNT}),
        kept_seconds=60.0,
        clock=SystemClock(),
        count=lambda _verdict: None,
    )


async def _timed(inputs: list[str], ask: Callable[[str], Awaitable[object]]) -> dict[str, float]:
    wall = []
    cpu = time.process_time()
    for token in inputs:
        begun = time.perf_counter()
        await ask(token)
        wall.append(time.perf_counter() - begun)
    cpu_seconds = time.process_time() - cpu
    return {
        "wall_us": round(statistics.median(wall) * 1e6, 2),
        "cpu_us": round(cpu_seconds / len(inputs) * 1e6, 2),
    }
