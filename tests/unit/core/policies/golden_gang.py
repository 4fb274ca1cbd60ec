"""Golden cases of buckets, gangs, topology: the worked examples of docs/policies."""

from typing import Any

from extender.core.parameters.placement import GangParameters, ScoringWeights, TopologyParameters
from extender.core.placement import buckets
from extender.core.placement.buckets import Relations, Task
from extender.core.placement.placement import Unschedulable
from extender.core.placement.slice_parts import Layer, WantedSlices
from extender.core.placement.topology import Wanted
from shared.model import Toleration
from tests.fakes.builders import make_node, make_room, make_shape, make_taint
from tests.unit.core.policies.gangs import by_node, members, place, placed


def run_buckets(case: dict[str, Any]) -> Any:
    relations = _relations(case)
    tasks = [
        Task(f"{t['role']}-{t['index']}", t["role"], t["index"], t.get("score", 0), t.get("node"))
        for t in case["tasks"]
    ]
    built = buckets.build(tasks, relations)
    bucket_of = {t.id: b.index for b in built for t in (*b.tasks, *b.bound)}
    bound = [t for t in tasks if t.id in bucket_of]
    order = sorted(bound, key=lambda t: buckets.task_order_key(t.role, bucket_of[t.id], t.index))
    return {
        "weights": dict(sorted(relations.weights.items())),
        "buckets": [[t.id for t in (*b.bound, *b.tasks)] for b in built],
        "placing_order": [b.index for b in buckets.placing_order(built)],
        "bind_order": [t.id for t in order if t.node is None],
    }


def run_gang(case: dict[str, Any]) -> Any:
    room = make_room(
        *(_node(name, row) for name, row in case["nodes"].items()),
        placed={n: [_shape(s) for s in shapes] for n, shapes in case.get("taken", {}).items()},
    )
    result = place(
        [
            p
            for row in case["pods"]
            for p in members(row["role"], row["count"], _shape(row["shape"]))
        ],
        room,
        already=[placed(*row) for row in case.get("placed", [])],
        relations=_relations(case),
        topology_key=case.get("topology_key", ""),
        topology=_wanted(case),
        params=GangParameters(**case.get("parameters", {})),
        weights=ScoringWeights(**case.get("weights", {})),
    )
    if isinstance(result, Unschedulable):
        return {"reason": result.reason, "message": result.reason.message, "detail": result.detail}
    domain = {} if result.domain is None else {"domain": result.domain.name}
    return {
        "rule": result.rule,
        **domain,
        "nodes": by_node(result),
        "buckets": dict(sorted(result.bucket_of.items())),
        "order": list(result.order),
        "spares": {uid: list(nodes) for uid, nodes in sorted(result.spares.items())},
    }


RUNS = {"buckets": run_buckets, "gang": run_gang, "topology": run_gang}


def _wanted(case: dict[str, Any]) -> Wanted | None:
    slices = None
    if "slices" in case:
        level, size = TopologyParameters().level(case["slices"]["level"], "slices"), case["slices"]
        slices = WantedSlices((Layer(level, size["size"]),))
    for required, key in ((True, "required"), (False, "preferred")):
        if key in case:
            level = TopologyParameters().level(case[key], key)
            return Wanted(level, required, slices=slices)
    return None if slices is None else Wanted(slices.layers[0].level, False, slices=slices)


def _relations(case: dict[str, Any]) -> Relations:
    return Relations.parse(
        case.get("affinity", ""), case.get("anti_affinity", ""), case.get("order", "")
    )


def _node(name: str, row: dict[str, Any]):
    return make_node(name, **{**row, "taints": [make_taint(t) for t in row.get("taints", ())]})


def _shape(row: dict[str, Any]):
    exists = [Toleration(key, "Exists") for key in row.get("tolerations", ())]
    return make_shape(**{**row, "tolerations": exists})
