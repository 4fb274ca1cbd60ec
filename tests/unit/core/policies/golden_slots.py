"""Golden cases of prices, schedules and admission over slots: the worked examples of docs/policies.

``_why`` in each input holds the working by hand.
"""

from typing import Any

import numpy as np

from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import (
    AdmissionParameters,
    BoundsParameters,
    PriceBoundRule,
    SlotParameters,
)
from extender.core.pricing import admission, price_bounds, schedule
from extender.core.pricing.slots import Allocation, Commitments, Schedule
from tests.unit.core.policies.slot_worlds import make_bounds, make_cluster, make_job


def run_price_bounds(case: dict[str, Any]) -> Any:
    given = dict(case["parameters"])
    params = BoundsParameters(rule=PriceBoundRule(given.pop("rule")), **given)
    bounds = price_bounds.price_bounds([_job(row) for row in case["jobs"]], _cluster(case), params)
    found = {name: np.exp(side).tolist() for name, side in vars(bounds).items()}
    return {name.replace("log_", ""): side for name, side in found.items()}


def run_schedule(case: dict[str, Any]) -> Any:
    cluster = _cluster(case)
    promised = Commitments(cluster)
    for taken in case["promised"]:
        promised.workers.used[:, taken["slot"] - 1, taken["machine"]] = taken["amount"]
    bounds = make_bounds(case["low"], case["high"])
    params = SlotParameters(**case["parameters"])
    return _printable(schedule.best_schedule(_job(case["job"]), cluster, promised, bounds, params))


def run_admission(case: dict[str, Any]) -> Any:
    state = admission.empty_state(_cluster(case), make_bounds(case["low"], case["high"]))
    found = {}
    for job in map(_job, case["jobs"]):
        decision = admission.offer(job, state, AdmissionParameters(**case["parameters"]))
        state.accept(job, decision)
        found[job.name] = {"admitted": decision.admitted, "payoff": decision.payoff}
    return {"decisions": found, "promised": state.promised.g.tolist()}


RUNS = {
    "price_bounds": run_price_bounds,
    "schedule": run_schedule,
    "admission": run_admission,
}


def _cluster(case: dict[str, Any]):
    return make_cluster(case["workers"], case["servers"], case["horizon"])


def _job(row: dict[str, Any]):
    fields = {**row, "worker": tuple(row["worker"]), "server": tuple(row["server"])}
    steps = tuple((deadline, value) for deadline, value in fields.pop("steps"))
    return make_job(fields.pop("name"), utility=Steps(steps), **fields)


def _printable(found: Schedule | None) -> Any:
    if found is None:
        return None
    return {
        "payoff": found.payoff,
        "utility": found.utility,
        "bill": found.bill,
        "completion_slot": found.completion_slot,
        "workers": _allocation(found.workers),
        "servers": _allocation(found.servers),
    }


def _allocation(allocation: Allocation) -> list[dict[str, int]]:
    columns = (
        allocation.slots.tolist(),
        allocation.machines.tolist(),
        allocation.counts.tolist(),
    )
    return [
        {"slot": slot, "machine": machine, "count": count}
        for slot, machine, count in zip(*columns, strict=True)
    ]
