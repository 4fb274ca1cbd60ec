"""Golden cases of fault detection: the worked examples of its page.

``_why`` in each input holds the working by hand.
"""

from typing import Any

import msgspec

from extender.core.parameters.training_faults import DetectionParameters
from extender.core.training_faults import fault_detection
from extender.core.training_faults.fault_detection import Observed, Window
from shared.model import Uid


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


RUNS = {"fault_detection": run_fault_detection}
