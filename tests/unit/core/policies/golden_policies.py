"""Golden cases of job orders, prices and terms: the worked examples of docs/policies."""

from dataclasses import asdict
from typing import Any

import numpy as np

from extender.core.cluster.utility import Steps
from extender.core.parameters import placement, queue
from extender.core.parameters.queue import FairShareParameters
from extender.core.placement import scoring
from extender.core.queue import order, service, weighting
from extender.core.queue.fair_share import Entitlement
from shared.model import JobKey, Uid
from tests.unit.core.policies.rooms import make_room, make_shape
from tests.unit.core.policies.sharing_yard import Machine, Wants


def run_priority(case: dict[str, Any]) -> Any:
    params = queue.PriorityParameters(**case["parameters"])
    candidates = [order.Candidate(**c) for c in case["candidates"]]
    return [asdict(v) for v in order.cps_values(candidates, params, case["now"])]


def run_weighting(case: dict[str, Any]) -> Any:
    params = queue.WeightingParameters(**case["parameters"])
    jobs = [weighting.Waiting(**job) for job in case["jobs"]]
    capacity = weighting.Capacity(**case["capacity"])
    return [asdict(weight) for weight in weighting.weights(jobs, capacity, params)]


def run_service(case: dict[str, Any]) -> Any:
    params = queue.ServiceParameters(**case["parameters"])
    jobs = [
        service.Contender(
            job=JobKey(f"ns/job/{job['name']}"),
            uid=Uid(job["name"]),
            created_at=job["created_at"],
            seconds=job["seconds"],
            service=job["seconds"] * job["share"],
            age_seconds=job["age"],
            waited_seconds=job["age"] - job["ran"],
            importance=job["importance"],
            runs=job["runs"],
            utility=Steps(((job["until"], job["worth"]),)).of if "until" in job else None,
        )
        for job in case["jobs"]
    ]
    places = service.ordered(jobs, params)
    return [{**asdict(place), "rank": place.rank.name.lower()} for place in places]


def run_pricing(case: dict[str, Any]) -> Any:
    room = _room(case)
    params = placement.NodePriceParameters(**case["parameters"])
    bills = scoring.log_bills(room, make_shape(**case["pod"]), params)
    scores = scoring.price_scores(bills)
    return {
        node.name: {"log_bill": str(bill) if np.isinf(bill) else bill, "score": score}
        for node, bill, score in zip(room.nodes, bills.tolist(), scores.tolist(), strict=True)
    }


def run_scoring(case: dict[str, Any]) -> Any:
    room, shape = _room(case), make_shape(**case["pod"])
    by_name = [case["nodes"][node.name] for node in room.nodes]
    declared = any("bucket" in node for node in by_name)
    feasible = room.feasible(shape)
    terms = scoring.terms(
        shape,
        room,
        members_on_node=np.array([node.get("members", 0) for node in by_name], dtype=np.int64),
        bucket_score=np.array([float(node["bucket"]) for node in by_name]) if declared else None,
        candidates=feasible,
        pricing=placement.NodePriceParameters(),
    )
    total = terms.total(placement.ScoringWeights(**case["weights"]))
    score = scoring.prioritize_scores(total)
    best = max(np.flatnonzero(feasible), key=lambda i: (total[i], -i))
    return {
        "best": room.nodes[best].name,
        "nodes": {
            node.name: {**terms.explain(i), "total": float(total[i]), "score": int(score[i])}
            for i, node in enumerate(room.nodes)
        },
    }


def run_fair_share(case: dict[str, Any]) -> Any:
    """Return each turn with what its namespace held before it, and what came of it."""
    entitled = {name: Entitlement(**says) for name, says in case["namespaces"].items()}
    params = FairShareParameters(**case["parameters"])
    held = {name: np.array(amounts) for name, amounts in case["held"].items()}
    machine = Machine(case["capacity"], entitled, params, held)
    turns: list[dict[str, Any]] = []

    def seen(job: Wants, starts: bool) -> None:
        share, turn = machine.share(job.namespace), machine.turn(job.namespace)
        waits = "" if starts else "for room" if machine.may(job) else "for quota"
        turns.append({"job": job.name, "share": share, **turn._asdict(), "waits": waits})

    waiting = (
        Wants(f"{row['namespace']}{i}", row["namespace"], tuple(row["asks"]))
        for row in case["jobs"]
        for i in range(1, row["count"] + 1)
    )
    machine.start(waiting, seen)
    return turns


RUNS = {
    "fair_share": run_fair_share,
    "priority": run_priority,
    "weighting": run_weighting,
    "pricing": run_pricing,
    "scoring": run_scoring,
    "service": run_service,
}


def _room(case: dict[str, Any]):
    return make_room({n: (row["allocatable"], row["used"]) for n, row in case["nodes"].items()})
