"""A line of a learned shape is read as if no shape were known."""

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from shared.parsing.base import Point
from shared.parsing.line_shapes import MOST_SHAPES, Shapes
from shared.parsing.printed import Printed

CORPUS = Path(__file__).parents[2] / "corpus"
ITER = "iter {}: loss {}, time {}ms, mfu 16.59%"
STAMPED = "2026-01-05 10:00:{},{} - root - INFO - step: {}  loss: {}  memory: 12.3GiB"


def changed(line: str, dice: random.Random) -> str:
    """Return a line with some other digits, as many or more."""
    more = dice.random() < 0.2
    digits = re.sub("[0-9]", lambda _: str(dice.randrange(10)), line)
    return re.sub("(?<=[0-9])$|(?<=[0-9])(?=[^0-9.])", "7", digits, count=1) if more else digits


def lines_of(log: Path) -> Iterator[str]:
    """Yield the lines of a log, each also with other digits."""
    dice = random.Random(log.name)
    for line in log.read_text().splitlines():
        yield line
        if dice.random() < 0.5:
            yield line
        yield changed(line, dice)


def read(lines: Sequence[str], *, learns: bool) -> list[Sequence[Point]]:
    with patch.object(Shapes, "learn", Shapes.learn if learns else lambda *_: None):
        parser = Printed()
        return [tuple(parser.feed(line)) for line in lines]


@pytest.mark.parametrize("log", sorted(CORPUS.glob("*.log")), ids=lambda log: log.stem)
def test_logs_are_read_the_same(log: Path) -> None:
    lines = list(lines_of(log))
    assert read(lines, learns=True) == read(lines, learns=False)


def reader(*lines: str) -> Printed:
    """Return a parser that has learned lines of these shapes."""
    parser = Printed()
    for line in lines:
        for _ in range(3):
            parser.feed(line)
    return parser


SAME = {
    "plain numbers": (ITER.format(1, 2.5, 929.71), ITER.format(120, 0.4, 9.0)),
    "an exponent": ("step 1 loss 1.5e-05", "step 20 loss 2.75e-13"),
    "a sign": ("step 1 reward: -1.5", "step 20 reward: -0.25"),
    "a total": ("step 1/500 | loss 10.95", "step 499/500 | loss 0.5"),
    "a time in front": (STAMPED.format("05", 123, 10, 8.1), STAMPED.format(59, 999, 1234, 7.55)),
    "digits of a name": ("step 1 top1 0.5 loss2 0.25", "step 2 top1 0.75 loss2 0.5"),
}


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME)
def test_a_line_of_the_same_shape_is_known(first: str, second: str) -> None:
    assert reader(first)._shapes.read(second) is not None


OTHER = {
    "a fraction instead of a count": ("step 1 loss 2", "step 1.5 loss 2"),
    "another name": ("step 1 top1 0.5", "step 1 top5 0.5"),
    "another text": ("step 1 loss 2.5", "step 1 acc 2.5"),
    "an exponent that was not there": ("step 1 loss 2.5", "step 1 loss 2.5e-05"),
    "a count of many digits": ("step 1 loss 2.5", "step 12345678901 loss 2.5"),
    "thousands": ("step 1,234 loss 2.5", "step 2,345 loss 2.5"),
    "a bar": ("10%|#| 1/10 [00:01<00:09, 1.0it/s, loss=0.5]",) * 2,
    "a rank": ("rank 0 step 1 loss 2.5",) * 2,
    "what is above a validation": ("step 1 loss 2.5 eval:",) * 2,
}


@pytest.mark.parametrize(("first", "second"), OTHER.values(), ids=OTHER)
def test_a_line_of_another_shape_is_not_known(first: str, second: str) -> None:
    assert reader(first)._shapes.read(second) is None


def test_the_number_of_shapes_is_bounded() -> None:
    names = [f"{first}{second}" for first in "abcdef" for second in "abcdef"]
    lines = [f"step 1 {name}_loss 2.5" for name in names]
    parser = reader(*lines)
    known = [line for line in lines if parser._shapes.read(line)]
    assert known == lines[-MOST_SHAPES:]
    assert parser._shapes.held_bytes < 64 * 1024
