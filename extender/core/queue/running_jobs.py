"""Which jobs run on which nodes, and until when.

A job's duration comes from the status of its object, an annotation, earlier runs of its name or the
reports of agents. The first source with a duration counts; for a job that runs, the first whose end
has not passed. If none counts, the end is unknown, with a reason.

The status comes first: the training wrote it a moment ago and knows the steps to come. An
annotation and earlier runs are from before this run began. An agent knows only what it reads in log
files, so it comes last.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import Final, NamedTuple

from extender.core.cluster import job_spec, owner_progress, pod_shape
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.placement import wishes
from extender.core.queue.backfill import RunningJob
from extender.core.queue.state import QueueState
from extender.core.records import elastic_workers, parking
from shared.model import JobKey, Node, Pod, PodShape, Uid

MOST_NAMES: Final = 1000
"""Names whose runs are kept; the one that ran longest ago goes first."""


MOST_RUNS: Final = 5
"""Runs that are kept of a name."""


MOST_RATIOS: Final = 60
"""Runs of which it is kept how well their owner stated the duration."""


_GENERATED: Final = re.compile(r"-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|\d+)$")
"""What ``generateName`` and CronJob add to a name, and a number that people add.

Source:
    ``k8s.io/apimachinery/pkg/util/rand``: five of these characters, no vowels.
"""


class Source(StrEnum):
    """Where a duration is from."""

    STATUS = "status"
    """The status of the job's own object: ``trainerStatus`` of a TrainJob."""
    ANNOTATION = "annotation"
    """``shuntyard.io/expected-duration``."""
    HISTORY = "history"
    """The longest of the last runs of the same name."""
    PROGRESS = "progress"
    """The agent's prediction for the training run, upper end of its band."""


class Unknown(StrEnum):
    """Why the end of a job is not known."""

    UNSTATED = "unstated"
    """No annotation, no earlier run, no prediction."""
    OVERRUN = "overrun"
    """It has run for longer than every source states: it may end at any moment."""


@dataclass(frozen=True)
class Length:
    """How long a job runs from its start."""

    seconds: float
    source: Source


@dataclass(frozen=True)
class End:
    """When a running job ends, seconds since the epoch, and its source; or why it is unknown.

    ``at`` is the upper end of the band, ``expected`` its middle; None where there is no band.
    """

    at: float | None
    why: Source | Unknown
    expected: float | None = None


def length(
    job: Job, runs: Mapping[str, tuple[float, ...]], nodes: Iterable[Node] | None = None
) -> Length | None:
    """Return how long a job runs from its start; None if unknown.

    What is stated holds on the first model of ``shuntyard.io/accelerators``.

    Args:
        job: The job.
        runs: Lengths of earlier runs, by name.
        nodes: Where it will run; None: perhaps on the slowest model that it states.
    """
    stated, order = job.spec.expected_seconds, job.spec.accelerators
    if stated is not None and order:
        stated *= wishes.slowest(order) if nodes is None else wishes.slowdown(order, nodes)
    return _stated(stated, job.key, runs)


def expected_end(
    session: Session, pods: Sequence[Pod], key: JobKey, started_at: float, state: QueueState
) -> End:
    """Return when a job that runs ends.

    Args:
        session: The cluster, now.
        pods: The job's pods.
        key: The job.
        started_at: Seconds since the epoch.
        state: For earlier runs.
    """
    snapshot, now = session.snapshot, session.now
    stated = stated_on_its_nodes(snapshot, pods)
    past = state.runs.get(run_name(key)) if state.runs else None
    status = owner_progress.read(snapshot, pods, started_at, now)
    sources = [
        End(status.ends_at(now) if status else None, Source.STATUS),
        End(None if stated is None else started_at + stated, Source.ANNOTATION),
        _by_runs(past or (), started_at, now),
        _predicted(session, pods),
    ]
    ends = [(end.at, end) for end in sources if end.at is not None]
    ahead = next((end for at, end in ends if at > now), None)
    return ahead or End(None, Unknown.OVERRUN if ends else Unknown.UNSTATED)


def stated_on_its_nodes(snapshot: Snapshot, pods: Sequence[Pod]) -> float | None:
    """Return how long its owner says that the job runs, on the models of GPUs that it has.

    What is stated holds on the first model of ``shuntyard.io/accelerators``.
    """
    over = above(snapshot, pods[0])
    stated, order = job_spec.expected_seconds(pods[0], over), job_spec.accelerators(pods[0], over)
    if stated is None or not order:
        return stated
    table = snapshot.node_table
    names = {snapshot.bound[pod.uid] for pod in pods if pod.uid in snapshot.bound}
    nodes = (table.nodes[table.index[name]] for name in names if name in table.index)
    return stated * wishes.slowdown(order, nodes)


def lasts(
    job: Job, session: Session, state: QueueState, nodes: Iterable[Node] | None = None
) -> float | None:
    """Return how long members that start now run, in seconds; None if unknown.

    Those of a job that runs end with it; ``nodes`` as in ``length``.
    """
    if not job.having(State.BOUND):
        duration = length(job, state.runs, nodes)
        return None if duration is None else duration.seconds
    pods = session.snapshot.jobs[job.key]
    since = started_at(pods, session.now)
    at = expected_end(session, pods, job.key, since, state).at
    return None if at is None else at - session.now


def left_by_status(snapshot: Snapshot, key: JobKey, now: float) -> float | None:
    """Return the seconds to the end of a job that runs by its object's status; None if unknown."""
    pods = snapshot.jobs[key]
    status = owner_progress.read(snapshot, pods, started_at(pods, now), now)
    at = status.ends_at(now) if status else None
    return None if at is None or at <= now else at - now


def started_at(pods: Iterable[Pod], now: float) -> float:
    """Return since when a job runs: since its last pod that runs was bound; now if none was."""
    bound = [pod.scheduled_at for pod in pods if pod.scheduled_at and not pod.finished]
    return min(now, max(bound, default=now))


def run_name(key: JobKey) -> str:
    """Return the job's key without what was generated at its end."""
    return _GENERATED.sub("", key)


class Runs(NamedTuple):
    """Runs of jobs as ``QueueState`` keeps them: present ones, past ones, and how well stated."""

    running: Mapping[JobKey, float]
    runs: Mapping[str, tuple[float, ...]]
    stated_ratios: tuple[float, ...]


def remembered(state: QueueState, snapshot: Snapshot, whole: Iterable[Job], now: float) -> Runs:
    """Return which jobs run since when, how long runs took, and how well that had been stated.

    Args:
        state: Of the last pass.
        snapshot: The cluster.
        whole: Jobs that this pass viewed whose gang is whole.
        now: Seconds since the epoch.
    """
    running, runs, ratios = dict(state.running), state.runs, state.stated_ratios
    for key, since in state.running.items():
        pods = snapshot.jobs.get(key, ())
        if pods and _runs(snapshot, pods[0]):  # nearly always: do not read every pod
            continue
        if key not in snapshot.waiting and not any(_runs(snapshot, pod) for pod in pods):
            del running[key]
            if any(pod.phase == "Succeeded" for pod in pods):
                runs = _with_run(runs, run_name(key), now - since)
                if stated := stated_on_its_nodes(snapshot, pods):
                    ratios = (*ratios, max(0.0, now - since) / stated)[-MOST_RATIOS:]
    for job in whole:
        if job.key not in running and job.having(State.BOUND):
            running[job.key] = started_at((m.pod for m in job.members), now)
    return Runs(running, runs, ratios)


def _stated(
    stated: float | None, key: JobKey, runs: Mapping[str, tuple[float, ...]]
) -> Length | None:
    if stated is not None:
        return Length(stated, Source.ANNOTATION)
    past = runs.get(run_name(key)) if runs else None
    return Length(max(past), Source.HISTORY) if past else None


def _by_runs(past: Sequence[float], started_at: float, now: float) -> End:
    """Return the end by the longest earlier run, expected with the middle of those ahead."""
    if not past:
        return End(None, Source.HISTORY)
    ahead = [started_at + seconds for seconds in past if started_at + seconds > now]
    expected = median(ahead) if ahead else None
    return End(started_at + max(past), Source.HISTORY, expected)


def _predicted(session: Session, pods: Iterable[Pod]) -> End:
    """Return the latest of the ends that agents predict for the members, if any does."""
    if not session.snapshot.reports:
        return End(None, Source.PROGRESS)
    reports = (session.pod_report(pod.uid) for pod in pods)
    progress = [report.progress for report in reports if report and report.progress]
    spans = [(p.updated_at, p.remaining_seconds) for p in progress]
    known = [(at, span) for at, span in spans if span is not None]
    expected = max((at + span.value for at, span in known), default=None)
    if expected is not None:
        expected = max(expected, session.now)
    return End(max((at + s.high for at, s in known), default=None), Source.PROGRESS, expected)


def _runs(snapshot: Snapshot, pod: Pod) -> bool:
    return pod.uid in snapshot.bound and not pod.finished and not pod.deleting


def _with_run(
    runs: Mapping[str, tuple[float, ...]], name: str, seconds: float
) -> Mapping[str, tuple[float, ...]]:
    kept = {other: lengths for other, lengths in runs.items() if other != name}
    while len(kept) >= MOST_NAMES:
        del kept[next(iter(kept))]
    return {**kept, name: (*runs.get(name, ()), max(0.0, seconds))[-MOST_RUNS:]}


@dataclass(frozen=True, eq=False)
class Ending:
    """A job of ours that takes room, and when it ends.

    ``end`` is None for pods that are being deleted, or leave because their job gets fewer workers
    or is parked: they end at once.
    """

    job: RunningJob
    end: End | None


def running(session: Session, state: QueueState) -> tuple[Ending, ...]:
    """Return every job of ours that has pods on nodes, or reservations; in order of key.

    Pods of other schedulers are not among them: they stay, as far as is known.
    """
    snapshot, now = session.snapshot, session.now
    jobs: list[Ending] = []
    surplus = elastic_workers.leaving_pods(snapshot) | parking.leaving_pods(snapshot)
    for key, pods in sorted(snapshot.jobs.items()):
        staying, leaving = _placed_pods(snapshot, pods, surplus)
        staying += _placeholders(snapshot, key)
        if leaving:
            jobs.append(Ending(_running_job(key, now, now, leaving), None))
        if staying:
            since = started_at(pods, now)
            end = expected_end(session, pods, key, since, state)
            running_job = _running_job(key, since, _by(end, now), staying)
            jobs.append(Ending(replace(running_job, expected_at=end.expected), end))
    return tuple(jobs)


def _by(end: End, now: float) -> float | None:
    """Return when a job ends for the order of ends; one that is overdue may end at any moment."""
    return now if end.why is Unknown.OVERRUN else end.at


def _running_job(
    key: JobKey, since: float, ends_at: float | None, pods: Iterable[tuple[PodShape, int]]
) -> RunningJob:
    return RunningJob(key, since, ends_at, tuple(pods), registry.is_endless(key))


def _placeholders(snapshot: Snapshot, key: JobKey) -> list[tuple[PodShape, int]]:
    """Return what is kept for members of a direct gang that do not exist yet."""
    kept = snapshot.placeholders.get(key)
    placeholders = () if kept is None else kept.placeholders
    index = snapshot.node_table.index
    return [
        (placeholder.shape, index[placeholder.node])
        for placeholder in placeholders
        if placeholder.node in index
    ]


def _placed_pods(
    snapshot: Snapshot, pods: Sequence[Pod], surplus: Collection[Uid]
) -> tuple[list[tuple[PodShape, int]], list[tuple[PodShape, int]]]:
    """Return where the pods are: of those that stay, and of those that leave."""
    staying: list[tuple[PodShape, int]] = []
    leaving: list[tuple[PodShape, int]] = []
    for pod in pods:
        if pod.finished:
            continue
        node = snapshot.bound.get(pod.uid)
        if node is None and pod.uid in snapshot.reservations:
            node = snapshot.reservations[pod.uid].node
        index = None if node is None else snapshot.node_table.index.get(node)
        if index is not None:
            leaves = pod.deleting or pod.uid in surplus
            (leaving if leaves else staying).append((pod_shape.with_devices(snapshot, pod), index))
    return staying, leaving
