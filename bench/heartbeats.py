"""``python -m bench heartbeats``: what agents' heartbeats cost the extender, over TLS.

The listener runs in a process of its own over a made-up cluster; this one sends heartbeats as fast
as they are answered. What counts is the CPU time of the listener's process.
"""

import argparse
import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench import heartbeat_tokens
from bench import heartbeat_yard as yard
from bench.heartbeat_load import Call, send
from devcluster.certificates import Authority
from shared.system_clock import SystemClock


@dataclass(frozen=True)
class Row:
    """One kind of heartbeat; ``cpu_us`` is CPU time of the listener's process for each."""

    kind: str
    body_bytes: int
    heartbeats: int
    cpu_us: float
    per_cpu_second: float
    per_second: float


@dataclass(frozen=True)
class Listener:
    """The process that listens."""

    port: int
    process: psutil.Process
    tls: ssl.SSLContext

    def cpu_seconds(self) -> float:
        """Return its user and system time so far."""
        times = self.process.cpu_times()
        return times.user + times.system


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=1000, help="how many nodes")
    parser.add_argument("--pods", type=int, default=10, help="pods of ours on each")
    parser.add_argument("--changed", type=int, default=3, help="pods in a heartbeat of changes")
    parser.add_argument("--rounds", type=int, default=10, help="heartbeats of each node and kind")
    parser.add_argument("--connections", type=int, default=64, help="open at a time")
    parser.add_argument(
        "--kubeconfig", type=Path, help="also measure TokenReviews against this API server"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print tables, return the exit code."""
    with listening(options.nodes, options.pods) as listener:
        rows = list(_rows(listener, options))
    _print(rows)
    tokens = asyncio.run(heartbeat_tokens.measure(options.kubeconfig))
    heartbeat_tokens.show(tokens)
    if options.json:
        found = {"heartbeats": [asdict(row) for row in rows], "tokens": tokens}
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


@contextmanager
def listening(nodes: int, pods: int) -> Iterator[Listener]:
    """Run the listener's process meanwhile."""
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-") as directory:
        authority = Authority.create(Path(directory), SystemClock())
        pair = authority.issue_server("extender")
        command = [sys.executable, "-m", "bench.heartbeat_server"]
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
                f"{yard.TOKEN_PREFIX}{yard.name(node)}",
                yard.body(node, sequence + i, pods, full=full, packed=packed),
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
