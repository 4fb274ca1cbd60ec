"""What ``shuntyard what-if`` shows."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from cli import bargains, explaining
from cli.amounts import coming, duration, number
from cli.table import columns
from shared import api
from shared.explanation import Bill, Checked

NOTHING: Final = "-"
UNKNOWN: Final = "unknown"
MOST_SHIFTS: Final = 10
"""Other jobs that are shown without ``-o wide``."""
_WIDTH: Final = 10


def lines(answer: api.WhatIfResponse, *, wide: bool) -> list[str]:
    """Return the lines to print; ``wide``: every pod by name, and all other jobs."""
    parts = [list(_facts(answer)), _places(answer, wide=wide)]
    if answer.obstacles is not None:
        parts.append(explaining.tried(answer.obstacles, wide=wide))
        parts.append(explaining.changes(answer.obstacles))
    parts.append(_shifts(answer, wide=wide))
    return [line for part in parts if part for line in ("", *part)][1:]


def _facts(answer: api.WhatIfResponse) -> Iterator[str]:
    entry, terms = answer.entry, answer.entry.terms
    facts = [("Job", f"{answer.job}, {_pods(answer.pods)}"), ("Starts", _starts(answer))]
    if not answer.starts_now:
        facts.append(("Reason", f"{entry.reason}: {entry.message}"))
    if entry.position is None:
        facts.append(("Queue", "no place: it cannot start as it is"))
    else:
        place = f"{entry.position} of {answer.waiting + 1}, V {number(entry.v)}"
        facts.append(("Queue", f"{place} (u {terms.u}, b {terms.b}, l {terms.l}, m {terms.m})"))
    if entry.admission is not None:
        facts += bargains.of_admission(entry.admission, answer.generated_at)
    if answer.bill is not None:
        facts.append(("Bill", _bill(answer.bill)))
    facts += [("Note", note) for note in answer.notes]
    if answer.checked is not None:
        facts.append(_checked(answer.checked))
    if not answer.acting:
        facts.append(("Note", "this replica does not act, the queue is as it last saw it"))
    yield from (f"{name + ':':{_WIDTH}}{text}" for name, text in facts)


def _checked(checked: Checked) -> tuple[str, str]:
    if checked.by_api_server:
        return "Checked", "by the API server, in a dry run"
    without = "defaults applied locally, without LimitRanges, quotas and admission policies"
    with_pods = "its pods are checked, other defaults applied locally"
    then = with_pods if checked.pods_by_api_server else without
    return "Note", f"not checked by the API server: {checked.reason}; {then}"


def _starts(answer: api.WhatIfResponse) -> str:
    at, why = answer.entry.estimated_start, answer.entry.estimate
    if answer.starts_now:
        seated = len(answer.places)
        return "now" if seated == answer.pods else f"now, with {seated} of {_pods(answer.pods)}"
    if at is None:
        return f"unknown: {why}" if why else "unknown"
    return f"{coming(at, answer.generated_at)} ({why})"


def _bill(bill: Bill) -> str:
    if bill.now is None:
        return f"{number(bill.idle)} on an idle cluster"
    ratio = f", {bill.now / bill.idle:.2f} times as much" if bill.idle else ""
    return f"{number(bill.now)}, on an idle cluster {number(bill.idle)}{ratio}"


def _places(answer: api.WhatIfResponse, *, wide: bool) -> list[str]:
    if wide:
        rows = [[one.pod, one.role or NOTHING, one.node or NOTHING] for one in answer.places]
        return columns(["POD", "ROLE", "NODE"], rows) if rows else []
    counts = Counter((one.node or NOTHING, one.role or NOTHING) for one in answer.places)
    rows = [[node, role, str(count)] for (node, role), count in counts.items()]
    return columns(["NODE", "ROLE", "PODS"], rows, right="PODS") if rows else []


def _shifts(answer: api.WhatIfResponse, *, wide: bool) -> list[str]:
    if not answer.shifts:
        return ["no other waiting job would start earlier or later; running jobs stay"]
    now = answer.generated_at
    shown = answer.shifts if wide else answer.shifts[:MOST_SHIFTS]
    header = ["OTHER-JOB", "POSITION", "START", "WITH-IT", "LATER", "WHY"]
    rows = [
        [
            one.job,
            f"{one.position_without or NOTHING}>{one.position_with or NOTHING}",
            _at(one.start_without, now),
            _at(one.start_with, now),
            _later(one.later_seconds),
            one.estimate_with or UNKNOWN,
        ]
        for one in shown
    ]
    more = len(answer.shifts) - len(shown)
    rest = [f"… and {more} more, see -o wide"] if more else []
    return [*columns(header, rows, right="POSITION START WITH-IT LATER"), *rest]


def _at(at: float | None, now: float) -> str:
    return UNKNOWN if at is None else coming(at, now)


def _later(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}"


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"
