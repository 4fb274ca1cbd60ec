"""Tasks of the fluid model: their loss curves, state and results."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shared.model import NodeName, Uid


@dataclass(frozen=True)
class LossCurve:
    """A loss of 1 before the first iteration that falls exponentially to ``floor``.

    ``loss(x) = floor + (1 - floor) * (1 - s(x))``, ``s(x) = (1 - e^-kx) / (1 - e^-k)``, x the part
    of the work that is done.

    Attributes:
        steepness: k, above 0.
        floor: Loss at the end, 0…1.

    Source:
        Mao et al., arXiv 2010.11307, figure 1: after a fifth of a run alone 65, 98 and 90 % of the
        reduction of a VAE's, a Bi-RNN's and a GRU's loss are there, so k = 5.2, 19.6 and 11.5. The
        exponential form is ours.
    """

    steepness: float
    floor: float

    def gained(self, share: float) -> float:
        """Return s, the share of the whole reduction reached after ``share`` of the work."""
        return math.expm1(-self.steepness * share) / math.expm1(-self.steepness)

    def loss(self, share: float) -> float:
        """Return the loss after ``share`` (0…1) of the work."""
        return self.floor + (1.0 - self.floor) * (1.0 - self.gained(share))

    def share_at(self, gained: float) -> float:
        """Return the share of the work after which ``gained`` (0…1) of the reduction is reached."""
        return -math.log1p(gained * math.expm1(-self.steepness)) / self.steepness

    def reported(self, noise: NDArray[np.float64]) -> tuple[float, ...]:
        """Return the loss after each iteration, times 1 + its noise."""
        done = np.arange(1, len(noise) + 1) / len(noise)
        gained = np.expm1(-self.steepness * done) / math.expm1(-self.steepness)
        clean = self.floor + (1.0 - self.floor) * (1.0 - gained)
        values: list[float] = (clean * (1.0 + noise)).tolist()
        return tuple(values)


@dataclass(frozen=True)
class Task:
    """A training job on one host.

    Attributes:
        uid: Unique.
        arrives_at: Seconds.
        work: Seconds on a host of its own.
        host: Its first host.
        curve: Its loss by the share of work done.
        reported: Logged loss after each iteration; iterations are equal parts of the work.
        most: Largest share of a host that it can use (its threads), above 0 to 1.
        estimate_ratio: Predicted remaining work divided by the true one.
    """

    uid: Uid
    arrives_at: float
    work: float
    host: NodeName
    curve: LossCurve
    reported: tuple[float, ...]
    most: float = 1.0
    estimate_ratio: float = 1.0


@dataclass(slots=True)
class Running:
    """A task that has arrived and not completed.

    Attributes:
        task: The task.
        host: Its host, or the one it is moving to.
        since: When it came there.
        moves: How often it was moved.
        done: Work done at ``at``.
        rate: Work per second since then; 0 in a pause.
        ends_at: Predicted completion if nothing changes.
        paused_until: End of its last pause.
        nearly_at: When it reached 95 % of the loss reduction; None: not yet.
    """

    task: Task
    host: NodeName
    since: float
    at: float
    goal: float
    moves: int = 0
    done: float = 0.0
    rate: float = 0.0
    ends_at: float = math.inf
    paused_until: float = -math.inf
    nearly_at: float | None = None


@dataclass(frozen=True)
class Relocation:
    """One move of a task."""

    at: float
    uid: Uid
    source: NodeName
    target: NodeName


@dataclass
class Run:
    """Results of a run.

    Attributes:
        ended: Completion of each task.
        nearly: When each task reached 95 % of its loss reduction.
        relocations: Moves in the order in which they began.
        delivered: Work done on each host.
    """

    ended: dict[Uid, float] = field(default_factory=dict)
    nearly: dict[Uid, float] = field(default_factory=dict)
    relocations: list[Relocation] = field(default_factory=list)
    delivered: dict[NodeName, float] = field(default_factory=dict)
