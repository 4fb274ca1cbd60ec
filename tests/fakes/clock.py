"""Two clocks that stand still until a test moves them."""

from dataclasses import dataclass


@dataclass
class FakeClock:
    """``now`` in seconds since the epoch, ``monotonic`` on a clock of its own."""

    epoch: float = 1_700_000_000.0
    reading: float = 1000.0

    def now(self) -> float:
        return self.epoch

    def monotonic(self) -> float:
        return self.reading

    def pass_by(self, seconds: float) -> None:
        self.epoch += seconds
        self.reading += seconds
