"""Golden cases of speeds and of scaling: the worked examples of docs/policies.

``_why`` in each input holds the working by hand.
"""

from dataclasses import asdict
from typing import Any

from extender.core.elastic import speed
from extender.core.elastic.speed import Measured, Mode, Speed
from extender.core.parameters.elastic import SpeedParameters
from tests.unit.core.policies.elastic_yard import Yard

DIGITS = 6


def run_speed(case: dict[str, Any]) -> Any:
    mode = Mode(case["mode"])
    found = speed.fit([Measured(*row) for row in case["measured"]], mode, SpeedParameters())
    trained = Speed(found.step, case["batch"], mode)
    return {
        **asdict(found.step),
        "mean_error": found.mean_error,
        "rates": {str(w): trained.rate(w, 1) for w in (1, 2, 3, 4, 8)},
    }


def run_scaling(case: dict[str, Any]) -> Any:
    plan = Yard(case["nodes"], case["running"], case["waiting"]).decide(**case["parameters"])
    return {
        "starts": [
            {"job": s.job, "workers": s.workers, "nodes": dict(s.placement.nodes), "why": s.why}
            for s in plan.starts
        ],
        "removals": [asdict(removal) for removal in plan.removals],
        "additions": [asdict(addition) for addition in plan.additions],
    }


RUNS = {"speed": run_speed, "scaling": run_scaling}
