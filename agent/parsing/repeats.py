"""Steps that are printed too coarsely to tell points apart."""


class Repeats:
    """Keeps a step for its first point only.

    Hugging Face prints the epoch with four digits, DeepSpeed the step every tenth time: several
    points then carry the same number though they are not the same. All but the first get none.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def exact(self, metric: str, step: float | None) -> float | None:
        """Return ``step``; None if the last point of this metric had it already."""
        if step is None or self._last.get(metric) == step:
            return None
        self._last[metric] = step
        return step
