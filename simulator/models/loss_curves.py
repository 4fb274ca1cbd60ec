"""The falling loss of a training job, and the values in its log."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
