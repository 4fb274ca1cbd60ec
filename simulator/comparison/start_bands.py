"""How often jobs of a trace start inside the band of their estimate, under the extender itself.

Jobs state a duration as far as ``Stating`` says; what was stated is off by a factor that is drawn.
The extender's decisions and its forecast see no more than that, and runs that have ended.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extender.core.cluster.session import Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import forecast, hypothetical, start_calibration
from extender.core.queue.start_calibration import Ahead, Where
from shared.model import JobKey
from simulator.cluster import objects
from simulator.cluster.actions import Action
from simulator.cluster.decider import View
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.events import EPOCH_SECONDS
from simulator.cluster.run import simulate
from simulator.comparison.windows import alone_seconds
from simulator.seeds import generator
from simulator.workload import Workload

_STREAM: Final = 91
EVERY_SECONDS: Final = 60.0
"""Estimates are made at most so often, at a decision."""


@dataclass(frozen=True)
class Stating:
    """What owners state of their jobs.

    Attributes:
        share: Of the jobs whose owner states a duration.
        error: Standard deviation of ln(true duration/stated duration).
    """

    share: float = 0.5
    error: float = 0.3


class Observer:
    """The extender, with the estimates that it makes on the way.

    Attributes:
        kept: The first estimate of each distance, by job.
    """

    oracle: Final = False

    def __init__(self, parameters: CoreParameters) -> None:
        self.kept: dict[JobKey, Mapping[Ahead, forecast.Estimate]] = {}
        self._engine = EngineDecider(parameters)
        self._next_at = -math.inf

    def decide(self, view: View) -> Sequence[Action]:
        """Decide as the engine does, then estimate the starts of the jobs that wait."""
        actions = self._engine.decide(view)
        cycle = self._engine.last
        if cycle is not None and view.now >= self._next_at:
            self._next_at = view.now + EVERY_SECONDS
            session = Session(view.snapshot, view.reading, self._engine.parameters)
            if actions:
                then = hypothetical.carried_out(view.snapshot, cycle)
                session = replace(session, snapshot=then)
            found = forecast.estimates(session, cycle)
            self.kept |= start_calibration.kept(self.kept, found, session.now)
        return actions

    def wakes_at(self, now: float) -> float | None:
        """Return when the engine decides again."""
        return self._engine.wakes_at(now)


@dataclass(frozen=True)
class Counted:
    """How many starts were where, by how far ahead their estimate was.

    Attributes:
        starts: Estimates whose job has started.
        waited: Jobs that waited for long enough to have an estimate.
    """

    starts: Mapping[tuple[Ahead, Where], int] = field(default_factory=dict)
    waited: int = 0

    def inside(self, ahead: Ahead | None = None) -> float:
        """Return the share of starts inside their band; of all distances: None; NaN for none."""
        chosen = {at: n for at, n in self.starts.items() if ahead in {None, at[0]}}
        every = sum(chosen.values())
        inside = sum(n for (_, where), n in chosen.items() if where is Where.INSIDE)
        return inside / every if every else math.nan

    def plus(self, other: "Counted") -> "Counted":
        """Return both together."""
        starts = Counter(self.starts) + Counter(other.starts)
        return Counted(dict(starts), self.waited + other.waited)


def count(workload: Workload, params: CoreParameters, stating: Stating, seed: int) -> Counted:
    """Run a workload under the extender, and judge every estimate whose job has started."""
    observer = Observer(params)
    outcome = simulate(stated(workload, stating, seed), observer)
    began = {record.name: record.started_at for record in outcome.jobs}
    found: Counter[tuple[Ahead, Where]] = Counter()
    for key, estimates in observer.kept.items():
        at = began[objects.job_name(key)]
        if at is not None:
            for one in start_calibration.judged(estimates, EPOCH_SECONDS + at):
                found[one.ahead, one.where] += 1
    return Counted(dict(found), len(observer.kept))


def stated(workload: Workload, stating: Stating, seed: int) -> Workload:
    """Return the workload with what owners state, and names that no two jobs share."""
    draws = generator(seed, _STREAM)
    jobs = []
    for job in workload.jobs:
        has, factor = draws.random() < stating.share, math.exp(draws.normal(0.0, stating.error))
        seconds = alone_seconds(job, workload.machines) / factor if has else None
        jobs.append(replace(job, name=f"{job.name}-x", expected_seconds=seconds))
    return replace(workload, jobs=tuple(jobs))
