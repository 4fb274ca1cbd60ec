"""``python -m bench monitoring``: the demo under a real Prometheus; every query, every picture.

Prometheus scrapes the extender and the agents each second and evaluates our rules. When the jobs
have finished, every query of every panel and rule is asked, and each dashboard is drawn of what
Prometheus said.
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
from devcluster.extender_process import merged
from devcluster.ports import free_ports
from monitoring import manifests, pictures, server
from monitoring.dashboards import ALL
from monitoring.pictures import Result, Span
from monitoring.queries import WITHOUT_RESULT
from monitoring.rules import ALERTS
from monitoring.rules.recording import RECORDINGS
from monitoring.server import Prometheus
from shared.system_clock import SystemClock

INTERVAL_SECONDS: Final = 1
LAST_LOOK_SECONDS: Final = 12.0
"""How long is scraped on after the last job: a rate needs two values."""
QUIET_END_SECONDS: Final = 6.0
"""Pictures end so long before the last training does: numbers show a yard at work."""
SURE_TO_MOVE: Final = {
    "migration": {"policy": "count", "count_pause_seconds": 5, "minimum_gain_ratio": 0}
}
"""Nodes are kept equally full, and a move need not pay: on a busy machine too somebody is moved."""
RULES: Final = Path(manifests.FOLDER) / "plain/rules.yaml"
PICTURES: Final = Path("docs/monitoring")


@dataclass(frozen=True)
class Scraped:
    """What scraping one target costs; times in seconds, as Prometheus saw them."""

    job: str
    instance: str
    series: int
    scrapes: int
    median_seconds: float
    longest_seconds: float


@dataclass(frozen=True)
class Watched:
    """What a run under Prometheus gave.

    Attributes:
        answers: Of every query of every panel.
        drawn: The same while something was training.
        empty: Queries that found nothing and have no reason for it.
        recorded: Names of recording rules that have a value.
        firing: Alerts that fired at any time.
        scraped: What scraping cost, by target.
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
    parser.add_argument("--format", choices=("svg", "png"), default="svg", help="of the pictures")
    parser.add_argument("--json", type=Path, help="write what scraping costs to this file")


def run(options: argparse.Namespace) -> int:
    """Run it, draw it, say what found nothing; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="monitored-") as directory:
        seen = watched(Path(directory))
    pictures.draw(seen.drawn, options.pictures, options.format)
    for one in seen.scraped:
        print(
            f"{one.job:20} {one.instance:12} {one.series:5} series, scrape "
            f"{1000 * one.median_seconds:.1f} ms, longest {1000 * one.longest_seconds:.1f} ms"
        )
    if options.json:
        results.write(options.json, [asdict(one) for one in seen.scraped])
    for board, panel, text in seen.empty:
        print(f"{board} / {panel}: nothing found by {text}")
    print(f"{len(seen.answers)} queries asked; alerts that fired: {sorted(seen.firing) or 'none'}")
    return int(bool(seen.empty))


def watched(directory: Path) -> Watched:
    """Run the demo's jobs under a Prometheus and ask it everything."""
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
            return _asked(prometheus, begin, clock.now())
    finally:
        demo.cluster.down()


async def _run(demo: show.Demo, prometheus: Prometheus) -> None:
    async with asyncio.TaskGroup() as group:
        following = group.create_task(_follow(demo.cluster, prometheus))
        await show.run(demo, finished=None)
        await asyncio.sleep(LAST_LOOK_SECONDS)
        following.cancel()


async def _follow(cluster: Cluster, prometheus: Prometheus) -> None:
    """Tell Prometheus of everybody who is there, until cancelled."""
    told: dict[str, dict[str, str]] = {}
    while True:
        found = await asyncio.to_thread(targets, cluster)
        if found != told:
            prometheus.watch(found)
            told = found
        await asyncio.sleep(INTERVAL_SECONDS)


def targets(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Return who can be scraped now: job → instance → address."""
    found: dict[str, dict[str, str]] = {"shuntyard-agent": dict(_agents(cluster))}
    if cluster.runs("extender"):
        address = cluster.extender_url.removeprefix("http://")
        found["shuntyard-extender"] = {"extender": address}
    return found


def _agents(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the node and the address of every agent: each listens on one port of its own."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if not any(word.endswith("shuntyard-agent") for word in words):
            continue
        try:
            environ = process.environ()
            listening = [one for one in process.net_connections("tcp") if one.status == "LISTEN"]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if str(cluster.directory) in " ".join(environ.values()) and listening:
            address = listening[0].laddr
            yield environ.get("NODE_NAME", "node"), f"{address[0]}:{address[1]}"


def _asked(prometheus: Prometheus, begin: float, end: float) -> Watched:
    span = Span(begin, end, step=1.0, rate="10s", window="5m")
    answers = tuple(pictures.run(prometheus, ALL, span))
    training = prometheus.between("sum(shuntyard_training_pods) > 0", begin, end, 1.0)
    busy = replace(span, end=training[0].points[-1][0] - QUIET_END_SECONDS) if training else span
    drawn = tuple(pictures.run(prometheus, ALL, busy))
    recorded = [one.name for one in RECORDINGS if prometheus.between(one.name, begin, end, 1.0)]
    for alert in ALERTS:
        prometheus.ask(alert.text, at=end)
    fired = prometheus.between('ALERTS{alertstate="firing"}', begin, end, 1.0)
    return Watched(
        answers=answers,
        drawn=drawn,
        empty=pictures.empty(answers, WITHOUT_RESULT),
        recorded=frozenset(recorded),
        firing=frozenset(one.labels["alertname"] for one in fired),
        scraped=tuple(_scraped(prometheus, begin, end)),
    )


def _scraped(prometheus: Prometheus, begin: float, end: float) -> Iterator[Scraped]:
    counts = prometheus.between("scrape_samples_scraped > 0", begin, end, 1.0)
    seconds = {
        one.labels["instance"]: [value for _, value in one.points]
        for one in prometheus.between("scrape_duration_seconds", begin, end, 1.0)
    }
    for one in sorted(counts, key=lambda line: (line.labels["job"], line.labels["instance"])):
        took: Sequence[float] = seconds[one.labels["instance"]]
        yield Scraped(
            job=one.labels["job"],
            instance=one.labels["instance"],
            series=int(max(value for _, value in one.points)),
            scrapes=len(one.points),
            median_seconds=statistics.median(took),
            longest_seconds=max(took),
        )
