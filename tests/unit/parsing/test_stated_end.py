"""The time left that programs print, of the run and of an epoch."""

import json

import pytest

from shared.parsing.base import Point
from shared.parsing.printed import Printed
from shared.parsing.stated_end import stated_left
from shared.parsing.structured import JsonLines
from tests.unit.parsing.reading import read

LEFT = {
    "eta: 1:59:45  iter: 19": 7185.0,
    "[eta: 3 days, 6:13:17, time (data): 0.383]": 281597.0,
    "eta: 1 day, 0:00:10": 86410.0,
    "ETA: 02:30": 150.0,
    "ETA:   0h 0m10s": 10.0,
    "remaining:13:50:20 elapsed:02:10": 49820.0,
    "time left 12m": 720.0,
    "64000 images, 8.5 hours left": 30600.0,
    "beta: 1:59:45": None,
    "eta: 0.5": None,
    "eta 12:34:56:78": None,
    "3 workers left": None,
    "remaining pods: 3:4": None,
}


@pytest.mark.parametrize(("line", "want"), LEFT.items())
def test_times_in_many_forms_are_read(line: str, want: float | None) -> None:
    assert stated_left(line) == want


def shown(*lines: str) -> list[Point]:
    return read(Printed(), "".join(f"{line}\n" for line in lines))


def test_the_time_of_a_run_without_epochs_counts_from_the_first_line() -> None:
    points = shown(*(f"eta: 0:0{9 - n}:00  iter: {n}  loss: 0.{n}" for n in range(1, 5)))
    assert [point.left_seconds for point in points] == [480.0, 420.0, 360.0, 300.0]


def test_the_time_of_a_run_with_epochs_counts_from_the_second_epoch() -> None:
    places = [(epoch, step) for epoch in (1, 2) for step in range(1, 4)]
    lines = [
        f"Epoch [{epoch}][{step}/3] eta: 0:{50 - 3 * epoch - step}:00, loss: 0.5"
        for epoch, step in places
    ]
    left = [point.left_seconds for point in shown(*lines)]
    assert left == [None, None, None, 2580.0, 2520.0, 2460.0]


def test_the_time_of_an_epoch_never_counts() -> None:
    lines = [
        f"Epoch: [{epoch}]  [{step}/3]  eta: 0:0{3 - step}:01  loss: 0.5"
        for epoch in range(5)
        for step in range(1, 4)
    ]
    assert {point.left_seconds for point in shown(*lines)} == {None}


def test_the_time_of_a_bar_below_its_epoch_never_counts() -> None:
    lines = []
    for epoch in range(1, 5):
        lines.append(f"Epoch {epoch}/9")
        lines += [f"{step}/4 |##| {step}/4 eta 0:0{4 - step} loss=0.5" for step in range(1, 5)]
    assert {point.left_seconds for point in shown(*lines)} == {None}


JSON = {
    "Detectron2": ({"iteration": 1, "total_loss": 0.5, "eta_seconds": 12.5}, 12.5),
    "LLaMA-Factory": ({"current_steps": 1, "loss": 0.5, "remaining_time": "0:12:33"}, 753.0),
    "neither": ({"step": 1, "loss": 0.5}, None),
}


@pytest.mark.parametrize(("fields", "want"), JSON.values(), ids=JSON)
def test_structured_lines_may_have_it(fields: dict[str, object], want: float | None) -> None:
    (point, *_) = read(JsonLines(), json.dumps(fields) + "\n")
    assert point.left_seconds == want
