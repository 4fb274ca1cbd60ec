"""The page of parking by kind names the controllers under which its tests park and move jobs."""

import pytest

from devcluster.programs.versions import DEFAULT_KUBERNETES
from extender.core.kinds import registry
from extender.core.kinds.parking_facts import ParkingFacts
from tests.controlplane.kinds.jobs_of_kinds import CASES
from tests.root import ROOT

PAGE = (ROOT / "docs/reference/parking.md").read_text()
FACTS = {f"{facts.kind}.{facts.group}": facts for facts in registry.all_parking_facts()}


BY_SOURCE = {case.kind: case for case in CASES.values()}


@pytest.mark.parametrize("name", FACTS)
def test_the_controller_of_a_row_is_run_by_its_test(name: str) -> None:
    facts = FACTS[name]
    case = BY_SOURCE.get(name) or BY_SOURCE[facts.kind]
    run = [f"{one.name} {one.version}" for one in case.operators]
    assert _row(facts)[-1] in (run or [f"Kubernetes {DEFAULT_KUBERNETES}"])


def _row(facts: ParkingFacts) -> list[str]:
    """Return the cells of the row of a kind."""
    owner = "Volcano's Job" if facts.group == "batch.volcano.sh" else facts.kind
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    (found,) = (cells for cells in rows if owner in cells[0].split(", "))
    return found
