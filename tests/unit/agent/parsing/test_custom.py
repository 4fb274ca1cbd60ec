"""A user's own pattern."""

import re

import pytest

from agent.parsing.custom import ALLOWANCE_SECONDS, LINE_SECONDS, LONGEST_LINE, Custom
from agent.parsing.patterns import LONGEST_PATTERN
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
    "counts high": (r"a{4294967294}(?P<value>b)", "at most 10000 elements"),
    "counts within counts": (r"((a{99}){99}){99}(?P<value>b)", "at most 10000 elements"),
    "counts often": (r"[0-9]{5000,}[0-9]{5000,}(?P<value>b)", "at most 10000 elements"),
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


PLAIN = {
    "braces": (r'{"loss": (?P<value>\S+)}', '{"loss": 1}'),
    "braces after a character": (r"x{e}(?P<value>1)", "x{e}1"),
    "braces of an error count": (r"(?:loss){e<=1}=(?P<value>1)", "loss{e<=1}=1"),
    "brackets in brackets": (r"[[:alpha:]] (?P<value>1)", ":] 1"),
    "a character's name": (r"\N{COLON}(?P<value>1)", ":1"),
    "a bracket first": (r"[]{}[]=(?P<value>1)", "[=1"),
}


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
@pytest.mark.parametrize(("pattern", "line"), PLAIN.values(), ids=PLAIN)
def test_what_means_something_to_regex_alone_is_plain(pattern: str, line: str) -> None:
    assert re.search(pattern, line)
    assert values(Custom(pattern).feed(line)) == [("value", 1, None)]


class Seconds:
    """A clock on which each search takes as long as is said."""

    def __init__(self, *each: float) -> None:
        self.times = [0.0]
        for seconds in each:
            self.times += [self.times[-1], self.times[-1] + seconds]
        self.times = self.times[1:]

    def __call__(self) -> float:
        return self.times.pop(0)


SLOW = r"(.*)(.*)(.*)(.*)(?P<value>[cd])"


def test_a_search_that_takes_too_long_is_ended_and_the_next_line_is_searched() -> None:
    parser = Custom(SLOW)
    assert parser.feed("a" * LONGEST_LINE) == ()
    assert not parser.problem
    assert parser.feed("c") == ()  # a match, though no number: no error
    assert values(Custom("(?P<value>[0-9])$").feed("a" * LONGEST_LINE + "1")) == []


def test_a_pattern_that_goes_on_taking_too_long_is_given_up_and_named() -> None:
    parser = Custom(SLOW, metric="loss")
    lines = 0
    while not parser.problem:
        parser.feed("a" * LONGEST_LINE)
        lines += 1
        assert lines < 100
    assert lines > 1
    assert "annotation shuntyard.io/metrics, regex" in parser.problem
    assert SLOW in parser.problem
    assert "is not fast enough: at most 200 µs a line, 50 ms for a single one" in parser.problem


def test_a_pattern_that_was_given_up_searches_no_more() -> None:
    parser = Custom("(?P<value>1)", seconds=Seconds(2 * ALLOWANCE_SECONDS))
    assert values(parser.feed("1")) == [("value", 1, None)]
    assert parser.problem
    assert parser.feed("1") == ()


def test_a_slow_line_now_and_then_is_borne() -> None:
    slow = ALLOWANCE_SECONDS / 2
    between = [0.0] * round(slow / LINE_SECONDS)
    parser = Custom("(?P<value>1)", seconds=Seconds(*([slow, *between] * 5)))
    for _ in range(5 * (1 + len(between))):
        assert parser.feed("1")
    assert not parser.problem
