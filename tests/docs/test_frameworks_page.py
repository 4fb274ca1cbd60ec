"""The page of frameworks has every case that `make test-frameworks` runs."""

import json
from pathlib import Path

from tests.frameworks.cases import CASES

RESULTS = Path(__file__).parents[1] / "frameworks/results.json"


def test_the_results_are_those_of_the_cases_and_none_failed() -> None:
    found = json.loads(RESULTS.read_text())
    described = {
        name: {"program": case.program, "module": case.module, "differs": case.differs}
        for name, case in CASES.items()
    }
    assert {name: {key: row[key] for key in described[name]} for name, row in found.items()} == (
        described
    )
    assert [name for name, row in found.items() if row["passed"] is False] == []


def test_every_result_names_the_versions_of_its_packages() -> None:
    found = json.loads(RESULTS.read_text())
    ran = {name: set(row["versions"]) for name, row in found.items() if row["passed"] is not None}
    assert ran == {name: set(CASES[name].packages) for name in ran}
    assert ran
