"""What ``shuntyard queue`` shows: who waits, in which order, why, and until when."""

from typing import Final

from cli import bargains
from cli.amounts import coming, duration, number
from cli.table import columns
from shared import api

NOTHING: Final = "-"
_BY_WEIGHT: Final = "weighting"


def queue(answer: api.QueueResponse, *, wide: bool) -> list[str]:
    """Return the lines of the queue."""
    weighted = answer.order == _BY_WEIGHT
    header = ["POSITION", "JOB", "NAMESPACE", *(["UTILITY", "SIZE"] if weighted else [])]
    extra = bargains.Extra(answer.entries, wide=wide)
    header += ["V", "U", "B", "L", "M", "WAIT", "START", *extra.header, "REASON"]
    header += ["KIND", "PODS", "E", "M-NORM", "LEFT", "ESTIMATE", "MESSAGE"] if wide else []
    now = answer.generated_at
    able = [entry for entry in answer.entries if entry.position is not None]
    rows = [_row(entry, now, extra, weighted=weighted, wide=wide) for entry in able]
    head = _head(answer) if wide or not answer.acting else []
    right = f"POSITION UTILITY SIZE V U B L M WAIT START PODS E M-NORM LEFT {bargains.RIGHT}"
    table = columns(header, rows, right=right) if rows else ["no job waits for room"]
    stuck = _stuck(answer, wide=wide)
    if not rows and not stuck:
        return [*head, "no job waits"]
    return [*head, *table, *stuck]


def _stuck(answer: api.QueueResponse, *, wide: bool) -> list[str]:
    """Return the jobs that hold no place, because time alone does not start them."""
    rows = [
        [e.job, e.namespace, duration(e.waited_seconds), e.reason, *([e.message] if wide else [])]
        for e in answer.entries
        if e.position is None
    ]
    if not rows:
        return []
    header = ["JOB", "NAMESPACE", "WAIT", "REASON", *(["MESSAGE"] if wide else [])]
    hint = "" if wide else "; `shuntyard explain JOB` says which"
    head = f"cannot start until something is changed{hint}:"
    return ["", head, *columns(header, rows, right="WAIT")]


def _head(answer: api.QueueResponse) -> list[str]:
    stale = "" if answer.acting else "; this replica does not act, the queue is as it last saw it"
    return [f"order: {answer.order}, jobs: {len(answer.entries)}{stale}"]


def _row(
    entry: api.QueueEntry, now: float, extra: bargains.Extra, *, weighted: bool, wide: bool
) -> list[str]:
    terms = entry.terms
    row = [NOTHING if entry.position is None else str(entry.position), entry.job, entry.namespace]
    row += _weight(entry.weight) if weighted else []
    row += [number(entry.v), str(terms.u), str(terms.b), str(terms.l), str(terms.m)]
    row += [duration(entry.waited_seconds), _start(entry, now)]
    row += [*extra.cells(entry, now), entry.reason]
    if wide:
        size = "?" if entry.min_available is None else str(entry.min_available)
        row += [entry.kind, f"{entry.members}/{size}"]
        row += [f"{terms.e_normalised:.3f}", f"{terms.m_normalised:.3f}", _left(entry)]
        row += [entry.estimate or NOTHING, entry.message or NOTHING]
    return row


def _weight(weight: api.Weight | None) -> list[str]:
    return [NOTHING] * 2 if weight is None else [str(weight.utility), f"{weight.size:.3f}"]


def _start(entry: api.QueueEntry, now: float) -> str:
    return NOTHING if entry.estimated_start is None else coming(entry.estimated_start, now)


def _left(entry: api.QueueEntry) -> str:
    """Return how much of the maximum wait is left."""
    if entry.max_wait_seconds is None:
        return NOTHING
    left = entry.max_wait_seconds - entry.waited_seconds
    return duration(left) if left > 0 else "over"
