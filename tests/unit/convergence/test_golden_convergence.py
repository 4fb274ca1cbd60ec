"""Golden cases of the categories: the worked examples of docs/policies/convergence.md.

``_why`` in each input holds the working by hand.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from shared.convergence.parameters import PRESETS, Normalisation
from shared.progress import Goal
from tests.unit.convergence.runs import standings

GOLDEN = Path(__file__).parents[2] / "golden" / "convergence"
DIGITS = 6
CASES = {p.name.removesuffix(".input.json"): p for p in sorted(GOLDEN.glob("*.input.json"))}


def run(case: dict[str, Any]) -> list[dict[str, Any]]:
    changed = dict(case["parameters"])
    if "normalisation" in changed:
        changed["normalisation"] = Normalisation(changed["normalisation"])
    params = dataclasses.replace(PRESETS[case.get("preset", "recommended")], **changed)
    values = [None if value is None else float(value) for value in case["values"]]
    return [
        {
            "at": standing.ticked_at,
            "category": standing.category.value,
            "growth": None if standing.known_growth is None else round(standing.growth, DIGITS),
            "converged_at": standing.converged_at,
        }
        for standing in standings(values, params=params, goal=Goal(case["goal"]))
    ]


@pytest.mark.parametrize("path", CASES.values(), ids=CASES.keys())
def test_golden_case_comes_out_as_recorded(path, update_golden):
    case = json.loads(path.read_text())
    assert case["_why"]
    got = run(case)
    output = path.with_name(path.name.replace(".input.", ".output."))
    if update_golden:
        output.write_text(json.dumps(got, indent=2) + "\n")
    assert got == json.loads(output.read_text())


def test_there_are_golden_cases_and_no_orphans():
    outputs = {p.name.removesuffix(".output.json") for p in GOLDEN.glob("*.output.json")}
    assert outputs == set(CASES) != set()
