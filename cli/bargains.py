"""How many workers a job has and may have, and what it was promised, in cells and in lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cli.amounts import coming, duration, number
from cli.rescaling import change
from cli.table import columns
from shared import api
from shared.ledgers import RescaleEntry, WorkersEntry
from shared.pricing import AdmissionEntry, PricePart, ProfileEntry

NOTHING: Final = "-"
MOST_PARTS: Final = 5
"""Parts of a price that are shown without ``-o wide``."""
MOST_RESCALES: Final = 5
"""Changes of a job that are shown without ``-o wide``, the last ones."""

Entry = api.QueueEntry | api.JobEntry


class Extra:
    """The columns that some of the jobs need; without such jobs there are none."""

    def __init__(self, entries: Sequence[Entry], *, wide: bool) -> None:
        self._elastic = any(entry.workers is not None for entry in entries)
        self._priced = any(entry.admission is not None for entry in entries)
        self._wide = wide

    @property
    def header(self) -> list[str]:
        """Names of the columns."""
        priced = ["PAYOFF", "PROMISE", *(["WORTH", "BILL"] if self._wide else [])]
        return [*(["WORKERS"] if self._elastic else []), *(priced if self._priced else [])]

    def cells(self, entry: Entry, now: float) -> list[str]:
        """Return the cells of one job."""
        cells = [workers(entry.workers)] if self._elastic else []
        if not self._priced:
            return cells
        found = entry.admission
        if found is None:
            return [*cells, *([NOTHING] * (4 if self._wide else 2))]
        cells += [number(found.payoff), promise(found, now)]
        return [*cells, *(map(_amount, (found.utility, found.bill)) if self._wide else ())]


RIGHT: Final = "PAYOFF WORTH BILL"
"""Of those columns the ones with numbers."""


def workers(entry: WorkersEntry | None) -> str:
    """Return ``3 of 1..4``, with a change that is under way ``3>2 of 1..4``."""
    if entry is None:
        return NOTHING
    under_way = f">{entry.rescale.to}" if entry.rescale else ""
    return f"{entry.now}{under_way} of {entry.least}..{entry.most}"


def promise(entry: AdmissionEntry, now: float) -> str:
    """Return what became of the promise, and when the job is to be done."""
    if not entry.admitted or entry.finish_at is None:
        return "none"
    return f"{entry.promise or 'none'}, {coming(entry.finish_at, now)}"


def facts(answer: api.ExplainResponse) -> Iterator[tuple[str, str]]:
    """Yield what ``explain`` says in lines of their own."""
    now = answer.generated_at
    if answer.workers is not None:
        yield "Workers", _workers(answer.workers)
    if answer.declined is not None:
        yield "Unchanged", f"{answer.declined.reason}: {answer.declined.message}"
    if answer.admission is not None:
        yield from of_admission(answer.admission, now)


def of_admission(found: AdmissionEntry, now: float) -> Iterator[tuple[str, str]]:
    """Yield what a job with a utility pays, and what it was promised."""
    utility, bill = _amount(found.utility), _amount(found.bill)
    yield "Payoff", f"{number(found.payoff)} (utility {utility}, bill {bill})"
    yield "Promise", _promise(found, now)
    if found.profile is not None:
        yield "Profile", _profile(found.profile, now)


def price(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    """Return what the price of a job that is not admitted is made of."""
    if not answer.price:
        return []
    shown = answer.price if wide else answer.price[:MOST_PARTS]
    rows = [_part(one, answer.generated_at) for one in shown]
    header = ["RESOURCE", "SLOT", "COST", "PODS", "PRICE"]
    left = len(answer.price) - len(shown)
    more = [f"… and {left} more, see -o wide"] if left else []
    head = "What its best plan would cost, the dearest first:"
    return [head, *columns(header, rows, right="COST PODS PRICE"), *more]


def rescales(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    """Return the changes of the job's workers."""
    if not answer.rescales:
        return []
    shown = answer.rescales if wide else answer.rescales[-MOST_RESCALES:]
    header = ["RESCALE", "WORKERS", "FOR", "BEGAN", "PHASE"]
    return columns(header, _rescales(shown, answer.generated_at))


def _rescales(shown: Iterable[RescaleEntry], now: float) -> Iterator[list[str]]:
    for one in shown:
        phase = f"{one.phase}: {one.reason}" if one.reason else one.phase
        began = f"{duration(now - one.begun_at)} ago"
        yield [one.cause, change(one), one.starts or NOTHING, began, phase]


def _workers(entry: WorkersEntry) -> str:
    said = f"{entry.now} of {entry.least} to {entry.most}"
    if entry.stated is not None and entry.stated != entry.now:
        said += f", its owner wants {entry.stated}"
    if entry.rescale is None:
        return said
    one = entry.rescale
    return f"{said}; {one.phase} {change(one)} ({one.cause})"


def _promise(found: AdmissionEntry, now: float) -> str:
    if not found.admitted:
        return "none, it is not admitted"
    said = [found.promise or "none"]
    if found.promised_at is not None:
        said.append(f"promised {coming(found.promised_at, now)}")
    if found.finish_at is not None and found.finish_at != found.promised_at:
        said.append(f"by its plan {coming(found.finish_at, now)}")
    if found.resumes_at is not None:
        said.append(f"goes on {coming(found.resumes_at, now)}")
    return ", ".join(said)


def _profile(found: ProfileEntry, now: float) -> str:
    """Say what was measured of its training so far, and what is missing."""
    said = [f"{found.steps} of at least {found.wanted_steps} steps"]
    if found.step_seconds is not None:
        said.append(f"a step takes {found.step_seconds:.4g} s")
    if found.spread is not None:
        said.append(f"spread {found.spread:.2g} (at most {found.wanted_spread:g})")
    if not found.lacks:
        return f"measured: {', '.join(said)}"
    if found.until is not None and found.until > now:
        said.append(f"for another {duration(found.until - now)}")
    return f"{', '.join(said)}; missing: {found.lacks}"


def _part(one: PricePart, now: float) -> list[str]:
    slot = coming(one.at, now)
    return [one.resource, slot, number(one.cost), str(one.pods), f"{one.price:.3f}"]


def _amount(value: float | None) -> str:
    return NOTHING if value is None else number(value)
