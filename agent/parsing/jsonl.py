"""One JSON object a line: our ``metrics.jsonl``, fairseq's ``--log-format json``, many others."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from agent.parsing.base import LONGEST_NAME, NOTHING, Point
from agent.parsing.json_object import decoded
from agent.parsing.naming import STEP_KEYS, TIME_KEYS, TOTAL_KEYS, is_metric
from agent.parsing.numbers import plain

MOST_KEYS: Final = 256
"""Keys of one line that are looked at."""


class JsonLines:
    """Lines of JSON objects: every number in one is a metric, except what places it.

    The step is the first of ``step``, ``global_step``, ``iteration``, ``num_updates``, ``epoch``
    that is there. Nested objects are not looked into; ``null`` is no value. ``NaN`` and
    ``Infinity``, which Python's ``json`` writes and JSON forbids, are read.

    Args:
        strict: A line without a step is not of this format: programs log JSON that is no metrics.
    """

    format = "jsonl"

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict

    def feed(self, line: str) -> Sequence[Point]:
        """See ``Parser``."""
        text = line.strip()
        if not (text.startswith("{") and text.endswith("}")):
            return NOTHING
        said = decoded(text)
        step = _first(said, STEP_KEYS)
        if step is None and self._strict:
            return NOTHING
        total = _first(said, TOTAL_KEYS)
        total_steps = int(total) if total is not None and 0 < total < 2**63 else None
        at_seconds = _first(said, TIME_KEYS)
        return [
            Point(key, value, step, total_steps, at_seconds)
            for key, value in _numbers(said)
            if is_metric(key)
        ]


def _numbers(said: Mapping[str, Any]) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for key, value in said.items():
        if len(found) == MOST_KEYS:
            break
        if key and len(key) <= LONGEST_NAME and (read := plain(value)) is not None:
            found.append((key, read))
    return found


def _first(said: Mapping[str, Any], keys: Sequence[str]) -> float | None:
    for key in keys:
        if key in said and (value := plain(said[key])) is not None and isfinite(value):
            return value
    return None
