"""How long jobs run: what the training, its user, earlier runs of the name and agents say.

The first source that says something is taken; of a job that runs, the first whose end has not
passed. Unknown is an answer too, with its reason.

The training's own word about this run comes first: it was said a moment ago by who knows the steps
to come. An annotation and earlier runs are from before it began. An agent knows only what it reads
in log files: it comes last.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extender.core.agents import reports
from extender.core.cluster import job_spec, owner_progress
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.owners import above
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.queue.backfill import RunningJob
from extender.core.queue.state import QueueState
from extender.core.records import workers
from shared.model import JobKey, Pod, PodShape, Uid

MOST_NAMES: Final = 1000
"""Names whose runs are remembered; the one that ran longest ago goes first."""


MOST_RUNS: Final = 5
"""Runs that are remembered of a name."""


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
    """It has run for longer than every source said: it may end at any moment."""


@dataclass(frozen=True)
class Length:
    """How long a job runs from its start."""

    seconds: float
    source: Source


@dataclass(frozen=True)
class End:
    """When a running job ends, seconds since the epoch, and who says so; or why nobody knows."""

    at: float | None
    why: Source | Unknown


def length(job: Job, runs: Mapping[str, tuple[float, ...]]) -> Length | None:
    """Return how long a job runs from its start; None if unknown."""
    return _stated(job.spec.expected_seconds, job.key, runs)


def expected_end(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    key: JobKey,
    started_at: float,
    memory: QueueState,
    reading: Reading,
    stale_seconds: float,
) -> End:
    """Return when a job that runs ends.

    Args:
        snapshot: The cluster.
        pods: The job's pods.
        key: The job.
        started_at: Seconds since the epoch.
        memory: For earlier runs.
        reading: Now.
        stale_seconds: An agent's report that is older says nothing.
    """
    stated = job_spec.expected_seconds(pods[0], above(snapshot, pods[0]))
    past = memory.runs.get(run_name(key)) if memory.runs else None
    said = owner_progress.read(snapshot, pods, started_at, reading.now)
    guesses = [
        (said.ends_at(reading.now) if said else None, Source.STATUS),
        (None if stated is None else started_at + stated, Source.ANNOTATION),
        (started_at + max(past) if past else None, Source.HISTORY),
        (_predicted(snapshot, pods, reading, stale_seconds), Source.PROGRESS),
    ]
    known = [(at, source) for at, source in guesses if at is not None]
    ahead = next((End(at, source) for at, source in known if at > reading.now), None)
    return ahead or End(None, Unknown.OVERRUN if known else Unknown.UNSTATED)


def lasts(
    job: Job, snapshot: Snapshot, memory: QueueState, reading: Reading, stale_seconds: float
) -> float | None:
    """Return how long members that start now run, in seconds; None if unknown.

    Those of a job that runs end with it.
    """
    if not job.having(State.BOUND):
        found = length(job, memory.runs)
        return None if found is None else found.seconds
    pods = snapshot.jobs[job.key]
    since = started_at(pods, reading.now)
    at = expected_end(snapshot, pods, job.key, since, memory, reading, stale_seconds).at
    return None if at is None else at - reading.now


def left_by_status(snapshot: Snapshot, key: JobKey, now: float) -> float | None:
    """Return the seconds to the end of a job that runs by its object's status; None if unknown."""
    pods = snapshot.jobs[key]
    said = owner_progress.read(snapshot, pods, started_at(pods, now), now)
    at = said.ends_at(now) if said else None
    return None if at is None or at <= now else at - now


def started_at(pods: Iterable[Pod], now: float) -> float:
    """Return since when a job runs: since its last pod that runs was bound; now if none was."""
    bound = [pod.scheduled_at for pod in pods if pod.scheduled_at and not pod.finished]
    return min(now, max(bound, default=now))


def run_name(key: JobKey) -> str:
    """Return the job's key without what was generated at its end."""
    return _GENERATED.sub("", key)


def remembered(
    memory: QueueState, snapshot: Snapshot, whole: Iterable[Job], now: float
) -> tuple[Mapping[JobKey, float], Mapping[str, tuple[float, ...]]]:
    """Return which jobs run since when, and how long runs took, as ``Memory`` keeps them.

    Args:
        memory: What was kept before.
        snapshot: The cluster.
        whole: Jobs looked at in this cycle whose gang is whole.
        now: Seconds since the epoch.
    """
    running, runs = dict(memory.running), memory.runs
    for key, since in memory.running.items():
        pods = snapshot.jobs.get(key, ())
        if pods and _runs(snapshot, pods[0]):  # nearly always: a cycle must not look at every pod
            continue
        if key not in snapshot.waiting and not any(_runs(snapshot, pod) for pod in pods):
            del running[key]
            if any(pod.phase == "Succeeded" for pod in pods):
                runs = _with_run(runs, run_name(key), now - since)
    for job in whole:
        if job.key not in running and job.having(State.BOUND):
            running[job.key] = started_at((m.pod for m in job.members), now)
    return running, runs


def _stated(
    stated: float | None, key: JobKey, runs: Mapping[str, tuple[float, ...]]
) -> Length | None:
    if stated is not None:
        return Length(stated, Source.ANNOTATION)
    past = runs.get(run_name(key)) if runs else None
    return Length(max(past), Source.HISTORY) if past else None


def _predicted(
    snapshot: Snapshot, pods: Iterable[Pod], reading: Reading, stale_seconds: float
) -> float | None:
    """Return the latest of the ends that agents predict for the members; None if none does."""
    if not snapshot.reports:
        return None
    heard = (reports.of_pod(snapshot, pod.uid, reading, stale_seconds) for pod in pods)
    told = [report.progress for report in heard if report and report.progress]
    spans = [(one.updated_at, one.remaining_seconds) for one in told]
    return max((at + span.high for at, span in spans if span is not None), default=None)


def _runs(snapshot: Snapshot, pod: Pod) -> bool:
    return pod.uid in snapshot.bound and not pod.finished and not pod.deleting


def _with_run(
    runs: Mapping[str, tuple[float, ...]], name: str, seconds: float
) -> Mapping[str, tuple[float, ...]]:
    kept = {other: lengths for other, lengths in runs.items() if other != name}
    while len(kept) >= MOST_NAMES:
        del kept[next(iter(kept))]
    return {**kept, name: (*runs.get(name, ()), max(0.0, seconds))[-MOST_RUNS:]}


# === Who runs where and until when: what the reservation's start is computed from.


@dataclass(frozen=True, eq=False)
class Running:
    """A job of ours that takes room, and when it ends.

    ``end`` is None for pods that are being deleted, or leave because their job gets fewer workers:
    they end at once.
    """

    tenant: RunningJob
    end: End | None


def running(
    snapshot: Snapshot, memory: QueueState, reading: Reading, stale_seconds: float
) -> tuple[Running, ...]:
    """Return every job of ours that has pods on nodes, or seats; in order of key.

    Pods of other schedulers are no tenants: they stay, as far as we know.
    """
    found: list[Running] = []
    surplus = workers.leaving(snapshot)
    for key, pods in sorted(snapshot.jobs.items()):
        staying, leaving = _seats(snapshot, pods, surplus)
        staying += _open_seats(snapshot, key)
        if leaving:
            found.append(Running(_tenant(key, reading.now, reading.now, leaving), None))
        if staying:
            since = started_at(pods, reading.now)
            end = expected_end(snapshot, pods, key, since, memory, reading, stale_seconds)
            found.append(Running(_tenant(key, since, _by(end, reading.now), staying), end))
    return tuple(found)


def _by(end: End, now: float) -> float | None:
    """A job that has run for longer than anybody said may end at any moment: first in the order."""
    return now if end.why is Unknown.OVERRUN else end.at


def _tenant(
    key: JobKey, since: float, ends_at: float | None, seats: Iterable[tuple[PodShape, int]]
) -> RunningJob:
    return RunningJob(key, since, ends_at, tuple(seats), registry.is_endless(key))


def _open_seats(snapshot: Snapshot, key: JobKey) -> list[tuple[PodShape, int]]:
    """Return what is kept for members of a direct gang that do not exist yet."""
    kept = snapshot.open_seats.get(key)
    seats = () if kept is None else kept.seats
    index = snapshot.room.index
    return [(seat.shape, index[seat.node]) for seat in seats if seat.node in index]


def _seats(
    snapshot: Snapshot, pods: Sequence[Pod], surplus: Collection[Uid]
) -> tuple[list[tuple[PodShape, int]], list[tuple[PodShape, int]]]:
    """Return where the pods are: of those that stay, and of those that leave."""
    staying: list[tuple[PodShape, int]] = []
    leaving: list[tuple[PodShape, int]] = []
    for pod in pods:
        if pod.finished:
            continue
        node = snapshot.bound.get(pod.uid)
        if node is None and pod.uid in snapshot.seats:
            node = snapshot.seats[pod.uid].node
        index = None if node is None else snapshot.room.index.get(node)
        if index is not None:
            leaves = pod.deleting or pod.uid in surplus
            (leaving if leaves else staying).append((pod.shape, index))
    return staying, leaving
