"""What ``shuntyard jobs`` shows: waiting, running and done jobs in one list."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from cli.errors import UnansweredError
from cli.views import admission, training
from cli.views.amounts import coming, coming_between, duration, in_short, requests, rough
from cli.views.table import NOTHING, Column, table
from cli.views.terminal import Colour, Terminal
from shared.readapi import api
from shared.readapi.answer import JobState

ROOMY: Final = 130
"""Characters of a terminal that shows nodes and reason in columns of their own."""
_TIGHT: Final = 100
"""Below this width a reason is cut before a column is left out."""
_BLOCKED: Final = "blocked: cannot start without a change; `shuntyard explain NAME` shows why"
_COLOURS: Final = {
    JobState.WAITING: Colour.YELLOW,
    JobState.BLOCKED: Colour.RED,
    JobState.STARTING: Colour.CYAN,
    JobState.RUNNING: Colour.GREEN,
    JobState.PAUSED: Colour.MAGENTA,
    JobState.PARKED: Colour.MAGENTA,
    JobState.ENDING: Colour.DIM,
    JobState.DONE: Colour.DIM,
    JobState.FAILED: Colour.RED,
}
_ORDER: Final = {state: place for place, state in enumerate(JobState)}
_ENDED: Final = frozenset({JobState.DONE, JobState.FAILED})
_LAST: Final = float("inf")
_BESIDE: Final = "nodes/reason"
_SEPARATE: Final = frozenset({"nodes", "reason"})


class Choice(NamedTuple):
    """What is shown of the list, as the options say.

    Attributes:
        columns: Names of the columns; empty: those that fit.
        sort: Name of the column to sort by; empty: by state, then by start or end.
        reverse: The other way round.
        wide: All columns, as long as they are.
    """

    columns: Sequence[str] = ()
    sort: str = ""
    reverse: bool = False
    wide: bool = False


def jobs(answer: api.JobsResponse, choice: Choice, screen: Terminal) -> list[str]:
    """Return a line for each job."""
    if not answer.entries:
        return ["no jobs"]
    lines, entries = rows(answer, choice, screen)
    is_blocked = any(job.state is JobState.BLOCKED for job in entries)
    return [*lines, "", _BLOCKED] if is_blocked and not choice.columns else lines


def rows(
    answer: api.JobsResponse, choice: Choice, screen: Terminal
) -> tuple[list[str], list[api.JobEntry]]:
    """Return the lines of the table, the heading first, and the jobs of the other lines."""
    columns = {column.title.lower(): column for column in _columns(answer, choice, screen)}
    entries = _sorted(answer, columns, choice)
    if choice.columns:
        chosen = [columns[name] for name in choice.columns if name in columns]
        chosen = [replace(column, wide=False, rank=0) for column in chosen]
        return table(chosen, entries, screen=screen), entries
    hidden = _SEPARATE if _is_narrow(screen) and not choice.wide else {_BESIDE}
    if len({job.namespace for job in entries}) == 1 and not choice.wide:
        hidden |= {"namespace"}
    shown = [column for name, column in columns.items() if name not in hidden]
    return table(shown, entries, wide=choice.wide, screen=screen), entries


def in_order(answer: api.JobsResponse) -> list[api.JobEntry]:
    """Return the jobs by state, then by position, expected end, or since when they are in it."""

    def key(job: api.JobEntry) -> tuple[Any, ...]:
        ended, since = job.state in _ENDED, job.since or 0.0
        return (
            _ORDER[JobState.DONE if ended else job.state],
            job.position or _LAST,
            (job.end.at if job.end else None) or _LAST,
            -since if ended else since,
            job.namespace,
            job.job,
        )

    return sorted(answer.entries, key=key)


def _sorted(
    answer: api.JobsResponse, columns: dict[str, Column[api.JobEntry]], choice: Choice
) -> list[api.JobEntry]:
    entries = in_order(answer)
    if choice.sort:
        column = columns.get(choice.sort)
        if column is None:  # a column of elastic or priced jobs, and there are none
            raise UnansweredError(f"--sort {choice.sort}: no job has this column; leave it out")
        entries.sort(key=column.order or column.cell)
    return entries[::-1] if choice.reverse else entries


def _columns(
    answer: api.JobsResponse, choice: Choice, screen: Terminal
) -> list[Column[api.JobEntry]]:
    now, wide, narrow = answer.generated_at, choice.wide, _is_narrow(screen)
    return [
        Column("NAME", lambda job: job.job, least=14),
        Column("NAMESPACE", lambda job: job.namespace, least=9, rank=2),
        Column("KIND", lambda job: job.kind, wide=True),
        Column(
            *("STATE", lambda job: job.state.value),
            colour=lambda job: _COLOURS[job.state],
            order=lambda job: _ORDER[job.state],
        ),
        Column("REQUESTS", lambda job: requests(job.requests) or NOTHING, order=_size),
        Column("PODS", _pods, right=True, rank=6, order=lambda job: job.members),
        Column("SINCE", partial(_since, now=now), right=True, rank=3, order=_began),
        Column(
            "START/END", partial(start_or_end, now=now, band=not narrow), rank=1, order=_expected
        ),
        *_training(answer.entries, screen),
        *admission.columns_for(answer.entries, now),
        Column("NODES/REASON", _nodes_or_reason, least=18 if screen.width < _TIGHT else 36),
        Column("NODES", partial(_nodes, wide=wide), least=12),
        Column("REASON", lambda job: reason(job, wide=wide) or NOTHING, least=24),
        *_wide(now),
    ]


def _training(entries: Sequence[api.JobEntry], screen: Terminal) -> list[Column[api.JobEntry]]:
    """Return the columns of training progress; without any they are for ``-o wide``."""
    rare = all(job.progress is None for job in entries)
    return [
        Column("METRIC", lambda job: training.metric(job.progress), rank=8, wide=rare),
        Column(
            *("CURVE", lambda job: training.curve(job.progress, blocks=screen.blocks)),
            rank=9,
            wide=rare,
        ),
        Column("STEP", lambda job: training.step(job.progress), right=True, rank=7, wide=rare),
    ]


def _wide(now: float) -> list[Column[api.JobEntry]]:
    """Return the columns that only ``-o wide`` shows, or ``--columns`` by name."""

    def count(title: str, read: Callable[[api.MemberCounts], int]) -> Column[api.JobEntry]:
        cell, order = lambda job: str(read(job.counts)), lambda job: read(job.counts)
        return Column(title, cell, right=True, wide=True, order=order)

    def plain(title: str, cell: Callable[[api.JobEntry], str]) -> Column[api.JobEntry]:
        return Column(title, cell, wide=True)

    return [
        plain("REASON-CODE", lambda job: job.reason or NOTHING),
        plain("ESTIMATE", lambda job: job.estimate or NOTHING),
        plain("GANG", lambda job: training.gang_size(job.min_available)),
        count("GATED", lambda pods: pods.gated),
        count("HELD", lambda pods: pods.held),
        count("DIRECT", lambda pods: pods.direct),
        count("IN-TREE", lambda pods: pods.in_tree),
        count("PLANNED", lambda pods: pods.seated + pods.loose),
        count("BOUND", lambda pods: pods.bound),
        count("SUCCEEDED", lambda pods: pods.succeeded),
        count("FAILED", lambda pods: pods.failed),
        count("LEAVING", lambda pods: pods.leaving),
        plain("AGE", lambda job: duration(now - job.created_at)),
        plain("CATEGORY", lambda job: training.category(job.progress)),
        plain("EVIDENCE", lambda job: training.evidence(job.progress)),
        plain("ETA", lambda job: training.eta(job.progress)),
        plain("ATTEMPT", lambda job: training.attempt(job.progress)),
        plain("DONE", lambda job: training.done(job.end)),
        plain("ENDS", lambda job: training.ends(job.end, now)),
        plain("CHECKPOINT", lambda job: training.checkpoint(job.checkpoint)),
        plain("PROBLEM", training.problem),
    ]


def start_or_end(job: api.JobEntry, now: float, *, band: bool = True) -> str:
    """Return when a job starts, ends or ended; ``band``: with the band of a prediction."""
    match job.state:
        case JobState.DONE | JobState.FAILED:
            return NOTHING if job.since is None else f"ended {rough(now - job.since)} ago"
        case JobState.RUNNING:
            return _end(job, now, band=band)
        case _ if job.estimated_start is not None:
            between = coming_between(job.earliest_start, job.latest_start, now) if band else ""
            return f"start {coming(job.estimated_start, now)}{between}"
        case _:
            return NOTHING


def reason(job: api.JobEntry, *, wide: bool = False) -> str:
    """Return in words why a job waits, or what is wrong with it; empty if nothing is."""
    if text := job.message or job.reason:
        return text if wide else in_short(text, job.reason)
    if job.problem:
        return job.problem
    return "; ".join(f"{fault.kind}: {fault.message}" for fault in job.faults)


def _is_narrow(screen: Terminal) -> bool:
    return screen.height is not None and screen.width < ROOMY


def _end(job: api.JobEntry, now: float, *, band: bool) -> str:
    """Return when a job ends: as its training predicts, else as it was stated."""
    by_training = job.end is None or job.end.at is None or job.end.why == "progress"
    progress = job.progress
    if by_training and progress is not None and progress.remaining is not None:
        left, late = progress.remaining, now - progress.updated_at
        low, high = (rough(max(0.0, seconds - late)) for seconds in (left.low, left.high))
        between = f" ({low} to {high})" if band and low != high else ""
        return f"end {coming(progress.updated_at + left.value, now)}{between}"
    if job.end is None or job.end.at is None:
        return "end overdue" if job.end and job.end.why == "overrun" else NOTHING
    return f"end {coming(job.end.at, now)}"


def _expected(job: api.JobEntry) -> float:
    """Return the time that START/END shows, for sorting."""
    end = job.end.at if job.end else None
    return job.estimated_start or end or job.since or _LAST


def _since(job: api.JobEntry, now: float) -> str:
    return NOTHING if job.since is None else duration(now - job.since)


def _began(job: api.JobEntry) -> float:
    return job.since or 0.0


def _size(job: api.JobEntry) -> tuple[bool, int, int]:
    """Return how much a job requests: devices before CPUs."""
    devices = sum(amount for name, amount in job.requests.items() if "/" in name)
    return devices > 0, devices, job.requests.get("cpu", 0)


def _pods(job: api.JobEntry) -> str:
    """Return how many pods are on nodes or done, and how many must start together."""
    placed = job.counts.bound + job.counts.succeeded
    return f"{placed}/{max(job.members, job.min_available or 0)}"


def _nodes(job: api.JobEntry, *, wide: bool = False) -> str:
    if not job.nodes:
        return NOTHING
    if wide:
        return ",".join(job.nodes)
    others = f" +{len(job.nodes) - 1}" if len(job.nodes) > 1 else ""
    return f"{job.nodes[0]}{others}"


def _nodes_or_reason(job: api.JobEntry) -> str:
    is_well = not job.faults and job.state not in {JobState.WAITING, JobState.BLOCKED}
    return _nodes(job) if job.nodes and is_well else reason(job) or NOTHING
