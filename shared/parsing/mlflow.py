"""Metric files of MLflow's file store: one file for each metric, a line for each value.

::

    mlruns/0/5f9c…/metrics/val_loss        1700000000123 0.4312 40

A line has the time in milliseconds, the value and the step. The metric is the file's name, with
the names of the directories below ``metrics`` before it.

Source:
    mlflow 3, ``store/tracking/file_store.py`` (``_log_run_metric``).
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from shared.parsing.base import LONGEST_NAME, NOTHING, NUMBER, Point

FOLDER: Final = "metrics"
_LINE: Final = re.compile(rf"([0-9]{{1,15}}) ({NUMBER}) (-?[0-9]{{1,18}})")


class MlflowMetric:
    """Values of one metric.

    Args:
        file_name: Path of the file; the metric is what is below the last ``metrics``.
    """

    format = "mlflow"

    def __init__(self, *, file_name: str = "") -> None:
        parts = PurePosixPath(file_name).parts
        below = len(parts) - parts[::-1].index(FOLDER) if FOLDER in parts[:-1] else len(parts) - 1
        self._metric = "/".join(parts[below:])[:LONGEST_NAME] or "value"

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        match = _LINE.fullmatch(line)
        if match is None:
            return NOTHING
        at_seconds = int(match[1]) / 1000
        return (Point(self._metric, float(match[2]), float(match[3]), at_seconds=at_seconds),)
