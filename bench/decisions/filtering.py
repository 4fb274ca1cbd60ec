"""``python -m bench filter``: how long kube-scheduler waits for an answer to filter.

The extender's listener runs in a separate process; this one calls it like kube-scheduler: one call
after the other on one connection, with the whole pod, and nodes by name. Times are the caller's.
"""

import argparse
import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import msgspec
import psutil

from bench import made_up, results
from bench.decisions import filter_server

HEADERS: Final = {"Content-Type": "application/json"}
PINNED_OFFER: Final = 3
"""Number of nodes that kube-scheduler offers for a pod pinned to one node and two spares."""
WARM_UP: Final = 20


@dataclass(frozen=True)
class Row:
    """One kind of request.

    Attributes:
        pod: Kind of the pod.
        nodes: Number of offered nodes.
        changing: Whether another pod appeared before each request.
        body_bytes: Size of the request.
        cpu_ms: CPU time of the server per request.
    """

    pod: str
    nodes: int
    changing: bool
    requests: int
    body_bytes: int
    p50_ms: float
    p99_ms: float
    cpu_ms: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=5000, help="number of nodes")
    parser.add_argument("--pods", type=int, default=20_000, help="total number of running pods")
    parser.add_argument("--requests", type=int, default=500, help="requests of each kind")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    rows: list[Row] = []
    print(f"{'pod':>28} {'nodes':>6} {'changing':>8} {'p50 ms':>7} {'p99 ms':>7} {'CPU ms':>7}")
    for changing in (False, True):
        with listening(options.nodes, options.pods, changing=changing) as (port, process):
            for pod, body, offered in requests(options.nodes):
                times, cpu = ask(port, process, body, options.requests)
                row = summary(pod, offered, body, times, cpu, changing=changing)
                rows.append(row)
                print(
                    f"{row.pod:>28} {row.nodes:6} {row.changing!s:>8} {row.p50_ms:7.2f} "
                    f"{row.p99_ms:7.2f} {row.cpu_ms:7.2f}",
                    flush=True,
                )
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


@contextmanager
def listening(nodes: int, pods: int, *, changing: bool) -> Iterator[tuple[int, psutil.Process]]:
    """Run the server meanwhile; yield its port and process."""
    command = [sys.executable, "-m", "bench.decisions.filter_server"]
    command += ["--nodes", str(nodes), "--pods", str(pods), *(["--changing"] if changing else [])]
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        yield int(process.stdout.readline()), psutil.Process(process.pid)
    finally:
        process.communicate()


def requests(nodes: int) -> Iterator[tuple[str, bytes, int]]:
    """Yield the requests: kind of pod, body, and number of offered nodes."""
    everywhere = [made_up.node_name(number) for number in range(nodes)]
    server = filter_server
    kinds = {
        "reserved, pinned": (made_up.pod(server.RESERVED, 0, 1, gated=False), PINNED_OFFER),
        "reserved, all nodes": (made_up.pod(server.RESERVED, 0, 1, gated=False), nodes),
        "single, no gate": (made_up.pod(server.SINGLE, 0, 1, gated=False), nodes),
        "member of a gang, no gate": (made_up.pod(server.GANG, 0, 2, gated=False), nodes),
    }
    for name, (pod, offered) in kinds.items():
        names = everywhere[:offered]
        body = {"Pod": msgspec.Raw(pod), "Nodes": None, "NodeNames": names}
        yield name, msgspec.json.encode(body), offered


def ask(port: int, process: psutil.Process, body: bytes, count: int) -> tuple[list[float], float]:
    """Return the seconds of each request, sorted, and the server's total CPU seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(WARM_UP):
        _post(connection, body)
    before = process.cpu_times()
    times = sorted(_post(connection, body) for _ in range(count))
    after = process.cpu_times()
    connection.close()
    return times, after.user + after.system - before.user - before.system


def _post(connection: http.client.HTTPConnection, body: bytes) -> float:
    begun = time.perf_counter()
    connection.request("POST", "/filter", body, HEADERS)
    connection.getresponse().read()
    return time.perf_counter() - begun


def summary(
    pod: str, nodes: int, body: bytes, times: list[float], cpu_seconds: float, *, changing: bool
) -> Row:
    """Return the row for sorted times."""
    count = len(times)
    return Row(
        pod=pod,
        nodes=nodes,
        changing=changing,
        requests=count,
        body_bytes=len(body),
        p50_ms=round(times[count // 2] * 1000, 3),
        p99_ms=round(times[max(0, -(-count * 99 // 100) - 1)] * 1000, 3),
        cpu_ms=round(cpu_seconds * 1000 / count, 3),
    )
