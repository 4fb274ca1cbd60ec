"""Golden cases of what moves containers and what they get: the worked examples of docs/policies.

``_why`` in each input holds the working by hand.
"""

from dataclasses import asdict
from typing import Any

from extender.core.cpu_shares import cpu_weights
from extender.core.migration import count_balance, migration_gain, migration_target, rebalance
from extender.core.migration.migration_target import Host
from extender.core.parameters import cpu_shares, migration
from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption import victims
from shared.progress import Category


def run_migration_target(case: dict[str, Any]) -> Any:
    params = migration.TargetParameters(**case["parameters"])
    hosts = [_host(row, params) for row in case["hosts"]]
    category = Category(case["category"])
    return {
        "scores": {host.name: migration_target.score(host, params) for host in hosts},
        "target": migration_target.choose(case["source"], category, hosts, params),
    }


def run_rebalance(case: dict[str, Any]) -> Any:
    when = migration.RebalanceWhen(case["parameters"].get("when", "any_imbalance"))
    movable = [rebalance.Movable(**row) for row in case["movable"]]
    params = migration.RebalanceParameters(when=when)
    return _moves(case, rebalance.plan(case["counts"], movable, _fits(case), params))


def run_count_balance(case: dict[str, Any]) -> Any:
    params = migration.CountParameters(**case["parameters"])
    residents = [count_balance.Resident(**row) for row in case["residents"]]
    found = count_balance.plan(case["counts"], residents, _fits(case), params, now=case["now"])
    return _moves(case, found)


def run_migration_gain(case: dict[str, Any]) -> Any:
    params = migration.GainParameters(**case["parameters"])
    shares = [migration_gain.share_cores(**case[when]) for when in ("now", "then")]
    return asdict(
        migration_gain.expected_gain(
            case["remaining_seconds"], *shares, case["cost_seconds"], params
        )
    )


def run_cpu_weights(case: dict[str, Any]) -> Any:
    params = cpu_shares.CpuShareParameters(**case["parameters"])
    return cpu_weights.requests([cpu_weights.Sharer(**row) for row in case["sharers"]], params)


def run_preemption(case: dict[str, Any]) -> Any:
    rows = (victims.Candidate(*row) for row in case["candidates"])
    starting, params = case["starting"], PreemptionParameters(**case["parameters"])
    found = victims.chosen(
        tuple(rows), starting, lambda left: sum(one.pods for one in left) >= starting, params
    )
    return {"parked": [one.job for one in found], "cost": victims.total(found)}


RUNS = {
    "migration_target": run_migration_target,
    "rebalance": run_rebalance,
    "count_balance": run_count_balance,
    "migration_gain": run_migration_gain,
    "cpu_weights": run_cpu_weights,
    "preemption": run_preemption,
}


def _host(row: dict[str, Any], params: migration.TargetParameters) -> Host:
    containers = row.pop("containers", None)
    host = Host(**row)
    if containers is None:
        return host
    pairs = [(Category(category), moved) for category, moved in containers]
    return migration_target.counted(host, pairs, params)


def _fits(case: dict[str, Any]):
    allowed = case.get("fits")
    return lambda uid, node: allowed is None or node in allowed[uid]


def _moves(case: dict[str, Any], moves: tuple[Any, ...]) -> Any:
    left = dict(case["counts"])
    for move in moves:
        left[move.source] -= 1
        left[move.target] += 1
    return {"moves": [asdict(move) for move in moves], "counts": left}
