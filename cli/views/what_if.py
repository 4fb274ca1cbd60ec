"""What ``shuntyard what-if`` shows: start, place, price, and the jobs that it would delay."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from cli.views import admission, explain, queue
from cli.views.amounts import coming, coming_between, duration, number
from cli.views.explain import pods
from cli.views.table import NOTHING, Column, more, table
from cli.views.terminal import UNLIMITED, Terminal
from shared.readapi import api
from shared.readapi.explanation import Bill, Checked, Place, Shift

UNKNOWN: Final = "unknown"
MOST_SHIFTS: Final = 10
"""Other jobs that are shown without ``-o wide``."""


def what_if(answer: api.WhatIfResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return the lines to print; ``wide``: every pod by name, and all other jobs."""
    parts = [
        list(explain.labelled(_facts(answer, blocks=screen.blocks), screen)),
        _places(answer, wide=wide),
    ]
    if answer.obstacles is not None:
        parts.append(explain.tried(answer.obstacles, wide=wide, screen=screen))
        parts.append(explain.changes(answer.obstacles, screen))
    parts.append(_shifts(answer, screen, wide=wide))
    return [line for part in parts if part for line in ("", *part)][1:]


def _facts(answer: api.WhatIfResponse, *, blocks: bool) -> Iterator[tuple[str, str]]:
    entry = answer.entry
    yield "Job", f"{answer.job}, {pods(answer.pods)}"
    yield "Starts", _starts(answer)
    if not answer.starts_now:
        yield "Reason", f"{entry.reason}: {entry.message}"
    if entry.position is None:
        yield "Queue", "no position"
    else:
        yield "Queue", f"{entry.position} of {answer.waiting + 1}"
        yield "Score", f"{number(entry.v)} {queue.score_bar(entry.terms, blocks=blocks)}"
        yield "Priority", queue.score_words(entry.terms)
    if entry.admission is not None:
        yield from admission.admission_facts(entry.admission, answer.generated_at)
    if answer.bill is not None:
        yield "Price", _price(answer.bill)
    for note in answer.notes:
        yield "Note", note
    if answer.checked is not None:
        yield _checked(answer.checked)
    if not answer.acting:
        yield "Note", "this replica is a standby: the queue may be out of date"


def _checked(checked: Checked) -> tuple[str, str]:
    if checked.by_api_server:
        return "Checked", "by the API server, in a dry run"
    defaults = "defaults applied locally, without LimitRanges, quotas and admission policies"
    if checked.pods_by_api_server:
        defaults = "its pods are checked, other defaults applied locally"
    return "Note", f"not checked by the API server: {checked.reason}; {defaults}"


def _starts(answer: api.WhatIfResponse) -> str:
    at, why = answer.entry.estimated_start, answer.entry.estimate
    if answer.starts_now:
        placed = len(answer.places)
        return "now" if placed == answer.pods else f"now, with {placed} of {pods(answer.pods)}"
    if at is None and answer.entry.position is None:
        return "not without a change"
    if at is None:
        return f"unknown: {why}" if why else "unknown"
    entry, now = answer.entry, answer.generated_at
    between = coming_between(entry.earliest_start, entry.latest_start, now)
    return f"{coming(at, now)}{between} ({why})"


def _price(bill: Bill) -> str:
    """Return the price; its unit is the largest node while it is idle (docs/cli.md)."""
    if bill.now is None:
        return f"{_idle_nodes(bill.idle)} if the cluster were idle"
    ratio = f"; {bill.now / bill.idle:.3g}x" if bill.idle else ""
    return f"{_idle_nodes(bill.now)} ({number(bill.idle)} if the cluster were idle{ratio})"


def _idle_nodes(price: float) -> str:
    return f"as much as {number(price)} idle node{'' if price == 1 else 's'}"


def _places(answer: api.WhatIfResponse, *, wide: bool) -> list[str]:
    if not answer.places:
        return []
    if wide:
        by_pod: list[Column[Place]] = [
            Column("POD", lambda place: place.pod),
            Column("ROLE", lambda place: place.role or NOTHING),
            Column("NODE", lambda place: place.node or NOTHING),
        ]
        return table(by_pod, answer.places)
    by_node: list[Column[tuple[tuple[str, str], int]]] = [
        Column("NODE", lambda row: row[0][0]),
        Column("ROLE", lambda row: row[0][1]),
        Column("PODS", lambda row: str(row[1]), right=True),
    ]
    counts = Counter((place.node or NOTHING, place.role or NOTHING) for place in answer.places)
    return table(by_node, counts.items())


def _shifts(answer: api.WhatIfResponse, screen: Terminal, *, wide: bool) -> list[str]:
    if not answer.shifts:
        return ["no other waiting job would start earlier or later; running jobs stay"]
    now = answer.generated_at
    columns: list[Column[Shift]] = [
        Column("OTHER-JOB", lambda shift: shift.job, least=16),
        Column("POSITION", _positions, right=True),
        Column("START", lambda shift: _at(shift.start_without, now), right=True),
        Column("WITH-IT", lambda shift: _at(shift.start_with, now), right=True),
        Column("LATER", lambda shift: _later(shift.later_seconds), right=True),
        Column("WHY", lambda shift: shift.estimate_with or UNKNOWN, least=12),
    ]
    shown = answer.shifts if wide else answer.shifts[:MOST_SHIFTS]
    return [
        *table(columns, shown, wide=wide, screen=screen),
        *more(len(answer.shifts) - len(shown)),
    ]


def _positions(shift: Shift) -> str:
    return f"{shift.position_without or NOTHING}>{shift.position_with or NOTHING}"


def _at(at: float | None, now: float) -> str:
    return UNKNOWN if at is None else coming(at, now)


def _later(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}"
