"""What the gate says of durations and reads."""

import grimp
import pytest

from tests.gate import graph, lanes, reports
from tests.gate.reports import Budget, Record
from tests.root import ROOT

SECONDS = {"tests/a.py::test_1": 6.0, "tests/a.py::test_2[x]": 3.0, "tests/b.py::test_3": 1.0}


def test_a_file_has_the_share_of_all_its_tests():
    assert Record(SECONDS, {}).shares() == {"tests/a.py": 90.0, "tests/b.py": 10.0}


def test_a_file_over_its_own_budget_or_the_common_one_is_reported():
    record = Record(SECONDS, {})
    assert Budget(50.0, {}).exceeded(record) == ["tests/a.py: 90.0 % of the lane, budget 50 %"]
    assert Budget(50.0, {"tests/a.py": 95.0}).exceeded(record) == []
    assert len(Budget(5.0, {}).exceeded(record)) == 2


def test_a_slower_machine_exceeds_no_budget():
    slow = Record({test: 10 * seconds for test, seconds in SECONDS.items()}, {})
    assert slow.shares() == Record(SECONDS, {}).shares()


def test_nothing_recorded_is_nothing_exceeded(tmp_path):
    record = Record.read(tmp_path / "absent.json")
    assert Budget(1.0, {}).exceeded(record) == []


@pytest.mark.parametrize("lane", lanes.LANES, ids=lambda lane: lane.name)
def test_every_lane_has_a_budget_and_its_exceptions_are_test_modules(lane):
    budget = Budget.of_lane(lane.name)
    assert 0 < budget.each <= 100
    assert [path for path in budget.files if not (ROOT / path).exists()] == []


def test_a_read_that_the_table_does_not_name_is_reported():
    texts = {
        "tests/test_a.py": 'CASES = Path("tests/golden/a")',
        "tests/test_b.py": "CASES = Path(FOLDER)",
    }
    imports = grimp.ImportGraph()
    for path in texts:
        imports.add_module(graph.module_name(path))
    paths = ["tests/golden/a/1.json", "tests/golden/a/2.json", "pyproject.toml", "not/tracked"]
    reads = dict.fromkeys(texts, paths)
    tracked = frozenset(paths[:-1])
    lines = reports.unnamed_reads(Record({}, reads), graph.joined(texts, imports), tracked)
    assert lines == [
        "tests/test_b.py reads tests/golden/a/1.json and 1 more: name it in tests/gate/inputs.py"
    ]
