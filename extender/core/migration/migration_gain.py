"""Whether a move pays: time saved against time lost (docs/policies/migration_gain.md).

Ours. The paper moves every container that its rules choose, but a move costs a checkpoint and a
restart.
"""

from dataclasses import dataclass
from typing import Final

from extender.core.parameters.migration import GainParameters

NEWEST_WEIGHT: Final = 0.3
"""Weight of the newest measured cost in the running mean."""


def gain_seconds(remaining_seconds: float, share_now: float, share_then: float) -> float:
    """Return how much earlier a container ends with ``share_then`` instead of ``share_now``.

    ``gain = remaining * (1 - now/then)``: the work left is ``remaining * now``, and takes
    ``remaining * now/then`` there. Below 0 if the share falls; -inf for a share of 0.
    """
    if share_then <= 0:
        return float("-inf")
    return remaining_seconds * (1.0 - share_now / share_then)


@dataclass(frozen=True)
class Gain:
    """Expected effect of a move.

    Attributes:
        worth_it: Whether it should be made.
        gain_seconds: How much earlier the container would end; below 0: later; None if the
            remaining time is unknown.
        cost_seconds: How long its training would pause.
        share_now: Its share now, in the unit of the caller.
        share_then: Its share after the move, in the same unit.
        why: The figures in words, for users.
    """

    worth_it: bool
    gain_seconds: float | None
    cost_seconds: float
    share_now: float
    share_then: float
    why: str


def share_cores(cores: float, containers: int, most_cores: float | None = None) -> float:
    """Return the cores one of ``containers`` gets when all share a host of ``cores`` equally.

    Args:
        cores: Of the host.
        containers: On the host, the one in question included; below 1 counts as 1.
        most_cores: Most cores that the container can use (its limit or threads); None: all.
    """
    share = cores / max(1, containers)
    return share if most_cores is None else min(share, most_cores)


def expected_gain(
    remaining_seconds: float | None,
    share_now: float,
    share_then: float,
    cost_seconds: float | None,
    params: GainParameters,
) -> Gain:
    """Return the expected effect of a move, and whether it is worth its cost.

    It is if the gain is at least ``minimum_ratio`` times the cost; while the remaining time is
    unknown, if the share grows; with a ratio of 0, always.

    Args:
        remaining_seconds: Predicted time to the end without a move; None if not predictable.
        share_now: The container's share now, such as ``share_cores`` of its host.
        share_then: Its share on the target, in the same unit.
        cost_seconds: Checkpoint and restart as measured (``smoothed``); None before the first.
        params: The ratio, and the cost before one was measured.
    """
    cost = params.first_cost_seconds if cost_seconds is None else cost_seconds
    shares = f"share {share_now:.2f} to {share_then:.2f}"
    if remaining_seconds is None:
        gain = None
        worth_it = share_then > share_now
        why = f"{shares}, remaining time unknown, costs {cost:.0f} s"
    else:
        gain = gain_seconds(remaining_seconds, share_now, share_then)
        worth_it = gain > 0 and gain >= params.minimum_ratio * cost
        effect = f"saves {gain:.0f} s" if gain >= 0 else f"takes {-gain:.0f} s longer"
        why = f"{shares}, {effect} with {remaining_seconds:.0f} s left, costs {cost:.0f} s"
    return Gain(
        worth_it=worth_it or params.minimum_ratio == 0,
        gain_seconds=gain,
        cost_seconds=cost,
        share_now=share_now,
        share_then=share_then,
        why=why,
    )


def smoothed(mean_seconds: float | None, measured_seconds: float) -> float:
    """Return the running mean of costs with a new measurement; a mean of None has none yet."""
    if mean_seconds is None:
        return measured_seconds
    return mean_seconds + NEWEST_WEIGHT * (measured_seconds - mean_seconds)
