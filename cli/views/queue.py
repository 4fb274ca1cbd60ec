"""What ``shuntyard queue`` shows: the waiting jobs in order, or a line for each namespace."""

from collections.abc import Callable
from typing import Final

from cli.views import admission
from cli.views.amounts import amount, coming, duration, number
from cli.views.table import NOTHING, Column, table
from cli.views.training import gang_size
from shared import api
from shared.tenancy import NamespaceEntry, NamespacesResponse

STANDBY: Final = "this replica is a standby: the queue may be out of date"
_FAIR_SHARE_OFF: Final = (
    "fair share is off (tenancy.fair_share): shares, weights and limits have no effect"
)
_COMMON: Final = ("cpu", "memory", "pods")


def queue(answer: api.QueueResponse, *, wide: bool) -> list[str]:
    """Return the waiting jobs by position, then those that need a change before they can start."""
    placed = [entry for entry in answer.entries if entry.position is not None]
    stuck = [entry for entry in answer.entries if entry.position is None]
    head = _head(answer) if wide or not answer.acting else []
    if not placed and not stuck:
        return [*head, "no jobs waiting"]
    lines = table(_columns(answer), placed, wide=wide) if placed else ["no jobs waiting for room"]
    return [*head, *lines, *_stuck(stuck, wide=wide)]


def namespaces(answer: NamespacesResponse, *, wide: bool) -> list[str]:
    """Return a line for each namespace: what its jobs hold, and may hold."""
    notes = [_FAIR_SHARE_OFF] * (not answer.fair_share) + [STANDBY] * (not answer.acting)
    if not answer.entries:
        return [*notes, "no jobs"]
    others = sorted({name for entry in answer.entries for name in entry.held} - {*_COMMON})
    columns: list[Column[NamespaceEntry]] = [
        Column("NAMESPACE", lambda entry: entry.namespace),
        Column("WAITING", lambda entry: str(entry.waiting), right=True),
        Column("RUNNING", lambda entry: str(entry.running), right=True),
        *(Column(name.upper(), _held(name), right=True) for name in [*_COMMON, *others]),
        Column("SHARE", lambda entry: f"{entry.share:.3f}", right=True),
        Column("WEIGHT", lambda entry: number(entry.weight), right=True),
        Column("GUARANTEED", lambda entry: _share(entry.guaranteed_share or None), right=True),
        Column("LIMIT", lambda entry: _share(entry.limit), right=True),
        Column("PROBLEM", lambda entry: entry.problem or NOTHING, wide=True),
    ]
    return [*notes, *table(columns, answer.entries, wide=wide)]


def _columns(answer: api.QueueResponse) -> list[Column[api.QueueEntry]]:
    now = answer.generated_at
    weighting: list[Column[api.QueueEntry]] = [
        Column(
            "UTILITY", lambda job: str(job.weight.utility) if job.weight else NOTHING, right=True
        ),
        Column("SIZE", lambda job: f"{job.weight.size:.3f}" if job.weight else NOTHING, right=True),
    ]
    return [
        Column("POSITION", lambda job: str(job.position), right=True),
        Column("JOB", lambda job: job.job),
        Column("NAMESPACE", lambda job: job.namespace),
        *(weighting if answer.order == "weighting" else ()),
        Column("V", lambda job: number(job.v), right=True),
        Column("U", lambda job: str(job.terms.u), right=True),
        Column("B", lambda job: str(job.terms.b), right=True),
        Column("L", lambda job: str(job.terms.l), right=True),
        Column("M", lambda job: str(job.terms.m), right=True),
        Column("WAIT", lambda job: duration(job.waited_seconds), right=True),
        Column("START", lambda job: _start(job, now), right=True),
        *admission.columns_for(answer.entries, now),
        Column("REASON", lambda job: job.reason),
        Column("KIND", lambda job: job.kind, wide=True),
        Column(
            *("PODS", lambda job: f"{job.members}/{gang_size(job.min_available)}"),
            right=True,
            wide=True,
        ),
        Column("E", lambda job: f"{job.terms.e_normalised:.3f}", right=True, wide=True),
        Column("M-NORM", lambda job: f"{job.terms.m_normalised:.3f}", right=True, wide=True),
        Column("LEFT", _left, right=True, wide=True),
        Column("ESTIMATE", lambda job: job.estimate or NOTHING, wide=True),
        Column("MESSAGE", lambda job: job.message or NOTHING, wide=True),
    ]


def _stuck(entries: list[api.QueueEntry], *, wide: bool) -> list[str]:
    """Return the jobs without a position, because waiting alone does not start them."""
    if not entries:
        return []
    columns: list[Column[api.QueueEntry]] = [
        Column("JOB", lambda job: job.job),
        Column("NAMESPACE", lambda job: job.namespace),
        Column("WAIT", lambda job: duration(job.waited_seconds), right=True),
        Column("REASON", lambda job: job.reason),
        Column("MESSAGE", lambda job: job.message, wide=True),
    ]
    hint = "" if wide else "; `shuntyard explain JOB` shows which"
    head = f"cannot start without a change{hint}:"
    return ["", head, *table(columns, entries, wide=wide)]


def _head(answer: api.QueueResponse) -> list[str]:
    standby = "" if answer.acting else f"; {STANDBY}"
    return [f"order: {answer.order}, jobs: {len(answer.entries)}{standby}"]


def _start(job: api.QueueEntry, now: float) -> str:
    return NOTHING if job.estimated_start is None else coming(job.estimated_start, now)


def _left(job: api.QueueEntry) -> str:
    """Return how much of the maximum wait is left."""
    if job.max_wait_seconds is None:
        return NOTHING
    left = job.max_wait_seconds - job.waited_seconds
    return duration(left) if left > 0 else "over"


def _held(resource: str) -> Callable[[NamespaceEntry], str]:
    return lambda entry: amount(resource, entry.held.get(resource, 0))


def _share(share: float | None) -> str:
    return NOTHING if share is None else f"{share:.3f}"
