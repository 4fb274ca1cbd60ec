"""A metric keeps its unit; it changes it where two values follow each other in the other one."""

from shared.parsing.base import Point, Unit
from shared.parsing.units import Units


def kept(*units: Unit) -> list[float]:
    """The steps that count, of values whose units are these, and whose steps are 0, 1, 2, ..."""
    of_log = Units()
    return [
        point.step
        for step, unit in enumerate(units)
        for point in of_log.kept([Point("loss", 0.5, float(step), unit=unit)])
    ]


def test_values_of_one_unit_count() -> None:
    assert kept("step", "step", "step") == [0, 1, 2]


def test_a_lone_value_in_the_other_unit_does_not_count() -> None:
    assert kept("step", "step", "epoch", "step", "epoch", "step") == [0, 1, 3, 5]


def test_two_values_in_the_other_unit_change_it() -> None:
    assert kept("epoch", "step", "step", "step", "epoch") == [0, 1, 2, 3]


def test_a_value_at_a_part_of_an_epoch_changes_it_at_once() -> None:
    units = Units()
    last = Point("loss", 0.5, 243.0, 243)
    first = Point("loss", 0.4, 1.25, 10, unit="epoch")
    assert units.kept([last, first]) == [last, first]


def test_each_metric_has_its_unit() -> None:
    units = Units()
    points = [Point("loss", 0.5, 7.0, unit="step"), Point("acc", 0.5, 1.0, unit="epoch")]
    assert units.kept(points) == points
    assert units.held_bytes > 0
