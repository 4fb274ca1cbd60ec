"""``python -m bench page``: CPU of the extender for open pages, and when they show a change.

The read listener runs in a process of its own over a generated cluster, in which a job starts, one
ends and one is created every second; with ``--kwok`` it is a whole extender on a real control plane
(``bench.page.cluster``). Its CPU time is measured without pages and with pages that
follow the stream; what a change takes to a page is measured by jobs that are named after the moment
of their creation. Then Chromium shows the page (``bench.page.frames``).
"""

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import aiohttp
import psutil

from bench import results
from bench.page import cluster as page_cluster
from bench.page import frames as page_frames
from bench.page.server import STAMPED

READY_SECONDS: Final = 300.0
SETTLE_SECONDS: Final = 20.0
LIMIT_BYTES: Final = 2**26


@dataclass(frozen=True)
class Row:
    """What open pages take, and how soon they show a change.

    Attributes:
        idle_share: Part of a core that the process takes without pages.
        share: The same with them.
        latency_seconds: Median and 95th percentile from a change to a page.
        bytes_per_second: What one page is sent, after the first lists.
        first_bytes: What the first lists are.
        painted: What Chromium took; None without it.
        command_seconds: Time of commands of the command line; with ``--kwok`` only.
    """

    nodes: int
    waiting: int
    pages: int
    idle_share: float
    share: float
    latency_seconds: tuple[float, float]
    bytes_per_second: float
    first_bytes: int
    painted: page_frames.Painted | None = None
    command_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Seen:
    """What one page was sent."""

    latencies: list[float] = field(default_factory=list)
    first_bytes: int = 0
    bytes: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--waiting", type=int, default=2000, help="jobs that wait")
    parser.add_argument("--pages", type=int, default=20, help="pages that are open")
    parser.add_argument("--seconds", type=float, default=60.0, help="measured time, each")
    parser.add_argument(
        "--kwok",
        action="store_true",
        help="a whole extender on a real control plane with kwok's nodes, all full",
    )
    parser.add_argument("--json", type=Path, help="write the row to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print the numbers, return the exit code."""
    if options.kwok:
        with page_cluster.served(options.nodes, options.waiting) as cluster:
            row = asyncio.run(_on_cluster(options, cluster))
            row = replace(row, command_seconds=cluster.timed())
    else:
        with _server(options.nodes, options.waiting) as (process, port):
            row = asyncio.run(_measured(options, process, f"http://127.0.0.1:{port}"))
    print(summary(row))
    if options.json:
        results.write(options.json, [asdict(row)])
    return 0


def summary(row: Row) -> str:
    """Return the numbers as lines."""
    (median, late), rate = row.latency_seconds, row.bytes_per_second / 2**10
    lines = [
        f"{row.nodes} nodes, {row.waiting} waiting jobs, {row.pages} pages",
        f"CPU of the listener: {row.share:.1%} of a core, {row.idle_share:.1%} without pages",
        f"a change is shown after {median:.1f} s (median), {late:.1f} s (95 %)",
        f"each page: {row.first_bytes / 2**20:.1f} MiB first, then {rate:.1f} KiB/s",
    ]
    lines += [f"shuntyard {words}: {taken:.1f} s" for words, taken in row.command_seconds.items()]
    if row.painted is None:
        return "\n".join([*lines, "no chromium on PATH: nothing was painted"])
    return "\n".join([*lines, *page_frames.summary(row.painted)])


@contextmanager
def _server(nodes: int, waiting: int) -> Iterator[tuple[psutil.Process, int]]:
    arguments = ("--nodes", str(nodes), "--waiting", str(waiting), "--seconds", "1")
    command = [sys.executable, "-m", "bench.page.server", *arguments]
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None  # noqa: S101 - for the type checker
            yield psutil.Process(server.pid), int(server.stdout.readline())
        finally:
            server.terminate()


async def _on_cluster(options: argparse.Namespace, cluster: page_cluster.Served) -> Row:
    """Measure while gangs come and go, once the waiting ones are decided."""
    await asyncio.sleep(SETTLE_SECONDS)
    async with asyncio.TaskGroup() as group:
        changing = group.create_task(cluster.change())
        row = await _measured(options, cluster.process, cluster.url)
        changing.cancel()
    return row


async def _measured(options: argparse.Namespace, process: psutil.Process, url: str) -> Row:
    idle_share = await _share(process, options.seconds)
    pages = [Seen() for _ in range(options.pages)]
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout()) as session,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(_follow(session, url, page)) for page in pages]
        await asyncio.sleep(SETTLE_SECONDS)
        for page in pages:
            page.latencies.clear()
            page.bytes = 0
        share = await _share(process, options.seconds)
        for task in tasks:
            task.cancel()
    latencies = [seconds for page in pages for seconds in page.latencies]
    late = statistics.quantiles(latencies, n=20)[-1]
    chromium = shutil.which("chromium")
    return Row(
        options.nodes,
        options.waiting,
        options.pages,
        idle_share=idle_share,
        share=share,
        latency_seconds=(statistics.median(latencies), late),
        bytes_per_second=statistics.mean(page.bytes for page in pages) / options.seconds,
        first_bytes=pages[0].first_bytes,
        painted=None if chromium is None else await page_frames.painted(chromium, url),
    )


async def _share(process: psutil.Process, seconds: float) -> float:
    """Return the part of a core that the process takes in some seconds."""
    before, began = sum(process.cpu_times()[:2]), time.monotonic()
    await asyncio.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began)


async def _follow(session: aiohttp.ClientSession, url: str, seen: Seen) -> None:
    """Read the stream as a page does, again whenever it ends."""
    while True:
        first, more = False, False
        async with session.get(f"{url}/v1/updates", read_bufsize=LIMIT_BYTES) as response:
            async for line in response.content:
                seen.bytes += len(line)
                if not line.startswith(b"data: "):
                    continue
                frame = json.loads(line[len("data: ") :])
                first = bool(frame.get("whole")) or (first and more)
                more = bool(frame.get("more"))
                if first:
                    seen.first_bytes += len(line)
                elif frame["list"] == "jobs":
                    seen.latencies += [_age(key) for key in frame.get("set", ()) if STAMPED in key]


def _age(key: str) -> float:
    """Return how old the job of a key is, by its name."""
    stamp = key.rpartition(STAMPED)[2].partition("-")[0]
    return time.monotonic() - int(stamp) / 1000
