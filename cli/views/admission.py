"""Workers of elastic jobs, and payoff and promise of jobs that are admitted by price."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cli.views.amounts import coming, duration, number
from cli.views.table import NOTHING, Column, more, table
from shared.readapi import api
from shared.readapi.ledgers import RescaleEntry, WorkersEntry
from shared.readapi.pricing import AdmissionEntry, PricePart, ProfileEntry

MOST_PARTS: Final = 5
"""Parts of a price that are shown without ``-o wide``."""
MOST_RESCALES: Final = 5
"""Rescales of a job that are shown without ``-o wide``, the last ones."""

Entry = api.QueueEntry | api.JobEntry


def columns_for(entries: Sequence[Entry], now: float) -> list[Column[Entry]]:
    """Return the columns that at least one of the jobs needs; none without such jobs."""
    elastic: list[Column[Entry]] = [Column("WORKERS", lambda job: workers(job.workers), rank=4)]
    priced: list[Column[Entry]] = [
        Column("PAYOFF", _figure(lambda admission: admission.payoff), right=True, rank=5),
        Column("PROMISE", lambda job: _promise_cell(job.admission, now), rank=5),
        Column("WORTH", _figure(lambda admission: admission.utility), right=True, wide=True),
        Column("BILL", _figure(lambda admission: admission.bill), right=True, wide=True),
    ]
    shown = elastic if any(entry.workers is not None for entry in entries) else []
    return shown + (priced if any(entry.admission is not None for entry in entries) else [])


def workers(entry: WorkersEntry | None) -> str:
    """Return ``3 of 1..4``, during a rescale ``3>2 of 1..4``."""
    if entry is None:
        return NOTHING
    rescale = f">{entry.rescale.to}" if entry.rescale else ""
    return f"{entry.now}{rescale} of {entry.least}..{entry.most}"


def change(entry: RescaleEntry) -> str:
    """Return the workers before and after a rescale: ``6>4``, ``4>0`` for a pause."""
    return f"{entry.before}>{entry.to}"


def facts(answer: api.ExplainResponse) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the lines that ``explain`` shows."""
    if answer.workers is not None:
        yield "Workers", _workers_fact(answer.workers)
    if answer.declined is not None:
        yield "Unchanged", f"{answer.declined.reason}: {answer.declined.message}"
    if answer.admission is not None:
        yield from admission_facts(answer.admission, answer.generated_at)


def admission_facts(admission: AdmissionEntry, now: float) -> Iterator[tuple[str, str]]:
    """Yield what a job with a utility pays, what it was promised, and its profile run."""
    utility, bill = _number(admission.utility), _number(admission.bill)
    yield "Payoff", f"{number(admission.payoff)} (utility {utility}, bill {bill})"
    yield "Promise", _promise_fact(admission, now)
    if admission.profile is not None:
        yield "Profile", _profile(admission.profile, now)


def price(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    """Return the table of what makes up the price of a job that is not admitted."""
    if not answer.price:
        return []
    now = answer.generated_at
    columns: list[Column[PricePart]] = [
        Column("RESOURCE", lambda part: part.resource),
        Column("SLOT", lambda part: coming(part.at, now)),
        Column("COST", lambda part: number(part.cost), right=True),
        Column("PODS", lambda part: str(part.pods), right=True),
        Column("PRICE", lambda part: f"{part.price:.3f}", right=True),
    ]
    shown = answer.price if wide else answer.price[:MOST_PARTS]
    head = "Cost of its best plan, most expensive first:"
    return [head, *table(columns, shown), *more(len(answer.price) - len(shown))]


def rescales(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    """Return the table of the job's rescales."""
    if not answer.rescales:
        return []
    now = answer.generated_at
    columns: list[Column[RescaleEntry]] = [
        Column("RESCALE", lambda entry: entry.cause),
        Column("WORKERS", change),
        Column("FOR", lambda entry: entry.starts or NOTHING),
        Column("BEGAN", lambda entry: f"{duration(now - entry.begun_at)} ago"),
        Column("PHASE", lambda entry: phase(entry.phase, entry.reason)),
    ]
    return table(columns, answer.rescales if wide else answer.rescales[-MOST_RESCALES:])


def phase(name: str, reason: str) -> str:
    """Return ``Completed``, or with a reason ``Aborted: NotSaved``."""
    return f"{name}: {reason}" if reason else name


def _workers_fact(entry: WorkersEntry) -> str:
    text = f"{entry.now} of {entry.least} to {entry.most}"
    if entry.stated is not None and entry.stated != entry.now:
        text += f", its owner requests {entry.stated}"
    rescale = entry.rescale
    if rescale is None:
        return text
    return f"{text}; {rescale.phase} {change(rescale)} ({rescale.cause})"


def _promise_cell(admission: AdmissionEntry | None, now: float) -> str:
    """Return how the promise stands and when the job is to finish."""
    if admission is None:
        return NOTHING
    if not admission.admitted or admission.finish_at is None:
        return "none"
    return f"{admission.promise or 'none'}, {coming(admission.finish_at, now)}"


def _promise_fact(admission: AdmissionEntry, now: float) -> str:
    if not admission.admitted:
        return "none, it is not admitted"
    parts = [admission.promise or "none"]
    if admission.promised_at is not None:
        parts.append(f"promised {coming(admission.promised_at, now)}")
    if admission.finish_at is not None and admission.finish_at != admission.promised_at:
        parts.append(f"by its plan {coming(admission.finish_at, now)}")
    if admission.resumes_at is not None:
        parts.append(f"resumes {coming(admission.resumes_at, now)}")
    return ", ".join(parts)


def _profile(profile: ProfileEntry, now: float) -> str:
    """Return what the profile run has measured, and what is missing."""
    parts = [f"{profile.steps} of at least {profile.wanted_steps} steps"]
    if profile.step_seconds is not None:
        parts.append(f"a step takes {profile.step_seconds:.4g} s")
    if profile.spread is not None:
        parts.append(f"spread {profile.spread:.2g} (at most {profile.wanted_spread:g})")
    if not profile.lacks:
        return f"measured: {', '.join(parts)}"
    if profile.until is not None and profile.until > now:
        parts.append(f"for another {duration(profile.until - now)}")
    return f"{', '.join(parts)}; missing: {profile.lacks}"


def _figure(read: Callable[[AdmissionEntry], float | None]) -> Callable[[Entry], str]:
    """Return the cell of one figure of a job's admission."""
    return lambda job: NOTHING if job.admission is None else _number(read(job.admission))


def _number(value: float | None) -> str:
    return NOTHING if value is None else number(value)
