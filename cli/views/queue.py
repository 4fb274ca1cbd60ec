"""What ``shuntyard queue`` shows: the waiting jobs in order, or a line for each namespace."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from cli.views import admission
from cli.views.amounts import coming, coming_between, duration, in_short, number, requests
from cli.views.table import NOTHING, Column, table
from cli.views.terminal import UNLIMITED, Colour, Terminal
from cli.views.training import gang_size
from shared import amounts
from shared.readapi import api
from shared.readapi.tenancy import NamespaceEntry, NamespacesResponse, Totals

STANDBY: Final = "this replica is a standby: the queue may be out of date"
_FAIR_SHARE_OFF: Final = (
    "fair share is off (tenancy.fair_share): shares, weights and limits have no effect"
)
BAR_WIDTH: Final = 8
"""Characters of the bar of a score."""
_MILLI: Final = 1000
_MOST_TERMS: Final = 2.0
"""Of V: two normalised terms, each 0 to 1 (docs/policies/priority.md)."""
_COMMON: Final = ("cpu", "memory", "pods")


def queue(answer: api.QueueResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the waiting jobs by position, then those that need a change before they can start."""
    placed = [entry for entry in answer.entries if entry.position is not None]
    stuck = [entry for entry in answer.entries if entry.position is None]
    head = _head(answer) if wide or not answer.acting else []
    rest = _others(answer.others)
    if not placed and not stuck:
        return [*head, "no jobs waiting", *rest]
    lines = ["no jobs waiting for room"]
    if placed:
        lines = table(_columns(answer, screen), placed, wide=wide, screen=screen)
    return [*head, *lines, *_stuck(stuck, screen, wide=wide), *rest]


def _others(others: api.Others | None) -> list[str]:
    """Return a line about the jobs of other namespaces, whose places are missing above."""
    if others is None or not others.jobs:
        return []
    asked = requests(others.requests)
    jobs = "1 job waits" if others.jobs == 1 else f"{others.jobs} jobs wait"
    return ["", f"other namespaces: {jobs}{asked and f' for {asked}'}"]


def namespaces(
    answer: NamespacesResponse, *, wide: bool, screen: Terminal = UNLIMITED
) -> list[str]:
    """Return a line for each namespace: what its jobs hold, and may hold."""
    notes = [_FAIR_SHARE_OFF] * (not answer.fair_share) + [STANDBY] * (not answer.acting)
    rest = _totals(answer.others)
    if not answer.entries:
        return [*notes, "no jobs", *rest]
    others = sorted({name for entry in answer.entries for name in entry.held} - {*_COMMON})
    columns: list[Column[NamespaceEntry]] = [
        Column("NAMESPACE", lambda entry: entry.namespace, least=12),
        Column("WAITING", lambda entry: str(entry.waiting), right=True),
        Column("RUNNING", lambda entry: str(entry.running), right=True),
        *(
            Column(name.upper(), _held(name), right=True, rank=2 * (name == "pods"))
            for name in [*_COMMON, *others]
        ),
        Column("SHARE", lambda entry: _percent(entry.share), right=True),
        Column("WEIGHT", lambda entry: number(entry.weight), right=True),
        Column(
            *("GUARANTEED", lambda entry: _percent(entry.guaranteed_share or None)),
            right=True,
            rank=1,
        ),
        Column("LIMIT", lambda entry: _percent(entry.limit), right=True, rank=1),
        Column("PROBLEM", lambda entry: entry.problem or NOTHING, wide=True),
    ]
    return [*notes, *table(columns, answer.entries, wide=wide, screen=screen), *rest]


def _totals(others: Totals | None) -> list[str]:
    """Return a line about namespaces that are not listed."""
    if others is None or not others.namespaces:
        return []
    held = requests(others.held)
    numbers = f"{others.waiting} waiting, {others.running} running"
    return ["", f"other namespaces ({others.namespaces}): {numbers}{held and f', {held} held'}"]


def score_bar(terms: api.Terms, *, blocks: bool) -> str:
    """Return how large a score is: an empty bar is the least possible one, a full bar the most."""
    part = (terms.e_normalised + terms.m_normalised) / _MOST_TERMS
    full = round(min(1.0, max(0.0, part)) * BAR_WIDTH)
    one, none = ("█", "·") if blocks else ("#", ".")
    return one * full + none * (BAR_WIDTH - full)


def score_words(terms: api.Terms) -> str:
    """Return the terms of a score in words."""
    return f"user {terms.u} of 10, job {terms.b}; urgency {terms.l} of 100; {_size_words(terms)}"


def _size_words(terms: api.Terms) -> str:
    if terms.m_unit == api.MILLI_GPUS:
        return amounts.gpus(terms.m / _MILLI)
    return f"{terms.m} worker{'' if terms.m == 1 else 's'}"


def _size(terms: api.Terms) -> str:
    """Return the number of workers, or of GPUs."""
    return number(terms.m / _MILLI) if terms.m_unit == api.MILLI_GPUS else str(terms.m)


def _columns(answer: api.QueueResponse, screen: Terminal) -> list[Column[api.QueueEntry]]:
    now = answer.generated_at
    return [
        Column("POSITION", lambda job: str(job.position), right=True, rank=4),
        Column("JOB", lambda job: job.job, least=14),
        Column("NAMESPACE", lambda job: job.namespace, least=9),
        Column("REQUESTS", lambda job: requests(job.requests) or NOTHING),
        *_order(answer, screen),
        Column("WAIT", lambda job: duration(job.waited_seconds), right=True, rank=2),
        Column("START", lambda job: _start(job, now), right=True, rank=1),
        *admission.columns_for(answer.entries, now),
        Column("REASON", lambda job: in_short(job.message or job.reason, job.reason), least=18),
        *_wide(now),
    ]


def _order(answer: api.QueueResponse, screen: Terminal) -> list[Column[api.QueueEntry]]:
    """Return the columns by which the queue is ordered; by age none but WAIT."""
    if answer.order == "weighting":
        return [
            Column(
                *("UTILITY", lambda job: str(job.weight.utility) if job.weight else NOTHING),
                right=True,
                rank=3,
            ),
            Column(
                *("SIZE", lambda job: f"{job.weight.size:.3f}" if job.weight else NOTHING),
                right=True,
                rank=3,
            ),
        ]
    if answer.order == "service":
        return [
            Column("GROUP", lambda job: job.standing.group if job.standing else NOTHING, rank=4),
            Column("NEEDS", _needs, right=True, rank=3),
        ]
    if answer.order != "cps":
        return []

    def cell(job: api.QueueEntry) -> str:
        return f"{score_bar(job.terms, blocks=screen.blocks)} {job.v:4.0f}"

    return [Column("SCORE", cell, right=True, rank=3)]


def _wide(now: float) -> list[Column[api.QueueEntry]]:
    columns: list[Column[api.QueueEntry]] = [
        Column("REASON-CODE", lambda job: job.reason),
        Column("KIND", lambda job: job.kind),
        Column("PODS", lambda job: f"{job.members}/{gang_size(job.min_available)}", right=True),
        Column("V", lambda job: number(job.v), right=True),
        Column("USER-PRIORITY", lambda job: str(job.terms.u), right=True),
        Column("JOB-PRIORITY", lambda job: str(job.terms.b), right=True),
        Column("URGENCY", lambda job: str(job.terms.l), right=True),
        Column("WORKER-COUNT", lambda job: _size(job.terms), right=True),
        Column("PRIORITY-PART", lambda job: f"{job.terms.e_normalised:.3f}", right=True),
        Column("WORKER-PART", lambda job: f"{job.terms.m_normalised:.3f}", right=True),
        Column("LEFT", _left, right=True),
        Column("BAND", lambda job: _band(job, now)),
        Column("ESTIMATE", lambda job: job.estimate or NOTHING),
        Column("MESSAGE", lambda job: job.message or NOTHING),
    ]
    return [replace(column, wide=True) for column in columns]


def _stuck(entries: list[api.QueueEntry], screen: Terminal, *, wide: bool) -> list[str]:
    """Return the jobs without a position, because waiting alone does not start them."""
    if not entries:
        return []
    columns: list[Column[api.QueueEntry]] = [
        Column("JOB", lambda job: job.job, least=14),
        Column("NAMESPACE", lambda job: job.namespace, least=9),
        Column("REQUESTS", lambda job: requests(job.requests) or NOTHING, rank=2),
        Column("WAIT", lambda job: duration(job.waited_seconds), right=True, rank=1),
        Column(
            *("REASON", lambda job: in_short(job.message or job.reason, job.reason)),
            least=18,
            colour=lambda _: Colour.RED,
        ),
        Column("REASON-CODE", lambda job: job.reason, wide=True),
        Column("MESSAGE", lambda job: job.message, wide=True),
    ]
    hint = "" if wide else "; `shuntyard explain JOB` shows why"
    head = f"cannot start without a change{hint}:"
    return ["", head, *table(columns, entries, wide=wide, screen=screen)]


def _head(answer: api.QueueResponse) -> list[str]:
    standby = "" if answer.acting else f"; {STANDBY}"
    return [f"order: {answer.order}, jobs: {len(answer.entries)}{standby}"]


def _start(job: api.QueueEntry, now: float) -> str:
    return NOTHING if job.estimated_start is None else coming(job.estimated_start, now)


def _band(job: api.QueueEntry, now: float) -> str:
    return coming_between(job.earliest_start, job.latest_start, now).strip(" ()") or NOTHING


def _needs(job: api.QueueEntry) -> str:
    """Return how long the job is expected to run; ``?`` if only its past says so."""
    if job.standing is None:
        return NOTHING
    known = "" if job.standing.source else "?"
    return f"{duration(job.standing.needs.value)}{known}"


def _left(job: api.QueueEntry) -> str:
    """Return how much of the maximum wait is left."""
    if job.max_wait_seconds is None:
        return NOTHING
    left = job.max_wait_seconds - job.waited_seconds
    return duration(left) if left > 0 else "over"


def _held(resource: str) -> Callable[[NamespaceEntry], str]:
    return lambda entry: amounts.figure(resource, entry.held.get(resource, 0))


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}%"
