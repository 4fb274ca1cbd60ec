"""Golden cases of fault detection: the worked examples of its page.

``_why`` in each input holds the working by hand.
"""

import json
from typing import Any

import msgspec
import pytest

from extender.core.parameters.training_faults import DetectionParameters
from extender.core.training_faults import fault_detection
from extender.core.training_faults.fault_detection import Observed, Window
from shared.model import Uid
from tests.unit.core.policies import golden


def run_fault_detection(case: dict[str, Any]) -> Any:
    params = DetectionParameters(**case["parameters"])
    members = msgspec.convert(case["members"], list[Observed], strict=False)
    begun = Window(0.0, {Uid(uid): (1, step) for uid, step in case.get("begin", {}).items()})
    found = {
        "hung": fault_detection.hung(members, params),
        "diverged": fault_detection.diverged(members, params),
        "straggler": fault_detection.straggler(begun, members, params, before=None),
    }
    return {name: finding and finding.message for name, finding in found.items()}


CASES = golden.cases({"fault_detection": run_fault_detection})


@pytest.mark.parametrize(("run", "path"), CASES.values(), ids=CASES.keys())
def test_golden_case_comes_out_as_recorded(run, path, update_golden):
    assert json.loads(path.read_text())["_why"]
    golden.check(run, path, update=update_golden)


def test_there_are_golden_cases_and_no_orphans():
    golden.check_complete("fault_detection")
