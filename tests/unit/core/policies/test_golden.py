"""Golden cases of the policies; ``_why`` in an input holds its working by hand."""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.unit.core.policies import (
    golden,
    golden_faults,
    golden_gang,
    golden_moving,
    golden_policies,
    golden_reservation,
    golden_scaling,
    golden_slots,
)

WORKED: Final = {
    **golden_moving.RUNS,
    **golden_faults.RUNS,
    **golden_reservation.RUNS,
    **golden_scaling.RUNS,
    **golden_slots.RUNS,
}
"""Policies of which each case has its working."""
RUNS: Final = {**WORKED, **golden_gang.RUNS, **golden_policies.RUNS}
DIGITS: Final = dict.fromkeys(golden_scaling.RUNS, golden_scaling.DIGITS)
CASES: Final = golden.cases(RUNS)


@pytest.mark.parametrize(("run", "path"), CASES.values(), ids=CASES.keys())
def test_golden_case_comes_out_as_recorded(
    run: golden.Run, path: Path, update_golden: bool
) -> None:
    area = path.parent.name
    assert area not in WORKED or json.loads(path.read_text())["_why"]
    golden.check(run, path, update=update_golden, digits=DIGITS.get(area, golden.DIGITS))


@pytest.mark.parametrize("area", RUNS)
def test_every_policy_has_golden_cases_and_no_orphans(area: str) -> None:
    golden.check_complete(area)
