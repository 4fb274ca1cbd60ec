"""Lines of MLPerf's logging: ``:::MLLOG`` and a JSON object.

::

    :::MLLOG {"namespace": "", "time_ms": 1600000000000, "event_type": "POINT_IN_TIME",
              "key": "eval_accuracy", "value": 0.61, "metadata": {"file": "…", "epoch_num": 4}}

(one line). A point is a number at a step or an epoch.

Source:
    mlcommons/logging, ``mlperf_logging/mllog/mllog.py``.
"""

from collections.abc import Sequence
from typing import Final

from shared.parsing.base import LONGEST_NAME, NOTHING, Point, plain
from shared.parsing.json_scan import decoded

_MARK: Final = ":::MLLOG {"
_STEPS: Final = ("step_num", "iteration_num", "samples_count", "epoch_num")


class MlLog:
    """Values under their keys: ``eval_accuracy``, ``train_loss``."""

    format = "mllog"

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        start = line.find(_MARK)
        if start < 0:
            return NOTHING
        fields = decoded(line[start + len(_MARK) - 1 :].strip())
        name, value, metadata = (
            fields.get("key"),
            plain(fields.get("value")),
            fields.get("metadata"),
        )
        if not isinstance(name, str) or value is None or not isinstance(metadata, dict):
            return NOTHING
        steps = (plain(metadata[key]) for key in _STEPS if key in metadata)
        step = next((one for one in steps if one is not None), None)
        milliseconds = plain(fields.get("time_ms"))
        if step is None or not 0 < len(name) <= LONGEST_NAME:
            return NOTHING
        at_seconds = None if milliseconds is None else milliseconds / 1000
        return [Point(name, value, step, None, at_seconds)]
