"""``python -m bench recorded``: hours of a GPU cluster with four teams, for two pages.

The simulator runs the extender's own queue in virtual time. Every 15 virtual seconds the metrics of
GPUs and teams are measured as the extender measures them, and in a second hour those of parkings
(``recorded_parkings``). Prometheus gets each hour as a block, answers the queries of the page, and
the page is drawn.
"""

import argparse
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.dashboards import recorded_parkings
from bench.dashboards.samples import HOUR_SECONDS, STEP_SECONDS, Sample, collected, lines
from devcluster.local.ports import free_ports
from extender.core.cluster.session import Session
from extender.core.parameters.placement import NodePriceParameters
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from extender.metrics.extender import ExtenderMetrics
from monitoring import manifests, pictures, server
from monitoring.dashboards.parkings import PARKINGS
from monitoring.dashboards.teams import TEAMS
from monitoring.panels import Dashboard
from monitoring.pictures import Span
from shared.system_clock import SystemClock
from simulator.cluster.actions import Action
from simulator.cluster.decider import View, next_tick
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.run import simulate
from simulator.workload import GIB, GPU, Job, Workload, equal_machines

NAMES: Final = ("shuntyard_gpus", "shuntyard_team_")
"""What the names of the recorded metrics begin with."""
PICTURES: Final = Path("docs/monitoring")
RULES: Final = Path(manifests.FOLDER) / "plain/rules.yaml"
_TEAMS: Final = {"language": (8, 16), "vision": (4, 8), "speech": (1, 4), "robots": (2, 2)}
"""Namespaces, and the least and most workers of their jobs."""
_JOBS: Final = 90
_CPU_MILLI: Final = 64_000


@dataclass(frozen=True)
class Linear:
    """One unit of work per second and worker."""

    def rate(self, workers: int, nodes: int) -> float:
        """Return units of work per second."""
        return float(workers) if nodes else 0.0


@dataclass
class Recording:
    """The scheduler of the extender, with its metrics measured at fixed times.

    Attributes:
        samples: Of the metrics, in the order of time.
    """

    engine: EngineDecider = field(default_factory=EngineDecider)
    metrics: ExtenderMetrics = field(default_factory=ExtenderMetrics)
    samples: list[Sample] = field(default_factory=list)
    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Decide as the engine does; measure if it is time."""
        if view.now % STEP_SECONDS == 0:
            self._measure(view)
        return self.engine.decide(view)

    def wakes_at(self, now: float) -> float | None:
        """Return when the engine wants to decide, at the latest when it is time to measure."""
        tick, wish = next_tick(now, STEP_SECONDS), self.engine.wakes_at(now)
        return tick if wish is None else min(tick, wish)

    def _measure(self, view: View) -> None:
        session = Session(view.snapshot, view.reading, self.engine.parameters)
        outcome = QUEUE.decide(session, QueueState(), QueueTrigger())
        self.metrics.teams.observe_queue(outcome.entries)
        self.metrics.teams.observe_gpus(view.snapshot, view.now)
        self.metrics.cluster.observe_nodes(view.snapshot.node_table, NodePriceParameters())
        self.samples += collected(self.metrics.registry, NAMES, view.now)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="folder for the picture")
    parser.add_argument("--format", choices=("svg", "png"), default="svg", help="of the picture")


def run(options: argparse.Namespace) -> int:
    """Record the hours, draw the pages, print empty queries, and return the exit code."""
    hours = {
        TEAMS: record(workload()).samples,
        PARKINGS: recorded_parkings.record(recorded_parkings.workload(workload())).samples,
    }
    failed = [_drawn(page, samples, options) for page, samples in hours.items()]
    return int(any(failed))


def _drawn(page: Dashboard, samples: Sequence[Sample], options: argparse.Namespace) -> bool:
    """Draw a page of an hour; return True if a query of it has no result."""
    begin = SystemClock().now() // STEP_SECONDS * STEP_SECONDS - HOUR_SECONDS - STEP_SECONDS
    span = Span(begin, begin + HOUR_SECONDS, STEP_SECONDS, rate="1m", window="1h")
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="recorded-") as name:
        directory = Path(name)
        hour = directory / "hour.txt"
        hour.write_text("".join(lines(samples, begin)))
        server.fill(directory, hour)
        with server.running(directory, port, rules=RULES, interval_seconds=60) as prometheus:
            results = tuple(pictures.run(prometheus, (page,), span))
    pictures.draw(results, options.pictures, options.format)
    empty = pictures.empty(results, {})
    for board, panel, text in empty:
        print(f"{board} / {panel}: no result of {text}")
    print(f"{page.title}: {len(samples)} samples, {len(results)} queries")
    return bool(empty)


def record(work: Workload) -> Recording:
    """Run a workload for an hour, and return what was measured."""
    recording = Recording()
    simulate(work, recording, until=HOUR_SECONDS)
    return recording


def workload(seed: int = 1) -> Workload:
    """Return 12 machines with 8 GPUs, and more jobs than they can hold at one time.

    The workers of one team take much CPU, so GPUs beside them are stranded at times.
    """
    chance = random.Random(seed)  # noqa: S311 - a workload
    jobs = []
    for number in range(_JOBS):
        team = chance.choice(list(_TEAMS))
        workers = chance.randint(*_TEAMS[team])
        cpu = 15_900 if team == "robots" else 4_000
        jobs.append(
            Job(
                name=f"{team}-{number}",
                namespace=team,
                submitted_at=round(chance.uniform(0.0, 0.8 * HOUR_SECONDS), 1),
                workers=workers,
                worker={GPU: 1, "cpu": cpu, "memory": 8 * GIB},
                work=workers * chance.uniform(300.0, 1500.0),
                speed=Linear(),
            )
        )
    machines = equal_machines(12, gpus=8, cpu_milli=_CPU_MILLI, memory=512 * GIB)
    return Workload(tuple(jobs), machines, source=f"teams, seed {seed}")
