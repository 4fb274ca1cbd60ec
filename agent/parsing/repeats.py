"""Steps that are printed too coarsely to tell points apart."""

from sys import getsizeof

from agent.parsing.names import ENTRY_BYTES, MOST_METRICS


class Repeats:
    """Keeps a step for its first point only.

    Hugging Face prints the epoch with four digits, DeepSpeed the step every tenth time: several
    points then carry the same number though they are not the same. All but the first get none.

    Attributes:
        held_bytes: See ``HoldsMemory``.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        self._last: dict[str, float] = {}

    def exact(self, metric: str, step: float | None) -> float | None:
        """Return ``step``; None if the last point of this metric had it already.

        It is None as well for a metric that there is no room to remember.
        """
        last = self._last.get(metric)
        if step is None or last == step:
            return None
        if last is None:
            if len(self._last) == MOST_METRICS:
                return None
            self.held_bytes += getsizeof(metric) + ENTRY_BYTES
        self._last[metric] = step
        return step
