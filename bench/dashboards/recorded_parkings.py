"""An hour in which jobs leave for others, for every cause that the extender searches for.

The searches are the extender's own: guaranteed shares, importance, remaining service. Two nodes are
drained, and a gang that sits on more nodes than it needs moves where it fits beside itself. Each
job that leaves has the record that the extender would write, and the metrics are made from that.
How long trainers save, and which do not answer, is drawn by chance; a restart takes as long as the
simulated job pauses.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec.structs import replace as changed

from bench.dashboards.samples import HOUR_SECONDS, STEP_SECONDS, Sample, collected
from extender.core.cluster import job_views
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import PUBLISHED
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.parameters.queue import FairShareParameters, Order
from extender.core.preemption import by_service, by_share, priority
from extender.core.queue import parked
from extender.core.records.parking import Cause, Parking, Phase
from extender.core.records.parking_cost import Cost
from extender.metrics.extender import ExtenderMetrics
from shared import labels
from shared.model import JobKey, Uid
from simulator.baselines.estimates import Estimates
from simulator.cluster import objects
from simulator.cluster.actions import Action, Placement, Preempt, Start
from simulator.cluster.decider import JobView, View, next_tick
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.run import simulate
from simulator.comparison.deciders.service import Service
from simulator.workload import Job, Workload

NAMES: Final = (
    *("shuntyard_parking", "shuntyard_parked", "shuntyard_drain_budget_jobs"),
    "shuntyard_no_drain_budget_jobs",
)
"""What the names of the recorded metrics begin with."""
SHARES: Final = {"language": "0.3", "vision": "0.3", "speech": "0.2", "robots": "0.1"}
URGENT: Final = "speech"
"""Its jobs are the most important ones."""
DRAINS: Final = ((900.0, "3"), (2400.0, "7"))
"""When a node is drained, seconds, and the end of its name."""
MOVE_SECONDS: Final = 120.0
"""A gang moves this often at most."""
SILENT: Final = 0.15
"""Share of the searches after which a trainer does not answer, and all jobs stay."""
SAVE_SECONDS: Final = (2.0, 8.0)
RESTART_SECONDS: Final = (20.0, 80.0)
PARAMETERS: Final = replace(
    PUBLISHED,
    order=Order.SERVICE,
    fair_share=FairShareParameters(enabled=True, reclaim=True),
    preemption=PreemptionParameters(
        enabled=True, least_wait_seconds=60.0, least_run_seconds=120.0, rest_seconds=300.0
    ),
)


def _service() -> Service:
    return Service(
        EngineDecider(PARAMETERS, rests=False),
        Estimates(1, 0.0),
        leaving_seconds=SAVE_SECONDS[1],
        searches=(by_share.proposals, priority.proposals, by_service.proposals),
    )


@dataclass
class ParkingHour:
    """The scheduler with its parkings, their records, and their metrics at fixed times.

    Attributes:
        work: What runs.
        service: The extender's queue and searches.
        samples: Of the metrics, in the order of time.
    """

    work: Workload
    service: Service = field(default_factory=_service)
    metrics: ExtenderMetrics = field(default_factory=ExtenderMetrics)
    samples: list[Sample] = field(default_factory=list)
    oracle: Final = True
    _chance: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311 - a workload
    _asked: frozenset[str] = frozenset()
    _drains: list[tuple[float, str]] = field(default_factory=lambda: list(DRAINS))
    _parked: dict[str, Parking] = field(default_factory=dict)
    _restarts: list[tuple[float, Parking]] = field(default_factory=list)

    def decide(self, view: View) -> Sequence[Action]:
        """Return what nodes that go, moves, or else the extender decide; note what leaves."""
        shared = _with_shares(view.snapshot)
        view = replace(view, _snapshot=lambda: shared)
        actions, cause = tuple(self._drained(view)), Cause.DRAIN
        if not actions and view.now % MOVE_SECONDS == 0 and not self.service.leaving:
            actions, cause = tuple(self._moved(view)), Cause.MOVE
        if not actions:
            before = len(self.service.left)
            actions = tuple(self.service.decide(view))
            news = self.service.left[before:]
            cause = news[0][1].cause if news else cause
            self._given_up(view.now)
        self._follow(view, actions, cause)
        if view.now % STEP_SECONDS == 0:
            self._measure(view)
        return actions

    def wakes_at(self, now: float) -> float | None:
        """Return when the extender wakes, at the latest when it is time to measure."""
        tick, wish = next_tick(now, STEP_SECONDS), self.service.wakes_at(now)
        return tick if wish is None else min(tick, wish)

    def _given_up(self, now: float) -> None:
        """Let some of the jobs stay that were asked to leave a moment ago."""
        asked, self._asked = self._asked, self.service.leaving
        if not self._asked or asked == self._asked or self._chance.random() >= SILENT:
            return
        self._asked = frozenset()
        stays = self.service.give_up()
        if stays is not None:
            names = map(objects.job_name, stays.jobs)
            records = (self._record(now, name, stays.cause) for name in names)
            ended = [changed(one, phase=Phase.ABORTED, parked_at=0.0) for one in records]
            self.metrics.parking.observe(ended, ())

    def _drained(self, view: View) -> Iterator[Action]:
        """Yield the ends of the jobs on a node that is drained now."""
        due = [one for one in self._drains if one[0] <= view.now]
        self._drains = [one for one in self._drains if one not in due]
        for _, node in due:
            for job in view.running:
                nodes = job.placement.nodes if job.placement else ()
                if job.spec.movable and any(name.endswith(node) for name in nodes):
                    yield Preempt(job.name)

    def _moved(self, view: View) -> Iterator[Action]:
        """Yield the move of the gang that saves most nodes."""
        found = [(gain, place, job) for job in view.running for gain, place in _closer(view, job)]
        if found:
            _, place, job = max(found, key=lambda one: (one[0], one[2].name))
            yield from (Preempt(job.name), Start(job.name, place))

    def _follow(self, view: View, actions: Sequence[Action], cause: Cause) -> None:
        """Note which jobs leave and which come back."""
        ended, measured = [], [one for due, one in self._restarts if due <= view.now]
        self._restarts = [one for one in self._restarts if one[0] > view.now]
        for action in actions:
            if isinstance(action, Preempt):
                self._parked[action.job] = self._record(view.now, action.job, cause)
            elif isinstance(action, Start) and action.job in self._parked:
                one = changed(
                    self._parked.pop(action.job), phase=Phase.RESUMED, resumed_at=view.now
                )
                ended.append(one)
                seconds = one.cost.restart_seconds or 0.0
                self._restarts.append((view.now + seconds, one))
        present = [Phase.PARKED] * len(self._parked) + [Phase.ASKED] * len(self.service.leaving)
        self.metrics.parking.observe(ended, present, measured)

    def _record(self, now: float, name: str, cause: Cause) -> Parking:
        (job,) = (one for one in self.work.jobs if one.name == name)
        cost = Cost(
            save_seconds=self._chance.uniform(*SAVE_SECONDS),
            restart_seconds=job.pause_seconds,
            stopped_step=0,
            resumed_step=0,
        )
        return Parking(
            id=f"{name}-{now:g}",
            phase=Phase.PARKED,
            cause=cause,
            at=now,
            since=now,
            job=JobKey(f"{job.namespace}/job/{name}"),
            owner=Uid(name),
            parked_at=now,
            cost=cost,
        )

    def _measure(self, view: View) -> None:
        budgets = sum(job.spec.movable for job in view.running)
        self.metrics.parking.observe_budgets(budgets, ())
        self.samples += collected(self.metrics.registry, NAMES, view.now)


def _with_shares(snapshot: Snapshot) -> Snapshot:
    """Return the cluster in which each team is guaranteed a share."""
    teams = {
        name: changed(team, annotations={**team.annotations, labels.GUARANTEED_SHARE: share})
        for name, share in SHARES.items()
        if (team := snapshot.namespaces.get(name)) is not None
    }
    return replace(snapshot, namespaces={**snapshot.namespaces, **teams})


def _closer(view: View, job: JobView) -> Iterator[tuple[int, Placement]]:
    """Yield how many nodes a gang saves if it moves, and where, if it fits beside itself."""
    if job.placement is None or job.pausing or not job.spec.movable:
        return
    session = Session(view.snapshot, view.reading, PARAMETERS)
    key = next(key for key in view.snapshot.jobs if objects.job_name(key) == job.name)
    gang = job_views.view(view.snapshot, key)
    places = parked.places_beside(session, gang, Uid(job.name), view.snapshot.node_table)
    nodes = () if places is None else tuple(node for _, node in places)
    saved = len(job.placement.nodes) - len(Counter(nodes))
    if nodes and saved > 0:
        yield saved, Placement(nodes)


def record(work: Workload) -> ParkingHour:
    """Run a workload for an hour, and return what was measured."""
    hour = ParkingHour(work)
    simulate(work, hour, until=HOUR_SECONDS)
    return hour


def workload(work: Workload, seed: int = 2) -> Workload:
    """Return the same jobs with known lengths, checkpoints, and one team that is more important."""
    chance = random.Random(seed)  # noqa: S311 - a workload

    def able(job: Job) -> Job:
        return replace(
            job,
            movable=True,
            pause_seconds=chance.uniform(*RESTART_SECONDS),
            expected_seconds=job.work / job.workers,
            class_value=1000 if job.namespace == URGENT else job.class_value,
        )

    return replace(work, jobs=tuple(map(able, work.jobs)))
