"""``python -m bench monitoring``: the demo under a real Prometheus, with all queries and panels.

Prometheus scrapes the extender and the agents each second and evaluates our rules. When the jobs
have finished, every query of every panel and rule runs, and each dashboard is drawn from the
results.
"""

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import psutil

from bench import results
from devcluster.cluster import Cluster
from devcluster.demo import show
from devcluster.demo.__main__ import offer_our_python
from devcluster.local.ports import free_ports
from devcluster.shuntyard.extender_process import merged
from monitoring import manifests, pictures, server
from monitoring.dashboards import ALL
from monitoring.dashboards.parkings import PARKINGS
from monitoring.dashboards.teams import TEAMS
from monitoring.pictures import Result, Span
from monitoring.queries import WITHOUT_RESULT
from monitoring.rules import ALERTS
from monitoring.rules.recording import RECORDINGS
from monitoring.server import Prometheus
from shared.system_clock import SystemClock

INTERVAL_SECONDS: Final = 1
LAST_LOOK_SECONDS: Final = 12.0
"""Seconds of scraping after the last job: a rate needs two values."""
QUIET_END_SECONDS: Final = 6.0
"""Pictures end this long before the last training: they show a busy cluster."""
SURE_TO_MOVE: Final = {
    "migration": {"policy": "count", "count_pause_seconds": 5, "minimum_gain_ratio": 0}
}
"""Settings that force moves, even on a busy machine: equal counts, without a test of the gain."""
RULES: Final = Path(manifests.FOLDER) / "plain/rules.yaml"
PICTURES: Final = Path("docs/monitoring")


@dataclass(frozen=True)
class Scraped:
    """Cost of scraping one target; times in seconds, by Prometheus."""

    job: str
    instance: str
    series: int
    scrapes: int
    median_seconds: float
    longest_seconds: float


@dataclass(frozen=True)
class Watched:
    """Results of a run under Prometheus.

    Attributes:
        answers: Results of every query of every panel.
        drawn: The same results, while jobs were training; without GPUs and teams, which the demo
            has none of, and parkings, of which it has few (`bench recorded` draws them).
        empty: Queries that unexpectedly returned nothing.
        recorded: Names of recording rules with a value.
        firing: Alerts that fired at any time.
        scraped: Cost of scraping, by target.
    """

    answers: tuple[Result, ...]
    drawn: tuple[Result, ...]
    empty: tuple[tuple[str, str, str], ...]
    recorded: frozenset[str]
    firing: frozenset[str]
    scraped: tuple[Scraped, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="folder for the pictures")
    parser.add_argument(
        "--format", choices=("svg", "png"), default="svg", help="format of the pictures"
    )
    parser.add_argument("--json", type=Path, help="write the cost of scraping to this file")


def run(options: argparse.Namespace) -> int:
    """Run the demo, draw the panels, print empty queries, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="monitored-") as directory:
        watched_run = watched(Path(directory))
    pictures.draw(watched_run.drawn, options.pictures, options.format)
    for target in watched_run.scraped:
        print(
            f"{target.job:20} {target.instance:12} {target.series:5} series, scrape "
            f"{1000 * target.median_seconds:.1f} ms, longest {1000 * target.longest_seconds:.1f} ms"
        )
    if options.json:
        results.write(options.json, [asdict(target) for target in watched_run.scraped])
    for board, panel, text in watched_run.empty:
        print(f"{board} / {panel}: no result of {text}")
    print(
        f"{len(watched_run.answers)} queries; "
        f"alerts that fired: {sorted(watched_run.firing) or 'none'}"
    )
    return int(bool(watched_run.empty))


def watched(directory: Path) -> Watched:
    """Run the demo's jobs under Prometheus, then run all queries."""
    offer_our_python()
    (port,) = free_ports(1)
    demo = show.bring_up(directory / "cluster")
    demo.settings = merged(show.SETTINGS, SURE_TO_MOVE)
    try:
        with server.running(
            directory / "prometheus", port, rules=RULES, interval_seconds=INTERVAL_SECONDS
        ) as prometheus:
            clock = SystemClock()
            begin = clock.now()
            asyncio.run(_run(demo, prometheus))
            return _run_queries(prometheus, begin, clock.now())
    finally:
        demo.cluster.down()


async def _run(demo: show.Demo, prometheus: Prometheus) -> None:
    async with asyncio.TaskGroup() as group:
        following = group.create_task(_follow(demo.cluster, prometheus))
        await show.run(demo, finished=None)
        await asyncio.sleep(LAST_LOOK_SECONDS)
        following.cancel()


async def _follow(cluster: Cluster, prometheus: Prometheus) -> None:
    """Keep Prometheus' list of targets current, until cancelled."""
    known_targets: dict[str, dict[str, str]] = {}
    while True:
        current = await asyncio.to_thread(targets, cluster)
        if current != known_targets:
            prometheus.watch(current)
            known_targets = current
        await asyncio.sleep(INTERVAL_SECONDS)


def targets(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Return the current targets: job → instance → address."""
    by_job: dict[str, dict[str, str]] = {"shuntyard-agent": dict(_agents(cluster))}
    if cluster.runs("extender"):
        address = cluster.extender_url.removeprefix("http://")
        by_job["shuntyard-extender"] = {"extender": address}
    return by_job


def _agents(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the node and the address of every agent; each listens on its own port."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if not any(word.endswith("shuntyard-agent") for word in words):
            continue
        try:
            environ = process.environ()
            listening = [
                connection
                for connection in process.net_connections("tcp")
                if connection.status == "LISTEN"
            ]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if str(cluster.directory) in " ".join(environ.values()) and listening:
            address = listening[0].laddr
            yield environ.get("NODE_NAME", "node"), f"{address[0]}:{address[1]}"


def _run_queries(prometheus: Prometheus, begin: float, end: float) -> Watched:
    span = Span(begin, end, step=1.0, rate="10s", window="5m")
    answers = tuple(pictures.run(prometheus, ALL, span))
    training = prometheus.between("sum(shuntyard_training_pods) > 0", begin, end, 1.0)
    busy = replace(span, end=training[0].points[-1][0] - QUIET_END_SECONDS) if training else span
    pages = [one for one in ALL if one not in {TEAMS, PARKINGS}]
    drawn = tuple(pictures.run(prometheus, pages, busy))
    recorded = [
        recording.name
        for recording in RECORDINGS
        if prometheus.between(recording.name, begin, end, 1.0)
    ]
    for alert in ALERTS:
        prometheus.ask(alert.text, at=end)
    fired = prometheus.between('ALERTS{alertstate="firing"}', begin, end, 1.0)
    return Watched(
        answers=answers,
        drawn=drawn,
        empty=pictures.empty(answers, WITHOUT_RESULT),
        recorded=frozenset(recorded),
        firing=frozenset(alert.labels["alertname"] for alert in fired),
        scraped=tuple(_scraped(prometheus, begin, end)),
    )


def _scraped(prometheus: Prometheus, begin: float, end: float) -> Iterator[Scraped]:
    counts = prometheus.between("scrape_samples_scraped > 0", begin, end, 1.0)
    seconds = {
        line.labels["instance"]: [value for _, value in line.points]
        for line in prometheus.between("scrape_duration_seconds", begin, end, 1.0)
    }
    for line in sorted(counts, key=lambda line: (line.labels["job"], line.labels["instance"])):
        took: Sequence[float] = seconds[line.labels["instance"]]
        yield Scraped(
            job=line.labels["job"],
            instance=line.labels["instance"],
            series=int(max(value for _, value in line.points)),
            scrapes=len(line.points),
            median_seconds=statistics.median(took),
            longest_seconds=max(took),
        )
