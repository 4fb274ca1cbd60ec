"""How often a job may change: a rest after each change, a cap in an hour, patience after aborts."""

from typing import Final

from extender.engine.scaling.declined import ScalingReason as R
from extender.engine.scaling.parameters import RescaleParameters
from extender.engine.scaling.phases import recent
from extender.engine.scaling.proposal import Cause, Proposal
from extender.engine.scaling.record import Phase, Rescale

MOST_DOUBLINGS: Final = 5
"""The rest after changes that came to nothing doubles with each in a row, up to 32 times."""


def is_free(proposal: Proposal) -> bool:
    """Say whether neither rest nor cap hold: a slot plan says so, or another job starts by it."""
    return proposal.cause is Cause.SLOT or proposal.starts is not None


def hindrance(
    last: Rescale | None, proposal: Proposal, now: float, params: RescaleParameters
) -> R | None:
    """Return why a job must not change now, by what it has been through."""
    if last is None:
        return None
    rest = params.cooldown_seconds * 2.0 ** min(max(last.aborted - 1, 0), MOST_DOUBLINGS)
    rests = now < last.since + rest
    free = is_free(proposal)
    if rests and last.aborted and (not free or last.phase is Phase.ABORTED):
        return R.ABORTED_LATELY
    if free:
        return None
    if rests:
        return R.COOLING_DOWN
    often = len(recent(last, now)) >= params.most_rescales_per_hour
    return R.CAP_REACHED if often else None
