"""Patterns for lines that nothing reads."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing.base import Parser
from shared.parsing.choosing import parser_for
from shared.parsing.printed import Printed
from shared.parsing.proposals import proposal
from tests.unit.parsing.reading import read

LINES = {
    "a counter in brackets": "[{n}] stage fit: objective {v:.3f} after {t:.1f} s",
    "a counter with a name": "step {n} | objective={v:.4f} | 12.{n}5 ms",
    "behind a time stamp": "2026-01-05 10:00:00,123 INFO main: round {n}, cost function {v:.3f}",
    "no counter": "the objective is {v:.3f} now",
    "an arrow": "iter {n} objective => {v:.3f}",
    "exponents": "update {n}: energy {v:.3e}",
}


@pytest.mark.parametrize("form", LINES.values(), ids=LINES)
def test_a_proposed_pattern_reads_the_values_of_these_lines(form: str) -> None:
    lines = [form.format(n=n, v=3.0 / n, t=5.5 - n % 2) for n in range(1, 13)]
    pattern = proposal(lines)
    parser = parser_for("regex", regex=pattern)
    assert isinstance(parser, Parser)
    points = read(parser, "".join(f"{line}\n" for line in lines))
    assert [p.value for p in points] == [pytest.approx(3.0 / n, rel=2e-3) for n in range(1, 13)]
    if "{n}" in form:
        assert [p.step for p in points] == [float(n) for n in range(1, 13)]


NOTHING = {
    "too few lines": ["step 1 objective 0.5", "step 2 objective 0.4"],
    "no decimals": [f"step {n} of the pipeline, {n * 3} files" for n in range(9)],
    "only times and speeds": [f"step {n} took {n * 1.7:.2f} s, speed {n * 3.5}" for n in range(9)],
    "one value": [f"step {n} ratio 0.5" for n in range(9)],
    "lines of different shapes": [f"{'word ' * n} objective 0.{n}" for n in range(9)],
    "no lines": [],
}


@pytest.mark.parametrize("lines", NOTHING.values(), ids=NOTHING)
def test_where_nothing_suggests_itself_nothing_is_proposed(lines: list[str]) -> None:
    assert proposal(lines) == ""


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=16))
def test_any_lines_give_a_pattern_that_can_be_used_or_none(lines: list[str]) -> None:
    pattern = proposal(lines)
    if pattern:
        parser_for("regex", regex=pattern)
        assert any(re.search(pattern, line) for line in lines)


def test_a_log_of_counters_without_a_known_metric_has_a_hint() -> None:
    parser = Printed()
    for n in range(1, 200):
        parser.feed(f"epoch {n}: objective {3.0 / n:.4f}, 12.5 ex/s")
    assert parser.hint == r"\bepoch\W{1,4}(?P<step>\d+).*?\bobjective\W{1,4}(?P<value>[-+.\deE]+)"
