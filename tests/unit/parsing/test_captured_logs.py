"""Whole logs of real frameworks, captured (tests/fixtures/logs), become the right series.

Keras 3.15 (torch backend), Lightning 2.6, transformers 5.23, torch 2.15 (torchrun, tensorboard).
"""

import math

import pytest

from shared.parsing.base import Parser, Point
from shared.parsing.choosing import parser_for
from shared.parsing.series import Series
from shared.parsing.tfevents import TfEvents
from shared.parsing.trainer_state import TrainerState
from tests.unit.parsing.reading import LOGS, fed, read, values

FORMATS = {
    "keras-verbose1.log": "keras",
    "keras-verbose2.log": "keras",
    "keras-csvlogger.csv": "csv",
    "lightning-tqdm.log": "lightning",
    "lightning-metrics.csv": "csv",
    "huggingface-v5.log": "huggingface",
    "huggingface-v5-merged.log": "huggingface",
    "huggingface-v5-nan.log": "huggingface",
    "torchrun-tee.log": "torchrun",
    "torchrun-plain.log": "torchrun",
}


def _parser(kind: str, name: str) -> Parser:
    parser = parser_for(kind, file_name=name)
    assert isinstance(parser, Parser)
    return parser


def _new(points: list[Point]) -> list[Point]:
    series = Series()
    taken = [series.take(point) for point in points]
    assert series.attempt == 1
    return [t.point for t in taken if t.is_new]


@pytest.mark.parametrize(("name", "kind"), FORMATS.items(), ids=FORMATS)
def test_the_format_is_found_out_and_no_point_lost_by_that(name: str, kind: str) -> None:
    data = (LOGS / name).read_bytes()
    auto, named = _parser("auto", name), _parser(kind, name)
    points, want = read(auto, data), read(named, data)
    assert auto.format == named.format == kind
    assert repr(points) == repr(want)
    assert points


SERIES = {
    "Keras, a bar": ("keras-verbose1.log", "loss", [(0.6865, 1), (0.6527, 2), (0.6312, 3)]),
    "Keras, validation": (
        "keras-verbose1.log",
        "val_loss",
        [(0.6711, 1), (0.6565, 2), (0.6359, 3)],
    ),
    "Keras, a line an epoch": (
        "keras-verbose2.log",
        "loss",
        [(0.6865, 1), (0.6527, 2), (0.6312, 3)],
    ),
    "Lightning, a bar": ("lightning-tqdm.log", "val_loss", [(4.71, 1), (2.87, 2), (1.80, 3)]),
    "Lightning, means of epochs": (
        "lightning-tqdm.log",
        "train_loss_epoch",
        [(6.49, 1), (3.89, 2), (2.40, 3)],
    ),
    "Lightning, the end": ("lightning-rich.log", "val_loss", [(1.797, 3)]),
    "Lightning, a table": (
        "lightning-metrics.csv",
        "train_loss_epoch",
        [(6.493380546569824, 9), (3.8930575847625732, 19), (2.39742112159729, 29)],
    ),
    "Hugging Face": (
        "huggingface-v5.log",
        "loss",
        [(3.651, 0.5), (3.634, 1), (3.618, 1.5), (3.611, 2)],
    ),
    "Hugging Face, with the bars": (
        "huggingface-v5-merged.log",
        "eval_loss",
        [(3.605, 10), (3.595, 20)],
    ),
    "ranks with a prefix: the lowest": (
        "torchrun-tee.log",
        "loss",
        [(2.3, 0), (1.725, 1 / 3), (1.38, 2 / 3), (1.15, 1), (0.985714, 4 / 3), (0.8625, 5 / 3)],
    ),
    "ranks without one: the first that prints": (
        "torchrun-plain.log",
        "test_loss",
        [(0.03, 1), (0.015, 2)],
    ),
}


@pytest.mark.parametrize(("name", "metric", "want"), SERIES.values(), ids=SERIES)
def test_a_series_is_read(name: str, metric: str, want: list[tuple[float, float]]) -> None:
    kind = FORMATS.get(name, "lightning")
    points = _new(read(_parser(kind, name), (LOGS / name).read_bytes()))
    series = [(value, step) for _, value, step in values(points, metric)]
    assert series == [(value, pytest.approx(step)) for value, step in want]


def test_keras_has_the_total_and_excludes_evaluate() -> None:
    points = read(_parser("keras", ""), (LOGS / "keras-verbose1.log").read_bytes())
    assert {p.total_steps for p in points} == {3}
    assert [p.step for p in points] == sorted(p.step for p in points if p.step is not None)


def test_a_bar_of_lightning_gives_each_value_once() -> None:
    points = read(_parser("lightning", ""), (LOGS / "lightning-tqdm.log").read_bytes())
    steps = [step for _, _, step in values(points, "train_loss_step")]
    assert steps == pytest.approx([i / 10 for i in range(1, 31)])


def test_nan_is_seen_where_hugging_face_prints_it() -> None:
    """Its filter writes a NaN loss as 0; evaluation and gradients tell."""
    points = read(_parser("huggingface", ""), (LOGS / "huggingface-v5-nan.log").read_bytes())
    undefined = {name for name, value, _ in values(points) if math.isnan(value)}
    assert undefined == {"eval_loss", "grad_norm"}
    assert [value for _, value, _ in values(points, "loss")] == [2.196, 0, 0, 0]


def test_the_newer_trainer_state_gives_only_what_the_older_did_not() -> None:
    parser = TrainerState()
    first = fed(parser, (LOGS / "trainer_state-10.json").read_bytes())
    second = fed(parser, (LOGS / "trainer_state-20.json").read_bytes())
    assert values(first, "loss", "eval_loss") == [
        ("loss", 3.6505908966064453, 5),
        ("loss", 3.634268951416016, 10),
        ("eval_loss", 3.6045429706573486, 10),
    ]
    assert [step for _, _, step in values(second, "loss", "eval_loss")] == [15, 20, 20]
    assert {p.total_steps for p in first} == {20}


def test_scalars_of_torch_s_writer_are_read() -> None:
    data = (LOGS / "pytorch.tfevents").read_bytes()
    points, consumed = TfEvents().feed_bytes(data)
    assert consumed == len(data)
    assert [step for _, _, step in values(points, "Loss/val")] == list(range(20))
    assert values(points, "new_style", "new_double") == [
        ("new_style", 0.5, 3),
        ("new_double", 0.25, 3),
    ]
    last = [p for p in points if p.metric == "Loss/train"][-1]
    assert math.isnan(last.value)
    assert points[1].at_seconds == 1700000000.5
