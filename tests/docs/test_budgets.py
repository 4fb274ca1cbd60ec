"""The page of budgets: each bound has a test that goes beyond it; no number is written twice."""

import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs/reference/budgets.md"
ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \| [^|]+ \| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


def test_each_budget_names_a_test_that_is_there() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) > 20
    assert [test for _, _, test in rows if not (ROOT / test).is_file()] == []


def test_no_budget_is_listed_twice() -> None:
    names = [name for _, name, _ in ROW.findall(PAGE.read_text())]
    assert sorted(set(names)) == sorted(names)
