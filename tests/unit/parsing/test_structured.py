"""JSON lines and tables: what is a metric, what places it, what is passed over."""

import math

import pytest

from shared.parsing.structured import MOST_KEYS, JsonLines, Table
from tests.unit.parsing.reading import read, values

JSON_CASES = {
    "every number is a metric": (
        '{"step": 1, "loss": 2, "lr": 0.1}',
        [("loss", 2, 1), ("lr", 0.1, 1)],
    ),
    "the first of the step keys counts": (
        '{"epoch": 3, "global_step": 7, "loss": 1}',
        [("loss", 1, 7)],
    ),
    "an epoch is better than nothing": ('{"epoch": 3.5, "loss": 1}', [("loss", 1, 3.5)]),
    "no step is none": ('{"loss": 1}', [("loss", 1, None)]),
    "a step that is no number is none": ('{"step": "x", "loss": 1}', [("loss", 1, None)]),
    "infinite steps are none": ('{"step": Infinity, "loss": 1}', [("loss", 1, None)]),
    "infinities are values": ('{"step": 1, "loss": -Infinity}', [("loss", -math.inf, 1)]),
    "numbers in texts are values": ('{"step": "1", "loss": "2.5e-3"}', [("loss", 0.0025, 1)]),
    "other texts, booleans, null, lists are none": (
        '{"step": 1, "a": "x", "b": true, "c": null, "d": [1], "e": {"f": 1}, "g": "1_0"}',
        [],
    ),
    "bookkeeping is no metric": (
        '{"step": 1, "eval_runtime": 1, "total_flos": 2, "loss": 3}',
        [("loss", 3, 1)],
    ),
    "names of other scripts stay": ('{"step": 1, "потери": 1}', [("потери", 1, 1)]),
    "a name without end is none": ('{"step": 1, "%s": 1}' % ("x" * 201), []),
    "a number too large for a float is none": ('{"step": 1, "loss": 1%s}' % ("0" * 400), []),
    "a number of five thousand digits does not stop us": (
        '{"step": 1, "loss": 1%s}' % ("0" * 5000),
        [],
    ),
    "deep nesting does not stop us": ('{"a":' * 20_000 + "1" + "}" * 20_000, []),
    "half a line is none": ('{"step": 1, "loss": 0.5', []),
    "two objects are none": ('{"step": 1, "loss": 1}{"step": 2, "loss": 1}', []),
    "a list is none": ('[{"step": 1, "loss": 1}]', []),
}


@pytest.mark.parametrize(("line", "want"), JSON_CASES.values(), ids=JSON_CASES)
def test_an_object_gives_its_numbers(line: str, want) -> None:
    assert values(JsonLines().feed(line)) == want


TIMES = {
    "seconds since 1970": ('"time": 1700000000.5', 1_700_000_000.5),
    "a text": ('"time": "now"', None),
    "the duration of a step": ('"time": 0.451', None),
    "milliseconds": ('"timestamp": 1700000000500', None),
    "a duration beside a time": ('"time": 0.5, "timestamp": 1700000000', 1_700_000_000.0),
}


@pytest.mark.parametrize(("field", "want"), TIMES.values(), ids=TIMES)
def test_only_seconds_since_1970_are_a_time(field: str, want: float | None) -> None:
    (point,) = JsonLines().feed(f'{{{field}, "step": 1, "loss": 1}}')
    assert point.at_seconds == want


PLACES = {
    "steps and their total": ('"step": 1, "total_steps": 9', (1, 9, "step")),
    "no total": ('"step": 1, "total_steps": 0', (1, None, "step")),
    "epochs and their total": ('"epoch": 2, "num_epochs": 3', (2, 3, "epoch")),
    "epochs and a total of steps": ('"epoch": 2, "total_steps": 23800', (2, None, "epoch")),
    "steps and a total of epochs": ('"step": 2, "num_epochs": 3', (2, None, "step")),
    "LLaMA-Factory": (
        '"current_steps": 5, "total_steps": 117, "epoch": 0.13, "percentage": 4.27',
        (5, 117, "step"),
    ),
    "Detectron2": ('"iteration": 19, "eta_seconds": 3123.5, "data_time": 0.1', (19, None, "step")),
}


@pytest.mark.parametrize(("fields", "want"), PLACES.values(), ids=PLACES)
def test_a_step_and_a_total_count_the_same(fields: str, want: object) -> None:
    points = JsonLines().feed(f'{{{fields}, "loss": 1}}')
    assert [(p.metric, (p.step, p.total_steps, p.unit)) for p in points] == [("loss", want)]


def test_of_steps_that_begin_again_with_each_epoch_the_epoch_is_the_place() -> None:
    parser = JsonLines()
    lines = [f'{{"epoch": {e}, "iter": {i}, "loss": 1}}' for e in (1, 2, 3) for i in (50, 100, 150)]
    places = [(point.step, point.unit) for line in lines for point in parser.feed(line)]
    within = (None, "epoch")
    assert places[:3] == [(50, "step"), (100, "step"), (150, "step")]
    assert places[3:] == [(2, "epoch"), within, within, (3, "epoch"), within, within]


def test_a_run_that_begins_again_counts_from_the_beginning() -> None:
    parser = JsonLines()
    places = [(1, 50), (2, 50), (3, 50), (1, 50), (1, 100)]
    lines = [f'{{"epoch": {e}, "iter": {i}, "loss": 1}}' for e, i in places]
    assert [p.step for line in lines for p in parser.feed(line)] == [50, 2, 3, 1, None]


def test_a_line_of_validation_has_the_step_of_the_training_before_it() -> None:
    parser = JsonLines()
    parser.feed('{"mode": "train", "epoch": 1, "iter": 700, "loss": 2.0}')
    points = parser.feed('{"mode": "val", "epoch": 1, "iter": 50, "bbox_mAP": 0.3}')
    assert values(points) == [("val_bbox_mAP", 0.3, 700)]


def test_a_line_of_very_many_keys_is_bounded() -> None:
    line = "{" + ",".join(f'"m{i}": {i}' for i in range(5000)) + "}"
    assert len(JsonLines().feed(line)) == MOST_KEYS


TABLE_CASES = {
    "rows below a header": ("step,loss\n1,0.5\n2,0.4\n", [("loss", 0.5, 1), ("loss", 0.4, 2)]),
    "semicolons": ("epoch;loss\n1;0.5\n", [("loss", 0.5, 1)]),
    "tabs": ("epoch\tloss\n1\t0.5\n", [("loss", 0.5, 1)]),
    "a counter with a dash": ("Epoch-Num\tTrain-Loss\t\n1.0\t0.5\t\n", [("Train-Loss", 0.5, 1)]),
    "blanks around cells": ("step, loss\n1, 0.5\n", [("loss", 0.5, 1)]),
    "quoted cells": ('"step","loss, mean"\n"1","0.5"\n', [("loss, mean", 0.5, 1)]),
    "lists of Keras are no value": ('epoch,lr,loss\n0,"""[1.0, 2.0]""",0.5\n', [("loss", 0.5, 0)]),
    "NA of Keras is no value": ("epoch,loss,val_loss\n0,0.5,NA\n", [("loss", 0.5, 0)]),
    "NaN is one": ("epoch,loss\n0,-inf\n", [("loss", -math.inf, 0)]),
    "zero is one": ("epoch,loss\n0,0\n", [("loss", 0, 0)]),
    "rows that end with a comma": (
        "step,loss\n1,0.5,\n2,0.4,\n",
        [("loss", 0.5, 1), ("loss", 0.4, 2)],
    ),
    "rows with two cells more are none": ("step,loss\n1,0.5,,\n", []),
    "rows of another length are none": ("step,loss\n1,0.5,7\n2\n", []),
    "two rows torn together are none": ("step,loss\n1,0.52,0.4\n", []),
    "a row without its step is none": ("step,loss\n,0.5\n", []),
    "rows before a header are none": ("1,0.5\nstep,loss\n2,0.4\n", [("loss", 0.4, 2)]),
    "a comment is no header": ("# step,loss\nstep,acc\n1,0.5\n", [("acc", 0.5, 1)]),
    "a header behind a hash": (
        "#  step   rmse_val  lr\n# no data: nan\n1  0.5  1e-3\n",
        [("rmse_val", 0.5, 1), ("lr", 1e-3, 1)],
    ),
    "a table without steps": ("loss,acc\n0.5,0.1\n", [("loss", 0.5, None), ("acc", 0.1, None)]),
    "the index of a data frame has no name": (",step,loss\n0,5,0.5\n", [("loss", 0.5, 5)]),
    "a program that begins anew": (
        "step,loss\n1,0.5\nstep,loss\n1,0.6\n",
        [("loss", 0.5, 1), ("loss", 0.6, 1)],
    ),
    "a header with more columns": (
        "step,loss\n1,0.5\nstep,loss,val_loss\n1,0.5,\n1,,0.7\n",
        [("loss", 0.5, 1), ("loss", 0.5, 1), ("val_loss", 0.7, 1)],
    ),
    "a line of words among rows is no header": (
        "step,loss\n1,0.5\nhello,world\n2,0.4\n",
        [("loss", 0.5, 1), ("loss", 0.4, 2)],
    ),
    "words before the header are replaced by it": (
        "hello,world\nloss,acc\n1,2\n",
        [("loss", 1, None), ("acc", 2, None)],
    ),
    "a header with a name twice is none": ("loss,loss\n1,2\n", []),
    "one column is no table": ("loss\n1\n", []),
    "a broken quote is passed over": ('step,loss\n1,"0.5\n2,0.4\n', [("loss", 0.4, 2)]),
}


@pytest.mark.parametrize(("text", "want"), TABLE_CASES.values(), ids=TABLE_CASES)
def test_a_table_gives_its_cells(text: str, want) -> None:
    assert values(read(Table(), text)) == want


def test_prose_with_commas_is_no_table_where_the_format_is_found_out() -> None:
    assert read(Table(strict=True), "hello,world\n1,2\n") == []
