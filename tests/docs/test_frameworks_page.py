"""The page of frameworks has every case that `make test-frameworks` runs."""

import hashlib
import json
import re
from pathlib import Path

from tests.frameworks.cases import CASES

RESULTS = Path(__file__).parents[1] / "frameworks/results.json"
OURS = re.compile(r"\b(shuntyard_trainer|shuntyard|checkpoints|MetricsWriter|metrics\.write)\b")


def _program(name: str) -> str:
    return (RESULTS.parent / f"programs/{CASES[name].program}.py").read_text()


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


def test_every_result_of_a_program_as_it_is_names_the_versions_of_its_packages() -> None:
    found = json.loads(RESULTS.read_text())
    digests = {name: hashlib.sha256(_program(name).encode()).hexdigest() for name in found}
    ran = {name: set(row["versions"]) for name, row in found.items() if row["passed"] is not None}
    now = {name for name in ran if found[name]["digest"] == digests[name]}
    assert {name: ran[name] for name in now} == {name: set(CASES[name].packages) for name in now}
    assert now
    assert all(ran.values())


def test_every_line_for_us_in_a_program_that_follows_an_example_is_marked() -> None:
    programs = {CASES[name].program: _program(name) for name in CASES}
    follow = {name: text for name, text in programs.items() if "\nFollows: https://" in text}
    unmarked = [
        f"{name}:{number}: {line}"
        for name, text in follow.items()
        for number, line in enumerate(text.splitlines(), 1)
        if OURS.search(line.partition("#")[0]) and not line.endswith("# shuntyard")
    ]
    assert unmarked == []
    assert set(programs) - set(follow) == {"torch_mixed"}
