"""A line of a learned shape is read as if no shape were known."""

import gc
import random
import re
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing.base import Parser
from shared.parsing.choosing import parser_for
from shared.parsing.line_shapes import MOST_SHAPES, Shapes
from shared.parsing.printed import Printed
from tests.unit.parsing.reading import LOGS, lines_of

CORPUS = Path(__file__).parents[2] / "corpus"
FILES = sorted([*CORPUS.glob("*.log"), *LOGS.glob("*.log")])
ITER = "iter {}: loss {}, time {}ms, mfu 16.59%"
STAMPED = "2026-01-05 10:00:{},{} - root - INFO - step: {}  loss: {}  memory: 12.3GiB(30%)"


def with_other_digits(line: str, dice: random.Random) -> str:
    return re.sub("[0-9]", lambda _: str(dice.randrange(10)), line)


def variants(lines: Sequence[str], seed: str) -> Iterator[str]:
    """Yield the lines of a log, each also with other digits, and some of them again."""
    dice = random.Random(seed)
    for _ in range(3):
        for line in lines:
            yield line
            yield with_other_digits(line, dice)
            if dice.random() < 0.3:
                yield line


def readings(parser: Parser, lines: Sequence[str], *, learns: bool) -> list[str]:
    """Return what is read of each line; without shapes it is the definition."""
    with patch.object(Shapes, "learn", Shapes.learn if learns else lambda *_: None):
        return [repr(tuple(parser.feed(line))) for line in lines]


def detector() -> Parser:
    parser = parser_for("auto")
    assert isinstance(parser, Parser)
    return parser


@pytest.mark.parametrize("make", [Printed, detector])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_log_is_read_the_same(file: Path, make: Callable[[], Parser]) -> None:
    log = lines_of(file.read_bytes())
    for lines in (log, list(variants(log, file.name))):
        assert readings(make(), lines, learns=True) == readings(make(), lines, learns=False)


NAMES = (
    *(
        "step",
        "iter",
        "epoch",
        "Epoch:",
        "train",
        "Train:",
        "loss",
        "val_loss",
        "total loss",
        "acc",
    ),
    *(
        "top1",
        "top5",
        "f1",
        "lr",
        "eta:",
        "time",
        "rank",
        "global_step",
        "batch",
        "Loss/",
        "[",
        "(cur)",
    ),
    *(
        "epoch/iter:",
        "episode",
        "steps",
        "progress",
        "l2 loss",
        "eval:",
        "best loss",
        "a4 loss",
        "nan",
    ),
)
NUMBERS = st.from_regex(
    r"[0-9]{1,4}|[0-9]{1,2}\.[0-9]{0,3}|[0-9]{1,3},[0-9]{3}|-?[0-9]\.[0-9]e-[0-9]{2}"
    r"|[0-9]{1,3}/[0-9]{1,3}\]?|[0-9]{1,3}%|[0-9]e[0-9]{3}|[0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]k"
    r"|[0-9]\.[0-9]|[0-9]{8}|inf",
    fullmatch=True,
)
PIECES = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from((" ", ": ", "=", " [", " (", " | ", ":")),
    NUMBERS,
    st.sampled_from((" ", ", ", " | ", "] ", ") ", " - ")),
)
SHAPES = st.lists(PIECES, min_size=1, max_size=5).map(lambda found: "".join(map("".join, found)))


@given(st.lists(SHAPES, min_size=1, max_size=4), st.integers(0, 2**32))
def test_made_up_lines_are_read_the_same(shapes: list[str], seed: int) -> None:
    dice = random.Random(seed)
    begin = ["step 1 loss 0.5", "step 2 loss 0.4"]
    picked = (with_other_digits(dice.choice(shapes), dice) for _ in range(30))
    lines = [*begin, *(line for text in picked for line in (text, with_other_digits(text, dice)))]
    assert readings(Printed(), lines, learns=True) == readings(Printed(), lines, learns=False)


def reader(*lines: str) -> Printed:
    """Return a reader that has learned lines of these shapes."""
    printed = Printed()
    for line in lines:
        for _ in range(4):
            printed.feed(line)
    return printed


SAME = {
    "plain numbers": (ITER.format(100, 2.5, 929.71), ITER.format(120, 0.4, 109.12)),
    "an exponent": ("step 1 loss 1.5e-05", "step 2 loss 2.7e-13"),
    "a sign": ("step 1 reward: -1.5", "step 2 reward: -0.2"),
    "a total": ("step 100/500 | loss 0.95", "step 499/500 | loss 0.50"),
    "a time in front": (STAMPED.format("05", 123, 10, 8.1), STAMPED.format(59, 999, 34, 7.5)),
    "digits of a name": ("step 1 top1 0.5 loss2 0.25", "step 2 top1 0.7 loss2 0.50"),
    "a time left": ("eta: 1:59:45  iter: 19  loss: 5.12", "eta: 0:09:12  iter: 29  loss: 4.12"),
    "a bar": (
        "10%|█ | 10/99 [00:01<00:09, 1.0it/s, loss=0.5]",
        "11%|█ | 11/99 [00:02<00:08, 1.1it/s, loss=0.4]",
    ),
    "an epoch and its part": ("Epoch [1][50/300] loss: 1.6", "Epoch [2][99/300] loss: 1.2"),
}


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME)
def test_a_line_with_other_digits_is_known(first: str, second: str) -> None:
    assert reader(first)._shapes.read(second) is not None


OTHER = {
    "more digits": ("step 1 loss 2.5", "step 10 loss 2.5"),
    "another name": ("step 1 top1 0.5", "step 1 top5 0.5"),
    "another text": ("step 1 loss 2.5", "step 1 cost 2.5"),
    "a count with a fraction": ("step 1.0 loss 2.5", "step 1.5 loss 2.5"),
    "thousands": ("step 1,234 loss 2.5", "step 2,345 loss 2.5"),
    "a count that may be a time": ("epoch 17000000 step 1 loss 2.5",) * 2,
    "a number that may be infinite": ("step 1 loss 2.5 x 1e300",) * 2,
    "a bar in ASCII": ("10%|#1  | 1/10 [00:01<00:09, 1.0it/s, loss=0.5]",) * 2,
    "a rank": ("rank 0 step 1 loss 2.5",) * 2,
    "what is above a validation": ("step 1 loss 2.5 eval:",) * 2,
    "a long line": ("step 1 loss 2.5 " + 500 * "-",) * 2,
}


@pytest.mark.parametrize(("first", "second"), OTHER.values(), ids=OTHER)
def test_a_line_that_may_have_another_reading_is_not_known(first: str, second: str) -> None:
    assert reader(first)._shapes.read(second) is None


def test_memory_is_counted() -> None:
    """Of a hostile log, whose lines have as many numbers and names as are learned."""
    endings = [f"{first}{second}" for first in "abcdefgh" for second in "abcd"]
    numbers = " ".join(f"{letter}1_loss 0.5" for letter in ascii_lowercase)
    lines = [f"step 1 {numbers} {ending}" for ending in endings]
    printed = Printed()
    printed.feed("step 1 loss 0.5")
    tracemalloc.start()
    for line in lines:
        for _ in range(4):
            printed.feed(line)
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(printed._shapes._shapes) == MOST_SHAPES
    assert used < printed.held_bytes


def test_the_number_of_shapes_is_bounded() -> None:
    names = [f"{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
    lines = [f"step 1 {name}_loss 2.5" for name in names]
    printed = reader(*lines)
    known = [line for line in lines if printed._shapes.read(line)]
    assert known == lines[-MOST_SHAPES:]
    assert printed._shapes.held_bytes < 128 * 1024
