"""Logs in the forms of public projects (tests/corpus): wrong is worse than silent, both count."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from shared.parsing.base import Parser, Point
from shared.parsing.choosing import parser_for
from shared.parsing.metric_names import preferred
from tests.unit.parsing.reading import read

CORPUS = Path(__file__).parents[2] / "corpus"
READINGS = tomllib.loads((CORPUS / "readings.toml").read_text(encoding="utf-8"))
LEAST_SHARE_WITH_VALUES = 0.95
"""Logs of a training whose metric is read; may only rise."""
LEAST_WITH_TOTAL = 55
"""Logs of which the end of the run is read; not a share, because many excerpts do not have it."""


def reading_of(name: str) -> dict[str, Any]:
    """What is read of a log without an annotation, as ``readings.toml`` has it."""
    file_name = name if not name.endswith(".log") else ""
    parser = parser_for("auto", file_name=file_name)
    assert isinstance(parser, Parser)
    points = read(parser, (CORPUS / name).read_bytes())
    metric = preferred(point.metric for point in points)
    followed = [point for point in points if point.metric == metric]
    return _described(followed) if followed else {}


def _described(points: list[Point]) -> dict[str, Any]:
    last = points[-1]
    step = next((p.step for p in reversed(points) if p.step is not None), None)
    row = {
        "metric": last.metric,
        "points": len(points),
        "value": last.value,
        "step": None if step is None else round(step, 6),
        "total_steps": last.total_steps,
        "unit": last.unit,
    }
    return {key: value for key, value in row.items() if value is not None}


@pytest.mark.parametrize("name", READINGS)
def test_a_log_is_read_as_the_table_says(name: str) -> None:
    want = {key: value for key, value in READINGS[name].items() if key != "printed_by"}
    assert reading_of(name) == want


def test_every_log_is_in_the_table() -> None:
    logs = {path.name for path in CORPUS.iterdir() if path.suffix in (".log", ".jsonl", ".csv")}
    assert logs == set(READINGS)


def test_the_table_shows_what_the_agent_understands() -> None:
    trainings = [row for row in READINGS.values() if "no training" not in row["printed_by"]]
    with_values = [row for row in trainings if "metric" in row]
    with_total = [row for row in with_values if "total_steps" in row]
    assert len(with_values) >= LEAST_SHARE_WITH_VALUES * len(trainings)
    assert len(with_total) >= LEAST_WITH_TOTAL


@pytest.mark.parametrize("name", READINGS)
def test_steps_never_go_back(name: str) -> None:
    """A step that goes back is a restart of the run; none of these restarts."""
    parser = parser_for("auto", file_name=name if not name.endswith(".log") else "")
    assert isinstance(parser, Parser)
    points = read(parser, (CORPUS / name).read_bytes())
    metric = preferred(point.metric for point in points)
    places = [(p.unit, p.step) for p in points if p.metric == metric and p.step is not None]
    for unit in ("step", "epoch"):
        steps = [step for counted, step in places if counted == unit]
        assert steps == sorted(steps)
