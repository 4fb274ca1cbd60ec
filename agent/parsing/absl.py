"""What Flax examples log through absl: its prefix, then nothing but names and values.

::

    I0823 07:49:25.468526 139641357117440 train.py:146] epoch:  9, train_loss: 0.0120, …

Only found by ``auto``. Accuracies are as printed: in percent.
"""

import re
from collections.abc import Sequence
from typing import Final

from agent.parsing import pairs
from agent.parsing.base import NOTHING, Point

_PREFIX: Final = re.compile(
    r"[IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} +[0-9]{1,20} [\w.-]{1,128}:[0-9]{1,6}\] ",
    re.ASCII,
)


class Absl:
    """Lines with a step or epoch and at least one other value."""

    format = "absl"

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        prefix = _PREFIX.match(line)
        said = pairs.read(line[prefix.end() :]) if prefix else None
        if said is None or said.step is None:
            return NOTHING
        return [Point(name, value, said.step) for name, value in said.metrics.items()]
