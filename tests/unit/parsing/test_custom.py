"""A user's own pattern."""

import pytest

from shared.errors import InputError
from shared.parsing.patterns import LONGEST_LINE, LONGEST_PATTERN, Custom, compiled
from tests.unit.parsing.reading import values

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
    "does not compile": ("(?P<value>[0-9]+", "a regular expression of RE2 (missing )"),
    "has no value": ("loss=(.*)", "a group"),
    "is too long": ("(?P<value>" + "x" * LONGEST_PATTERN + ")", "at most 500 characters"),
    "looks ahead": (r"(?=a)(?P<value>b)", "without look-around"),
    "looks back": (r"(?<!a)(?P<value>b)", "without look-around"),
    "refers back": (r"(a)\1(?P<value>b)", "without backreferences"),
    "refers back to a name": (r"(?P<step>a)(?P=step)(?P<value>b)", "without backreferences"),
    "is possessive": (r"a*+(?P<value>b)", "without possessive"),
    "is atomic": (r"(?>a)(?P<value>b)", "without possessive"),
    "has a condition": (r"(a)?(?(1)b|c)(?P<value>b)", "without conditions"),
    "counts high": (r"a{4000}(?P<value>b)", "counts of at most 1000"),
    "counts within counts": (r"((a{99}){99}){99}(?P<value>b)", "counts of at most 1000"),
    "is large when counts are written out": (r"(a?){900}(a?){900}(?P<value>b)", "instructions"),
    "has many wide classes": (r"\pL" * 20 + "(?P<value>b)", "at most 1000 instructions"),
    "has many groups": ("(a)" * 20 + "(?P<value>b)", "at most 20 groups"),
    "is no Unicode": ("\ud800(?P<value>b)", "Unicode text"),
}


@pytest.mark.parametrize(("pattern", "words"), BAD.values(), ids=BAD)
def test_a_pattern_is_refused_that(pattern: str, words: str) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard.io/metrics, regex") as caught:
        Custom(pattern)
    assert words in caught.value.expected
    assert len(str(caught.value)) < 500


GOOD = {
    "a number with an exponent": (
        r"loss: (?P<value>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)",
        "loss: -1.5e-3",
        -1.5e-3,
    ),
    "an absent group": (r"(?:epoch \d+)? loss=(?P<value>\S+)", " loss=1", 1),
    "a repetition of repetitions": (r"(?:\w+\s+)*loss=(?P<value>\S+)", "a b loss=1", 1),
    "a repetition of choices": (r"(?:a|b)*loss=(?P<value>\S+)", "ab loss=2", 2),
    "lazy repetitions": (r"a*?b+?loss=(?P<value>\S+?)$", "abloss=3", 3),
    "a place at the end": (r"loss=(?P<value>\S+)\Z", "loss=1 loss=2", 2),
    "a backslash before a Z": (r"\\Z=(?P<value>\S+)", r"\Z=2", 2),
    "a character's code": (r"\u00e9=(?P<value>\S+)", "é=2", 2),
    "a character's long code": (r"\U0001F600=(?P<value>\S+)", "😀=2", 2),
    "a character's code in a set": (r"[\u00e9a]=(?P<value>\S+)", "é=2", 2),
    "a count from nothing on": (r"^[0-9]{,2}=(?P<value>\S+)", "12=2", 2),
    "a count from nothing on in a set": (r"^[{,2}]=(?P<value>\S+)", ",=2", 2),
    "a flag": (r"(?i)LOSS=(?P<value>\S+)", "loss=2", 2),
    "a class in Unicode": (r"\p{Greek}=(?P<value>\S+)", "λ=2", 2),
    "braces": (r'{"loss": (?P<value>\S+)}', '{"loss": 1}', 1),
    "a bracket first": (r"[]{}[]=(?P<value>1)", "[=1", 1),
}


@pytest.mark.parametrize(("pattern", "line", "value"), GOOD.values(), ids=GOOD)
def test_a_pattern_finds_with(pattern: str, line: str, value: float) -> None:
    assert [point.value for point in Custom(pattern).feed(line)] == [value]


def test_a_line_that_is_no_unicode_is_searched() -> None:
    assert values(Custom(r"loss=(?P<value>\d)").feed("\udcff loss=1")) == [("value", 1, None)]


def test_files_of_a_pod_share_a_pattern() -> None:
    shared = compiled("(?P<value>[0-9])")
    assert values(Custom(shared, metric="loss").feed("1")) == [("loss", 1, None)]
