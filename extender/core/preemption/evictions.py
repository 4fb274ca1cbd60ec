"""Evictions of the Eviction Request API: jobs that they ask to leave, and what we report to each.

A pod names its responders (``spec.evictionResponders``). While it is our turn, its job is parked
as on a node that leaves, and we report how far that is; the eviction waits as long as we report.
When the pod is gone we are done; also if the job cannot be parked, and then it is the turn of
the next responder.

Source:
    k8s.io/api v0.37.2 lifecycle/v1alpha1 (KEP-4563): a responder that does not report for 20 min
    has lost its turn; reports should be 20 s apart or more.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from extender.core.cluster.commands import AnswerEviction
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.records import parking
from extender.core.records.parking import Parking, Phase
from extender.core.records.parking_reasons import ParkingReason as R
from shared.model import JobKey, Pod, PodKey
from shared.objects.disruptions import Eviction
from shared.readapi.ledgers import Declined

REPORT_SECONDS: Final = 60.0
"""Between two reports of the same."""
LEAST_SECONDS: Final = 20.0
"""Between two reports."""
UNKNOWN_SECONDS: Final = 30.0
"""A pod that the watch has not shown for so long is not one of ours."""

_PASSES: Final = frozenset(
    {
        R.MIGRATING,
        R.RESCALING,
        R.RESTARTING,
        R.STARTING,
        R.SUSPENDED,
        R.AGENT_STALE,
        R.TRAINER_SILENT,
    }
)
"""What keeps a job from being parked for a while: the eviction waits."""


def asked_to_leave(session: Session) -> Mapping[JobKey, str]:
    """Return the jobs with a pod that is to be evicted while it is our turn, each with why."""
    found: dict[JobKey, str] = {}
    for eviction in _open(session):
        pod = _target(session.snapshot, eviction)
        if pod is not None and not (pod.finished or pod.deleting):
            why = f"pod {pod.name} is to be evicted (Eviction {eviction.name})"
            found.setdefault(registry.job_key(pod), why)
    return found


def answers(session: Session, declined: Mapping[JobKey, Declined]) -> Iterator[AnswerEviction]:
    """Yield a report for each eviction that waits for us, if one is due.

    Args:
        session: Of the pass.
        declined: Why jobs that should leave are not parked, by this pass.
    """
    for eviction in _open(session):
        due = _report(session, eviction, declined)
        if due is not None:
            yield AnswerEviction(eviction, session.now, due[0], completed=due[1])


def _open(session: Session) -> Iterator[Eviction]:
    """Yield the evictions that wait for us, by namespace and name."""
    params, found = session.parameters.drain, session.snapshot.evictions
    if params.enabled and params.evictions:
        yield from (found[key] for key in sorted(found) if found[key].waits_for_us)


def _target(snapshot: Snapshot, eviction: Eviction) -> Pod | None:
    pod = snapshot.pods.get(PodKey(f"{eviction.namespace}/{eviction.pod}"))
    ours = pod is not None and registry.job_key(pod) in snapshot.jobs
    return pod if ours and pod is not None and pod.uid == eviction.pod_uid else None


def _report(
    session: Session, eviction: Eviction, declined: Mapping[JobKey, Declined]
) -> tuple[str, bool] | None:
    """Return what is reported now, and whether we are done; None if nothing is due."""
    pod, now = _target(session.snapshot, eviction), session.now
    if pod is None or pod.finished:
        if pod is not None or eviction.heartbeat_at:
            return "the pod is gone", True
        unknown = now - eviction.started_at >= UNKNOWN_SECONDS
        return ("no such pod of a job that Shuntyard schedules", True) if unknown else None
    key = registry.job_key(pod)
    owned = parking.of_job(session.snapshot, key)
    why = declined.get(key)
    if owned is not None and owned.parking.open:
        message = _progress(owned.parking)
    elif why is not None:
        message = f"the job is not parked: {why.message}"
        if R.named(why.reason) not in _PASSES:
            return message, True
    else:
        message = "the job is about to be asked for a checkpoint"
    since = now - eviction.heartbeat_at
    due = since >= (REPORT_SECONDS if message == eviction.message else LEAST_SECONDS)
    return (message, False) if due else None


def _progress(one: Parking) -> str:
    if one.phase is Phase.ASKED:
        return "the job is asked for a checkpoint"
    step = "" if one.step is None else f" with its checkpoint of step {one.step}"
    return f"the job leaves{step}"
