"""What would admit a job that was turned away: worth more, done later, or asked again later.

Every change that is offered was tried against the plans as they are: with it the job is admitted,
unless another job takes the place before it.
"""

import math
from collections.abc import Callable, Iterator
from typing import Final

from extender.engine.admission import grammar, slot_time
from extender.engine.admission.grammar import Sigmoid, Worth
from extender.engine.explaining.bids import Bid
from extender.policy.utility import Steps
from shared import labels
from shared.errors import InputError
from shared.explanation import Change, Step, StepKind

_HALVINGS: Final = 5
"""Of the interval between a change that is too small and one that is enough."""
_LARGEST_FACTOR: Final = 1024.0
_SLOT_FIELD: Final = "time slot"
_MINUTE_SECONDS: Final = 60


def changes(one: Bid) -> tuple[Change, ...]:
    """Return the changes of which each alone is enough; none if none was found."""
    if one.best is None:
        return tuple(_wait(one))
    return (*_later(one), *_more(one), *_wait(one))


def _later(one: Bid) -> Iterator[Change]:
    """Yield a deadline that is as much later as need be, in whole slots."""
    worth, seconds = grammar.utility_of(one.candidate.asked.utility), one.seen.slot_seconds

    def text(slots: float) -> str:
        return grammar.utility_text(_delayed(worth, slots * seconds))

    horizon = one.seen.params.slot_time.horizon
    slots = _least(
        lambda n: _usable(text(n)) and one.pays(text(n)), 1.0, float(horizon), whole=True
    )
    if slots is not None:
        plural = "" if slots == 1 else "s"
        says = f"let it be done {slots:.0f} slot{plural} ({_time(slots * seconds)}) later"
        yield _annotated(one, text(slots), says)


def _more(one: Bid) -> Iterator[Change]:
    """Yield a utility that is as many times as large as need be, in two digits."""
    worth = grammar.utility_of(one.candidate.asked.utility)

    def text(factor: float) -> str:
        return grammar.utility_text(_times(worth, factor))

    factor = _least(lambda f: one.pays(text(f)), 1.0, _LARGEST_FACTOR)
    if factor is not None:
        yield _annotated(one, text(factor), f"make it worth {factor:g} times as much")


def _wait(one: Bid) -> Iterator[Change]:
    """Yield a slot from which on it is admitted, because free slots come in sight."""
    horizon = one.seen.params.slot_time.horizon
    tries = (1 << i for i in range(horizon.bit_length()))
    slots = next((n for n in tries if n < horizon and one.pays_after(n)), None)
    if slots is not None:
        at = slot_time.begins_at(one.seen.first + slots, one.seen.slot_seconds)
        step = Step(kind=StepKind.WAIT, subject=one.job, field=_SLOT_FIELD, at=at)
        says = "wait until further slots come in sight"
        yield Change(kind=StepKind.WAIT, says=says, steps=(step,))


def _least(
    enough: Callable[[float], bool], low: float, high: float, *, whole: bool = False
) -> float | None:
    """Return about the smallest number between two that is enough; None if none is found.

    It doubles until it is enough and then halves the interval a few times.
    """
    top = low if whole else 2.0 * low
    while top < high and not enough(top):
        low, top = top, 2.0 * top
    top = min(top, high)
    if not enough(top):
        return None
    for _ in range(_HALVINGS):
        middle = (low + top) / 2
        middle = math.ceil(middle) if whole else _two_digits(middle)
        if not low < middle < top:
            break
        low, top = (low, middle) if enough(middle) else (middle, top)
    return float(top)


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def _delayed(worth: Worth, seconds: float) -> Worth:
    if isinstance(worth, Sigmoid):
        late = worth.target_seconds + seconds
        return Sigmoid(worth.priority, worth.decay_per_hour, late)
    return Steps(tuple((at + seconds, value) for at, value in worth.steps))


def _times(worth: Worth, factor: float) -> Worth:
    if isinstance(worth, Sigmoid):
        return Sigmoid(worth.priority * factor, worth.decay_per_hour, worth.target_seconds)
    return Steps(tuple((at, value * factor) for at, value in worth.steps))


def _usable(text: str) -> bool:
    try:
        grammar.utility_of(text)
    except InputError:
        return False
    return True


def _annotated(one: Bid, text: str, says: str) -> Change:
    before = one.candidate.job.wishes.utility or ""
    step = Step(
        kind=StepKind.SET_ANNOTATION,
        subject=one.job,
        field=labels.UTILITY,
        before=before,
        after=text,
    )
    said = f"{says}: {labels.UTILITY} from {before} to {text}"
    return Change(kind=step.kind, says=said, steps=(step,))


def _time(seconds: float) -> str:
    if seconds < _MINUTE_SECONDS:
        return f"{seconds:g} s"
    hours, minutes = divmod(round(seconds / _MINUTE_SECONDS), 60)
    parts = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    return " ".join(parts)
