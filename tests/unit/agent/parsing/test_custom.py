"""A user's own pattern."""

import pytest

from agent.parsing.custom import LONGEST_LINE, LONGEST_PATTERN, Custom
from shared.errors import InputError
from tests.unit.agent.parsing.reading import values

PATTERN = r"step[ =](?P<step>\d+).*loss[ =](?P<value>\S+)"
LINES = {
    "value and step": ("at step 5, loss 0.25", [("value", 0.25, 5)]),
    "NaN is a value": ("step=5 loss=nan", [("value", pytest.approx(float("nan"), nan_ok=True), 5)]),
    "a value that is no number is no point": ("step=5 loss=low", []),
    "no match is no point": ("loss=0.25", []),
    "beyond the limit it is not searched": ("step=5 " + "x" * LONGEST_LINE + " loss=1", []),
}


@pytest.mark.parametrize(("line", "want"), LINES.values(), ids=LINES)
def test_the_first_match_of_a_line_is_a_point(line: str, want) -> None:
    assert values(Custom(PATTERN).feed(line)) == want


def test_the_metric_has_the_name_of_the_annotation() -> None:
    assert values(Custom("l=(?P<value>.*)", metric="loss").feed("l=1")) == [("loss", 1, None)]


def test_a_step_that_is_no_number_is_none() -> None:
    points = Custom("(?P<step>\\S+) (?P<value>\\S+)").feed("x 1")
    assert values(points) == [("value", 1, None)]
    assert values(Custom("(?P<step>x)?(?P<value>1)").feed("1")) == [("value", 1, None)]
    assert values(Custom("(?P<step>\\S+) (?P<value>\\S+)").feed("inf 1")) == [("value", 1, None)]


BAD = {
    "does not compile": ("(?P<value>[0-9]+", "a regular expression"),
    "has no value": ("loss=(.*)", "a group"),
    "is too long": ("(?P<value>" + "x" * LONGEST_PATTERN + ")", "at most 500 characters"),
    "repeats a repetition": (r"(a+)+(?P<value>b)", "repeats or chooses"),
    "repeats a choice": (r"(?:a|a)*(?P<value>b)", "repeats or chooses"),
    "repeats what may be absent": (r"(?:a?){30}(?P<value>b)", "repeats or chooses"),
    "repeats a repetition deep inside": (r"(?:x(?:y(a*)))*?(?P<value>b)", "repeats or chooses"),
    "repeats a repetition a number of times": (r"(a+){2,9}(?P<value>b)", "repeats or chooses"),
    "hides a repetition behind a blank": (r"(?x)(a+) +(?P<value>b)", "repeats or chooses"),
    "repeats a repetition of a class": (r"([a)]+)*(?P<value>b)", "repeats or chooses"),
}


@pytest.mark.parametrize(("pattern", "words"), BAD.values(), ids=BAD)
def test_a_pattern_is_refused_that(pattern: str, words: str) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard.io/metrics, regex") as caught:
        Custom(pattern)
    assert words in caught.value.expected


GOOD = {
    "a number with an exponent": r"loss: (?P<value>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)",
    "an absent group": r"(?:epoch \d+)? loss=(?P<value>\S+)",
    "an exact repetition inside": r"(?:\d{2}:)*loss=(?P<value>\S+)",
    "a possessive repetition": r"(?:\w+\s+)*+loss=(?P<value>\S+)",
    "repetition signs in a class": r"(?:[*+|]x)*loss=(?P<value>\S+)",
    "repetition signs behind backslashes": r"(?:\+\*\|)*loss=(?P<value>\S+)",
    "a choice that is not repeated": r"(?:loss|err)=(?P<value>\S+)",
    "lazy repetitions": r"a*?b+?loss=(?P<value>\S+?)$",
}


@pytest.mark.parametrize("pattern", GOOD.values(), ids=GOOD)
def test_a_pattern_is_taken_that_has(pattern: str) -> None:
    assert Custom(pattern).format == "regex"
