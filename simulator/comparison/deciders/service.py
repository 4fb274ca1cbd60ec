"""The extender with its parkings: running jobs leave for others, by the order `service` or more.

Which jobs leave for which is the extender's own search (``extender.core.preemption``), with its
price. A pass for it is due when something changed and at an interval, as live. A job reports its
progress if it has a loss; the agent's prediction of its end is the estimate, without a band.

The jobs of a parking leave after ``leaving_seconds``; until then they train, and the room is not
free. Then the job for which they left starts in their place. What they lose by holding and by
starting again is their pause.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Session, States
from extender.core.cluster.snapshot import Snapshot
from extender.core.placement import planner
from extender.core.preemption import by_service, priority
from extender.core.queue import running_jobs
from extender.core.queue.decision import QUEUE
from extender.core.records import migrations
from extender.core.records.parking import MayLeave, ParkingProposal
from shared.model import NodeName, Uid
from shared.progress import NodeReport, PodReport, Progress, Span
from simulator.baselines.estimates import Estimates, rate_on
from simulator.cluster import objects
from simulator.cluster.actions import Action, Preempt
from simulator.cluster.decider import JobView, View, next_tick
from simulator.cluster.engine_decider import EngineDecider, started

HOUR_SECONDS: Final = 3600.0

Search = Callable[[Session, MayLeave], tuple[ParkingProposal, ...]]
"""Returns which jobs should leave for others, given which may."""


@dataclass
class Service:
    """See the module.

    Attributes:
        engine: With the order and the limits of parkings; it must not rest.
        estimates: Lengths of jobs.
        interval_seconds: Searches are made this often.
        leaving_seconds: From a search to the end of the jobs that leave.
        searches: The extender's, one for each cause.
        left: When jobs have left, and for what.
    """

    engine: EngineDecider
    estimates: Estimates
    interval_seconds: float = 30.0
    leaving_seconds: float = 0.0
    searches: Sequence[Search] = (by_service.proposals,)
    left: list[tuple[float, ParkingProposal]] = field(default_factory=list)
    oracle: Final = True
    _parked_at: dict[str, list[float]] = field(default_factory=dict)
    _open: tuple[float, ParkingProposal] | None = None

    def decide(self, view: View) -> Sequence[Action]:
        """Return what the queue starts; if that is nothing, which jobs leave and what starts."""
        reported = self._reported(view)
        view = dataclasses.replace(view, _snapshot=lambda: reported)
        actions = self.engine.decide(view)
        if actions:
            return actions
        session = self._session(view)
        if self._open is None:
            self._open = self._proposed(session, view)
        if self._open is None or self._open[0] > view.now:
            return ()
        (_, proposal), self._open = self._open, None
        return self._carried_out(session, view, proposal)

    def wakes_at(self, now: float) -> float | None:
        """Return when jobs leave, when the engine wakes, or the next search."""
        due = next_tick(now, self.interval_seconds) if self._open is None else self._open[0]
        engine = self.engine.wakes_at(now)
        return due if engine is None else min(due, engine)

    @property
    def leaving(self) -> frozenset[str]:
        """The jobs that are about to leave."""
        return frozenset(map(objects.job_name, self._open[1].jobs)) if self._open else frozenset()

    def give_up(self) -> ParkingProposal | None:
        """Let the jobs stay that are about to leave, as when a trainer does not save."""
        stays, self._open = self._open, None
        return None if stays is None else stays[1]

    def _session(self, view: View) -> Session:
        states = States({QUEUE.name: self.engine.state})
        return Session(view.snapshot, view.reading, self.engine.parameters, states)

    def _proposed(self, session: Session, view: View) -> tuple[float, ParkingProposal] | None:
        def may_leave(session: Session, job: Job, _asked: ParkingProposal) -> bool:
            return self._may_leave(session, job, view)

        found = tuple(one for search in self.searches for one in search(session, may_leave))
        return (view.now + self.leaving_seconds, found[0]) if found else None

    def _may_leave(self, session: Session, job: Job, view: View) -> bool:
        """Return True if the limits of parkings let a job leave: those of ``new_parkings``."""
        shown = view.job(objects.job_name(job.key))
        if shown is None or shown.placement is None or not shown.spec.movable:
            return False
        params, before = session.parameters.preemption, self._parked_at.get(shown.name, [])
        ran = session.now - running_jobs.started_at(session.snapshot.jobs[job.key], session.now)
        recent = [at for at in before if view.now - at < HOUR_SECONDS]
        least = max(params.least_run_seconds, params.rest_seconds if before else 0.0)
        return ran >= least and len(recent) < params.most_per_hour

    def _carried_out(
        self, session: Session, view: View, proposal: ParkingProposal
    ) -> Sequence[Action]:
        """Return the end of those that leave and the start; nothing if it does not fit any more."""
        snapshot, key = session.snapshot, proposal.starts
        leaving = [name for name in map(objects.job_name, proposal.jobs) if _runs(view, name)]
        if key is None or key not in snapshot.waiting or len(leaving) < len(proposal.jobs):
            return ()
        freed = [place for one in proposal.jobs for place in priority.places(session, one)]
        table = migrations.without_reservations(snapshot.node_table, freed)
        job = job_views.view(snapshot, key)
        plan = planner.plan(job, table, session.parameters, 0.0, was_whole=False)
        if not isinstance(plan, planner.Plan):
            return ()
        for name in leaving:
            self._parked_at.setdefault(name, []).append(view.now)
        self.left.append((view.now, proposal))
        return [*map(Preempt, leaving), started(plan.release, view)]

    def _reported(self, view: View) -> Snapshot:
        """Return the snapshot with a report of each node: how long its jobs need."""
        snapshot = view.snapshot
        pods: dict[NodeName, dict[Uid, PodReport]] = {}
        for key, members in snapshot.jobs.items():
            shown = view.job(objects.job_name(key))
            progress = None if shown is None else self._progress(shown, view)
            for pod in members if progress is not None else ():
                if (node := snapshot.bound.get(pod.uid)) is not None:
                    pods.setdefault(node, {})[pod.uid] = PodReport(uid=pod.uid, progress=progress)
        reports = {node: _report(node, some, view) for node, some in pods.items()}
        return dataclasses.replace(snapshot, reports=reports)

    def _progress(self, job: JobView, view: View) -> Progress | None:
        if job.share is None or job.placement is None:
            return None
        rate = rate_on(job, job.placement)
        if not rate > 0:
            return None
        left = self.estimates.left(job, view.machines) / rate
        return Progress(
            metric="loss",
            source="",
            updated_at=view.reading.now,
            remaining_seconds=Span(left, left, left),
        )


def _report(node: NodeName, pods: Mapping[Uid, PodReport], view: View) -> NodeReport:
    return NodeReport(
        node=node,
        boot="",
        sequence=0,
        sent_at=view.reading.now,
        received_at=view.reading.monotonic,
        complete=True,
        pods=pods,
    )


def _runs(view: View, name: str) -> bool:
    job = view.job(name)
    return job is not None and job.placement is not None
