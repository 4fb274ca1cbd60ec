"""A walk through all that our programs may do at the API server: each right at least once.

Every step needs a cluster with settings of its own; it asserts only that it reaches its end.
"""

import json
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from devcluster.options import KwokNodes
from devcluster.shuntyard import gate_policy
from shared import labels
from shared.kube import paths, resources, stamps
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import ApiError, ForbiddenError, InvalidError
from shared.kube.resources import ResourceKind
from shared.model import Owner
from shared.objects.disruptions import RESPONDER
from tests.controlplane.faults import sending, until_acting
from tests.controlplane.jobs import Manifest, Pods, job, pod, stateful_set
from tests.controlplane.moving import crowding
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.rights import rights_doors
from tests.controlplane.watching import Object, is_gated
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually
from tests.fakes.kube_definitions import DEFINITIONS, definition

PATIENCE_SECONDS: Final = 240.0
HISTORY: Final = paths.namespaced(
    paths.CONFIG_MAPS, rights_doors.SYSTEM, "shuntyard-admission-history"
)
BUILT_IN: Final = ("apps", "scheduling.k8s.io")
"""Groups of optional kinds that the API server has itself, the second one with a feature gate."""

PRICES: Final = {
    "admission": {"enabled": True, "slot_seconds": 86400.0, "horizon": 10, "share": 0.5}
}
WORTH: Final = {
    labels.UTILITY: "sigmoid:1000,0,1000h",
    labels.TRAINING: "epochs=1,chunks=4,batches=14400,step=3s",
    labels.MIN_AVAILABLE: "1",
}
MOVING: Final = {
    **crowding.SETTINGS,
    "migration": {
        **crowding.SETTINGS["migration"],
        "cooldown_seconds": 600,
        "checkpoint_seconds": 10,
        "hold_seconds": 10,
        "keep_seconds": 2,
    },
}
WEIGHTS: Final = {
    "cpu_weights": {"enabled": True, "interval_seconds": 1},
    "migration": {"policy": "none"},
    "agent_reports": {"stale_seconds": 5},
}


async def define(client: KubeClient) -> None:
    """Install the kinds of other projects, as small as they can be."""
    for kind in resources.OPTIONAL:
        if _group(kind) not in BUILT_IN:
            name = kind.source.partition(".")[0]
            await client.post(DEFINITIONS, definition(kind.path, name))
    levels = resources.TOPOLOGIES
    await client.post(DEFINITIONS, definition(levels.path, levels.kind, scope="Cluster"))
    evictions = resources.EVICTIONS
    await client.post(DEFINITIONS, definition(evictions.path, evictions.kind, status=True))
    for kind in (*resources.OPTIONAL, levels, evictions):
        await eventually(partial(_served, client, kind.path), PATIENCE_SECONDS, kind.path)


async def _served(client: KubeClient, path: str) -> bool:
    with suppress(ApiError):
        return bool(await client.get(path))
    return False


def _group(kind: ResourceKind) -> str:
    return paths.group_version(kind.path).partition("/")[0]


# ---- every kind of owner gets a slot plan; the one that does not fit gets a reason


async def prices(yard: Yard) -> None:
    """Jobs of all kinds are admitted by price; one is too large and waits."""
    await yard.nodes(KwokNodes(2, cpu="64", prefix="priced"))
    await yard.submit(job("too-large", 200))
    await yard.until_waiting("too-large", "GangDoesNotFit")
    owners = [
        await _owner(yard, kind) for kind in resources.OPTIONAL if kind.kind == Owner.__name__
    ]
    pods = replace(Pods(), annotations=WORTH)
    await yard.submit(job("it", 1, pods), stateful_set("it", 1, pods))
    owners += [paths.namespaced(path, yard.team, "it") for path in (paths.JOBS, paths.STATEFULSETS)]
    for path in owners:
        await eventually(partial(_planned, yard, path), PATIENCE_SECONDS, f"{path} has a plan")
    await eventually(lambda: yard.events("Admitted"), PATIENCE_SECONDS)
    await eventually(partial(_learned, yard), PATIENCE_SECONDS, "what was learned is kept")


async def _owner(yard: Yard, kind: ResourceKind) -> str:
    """Make an owner with one pod of ours, and return its path."""
    name = kind.source.partition(".")[0]
    pods = replace(Pods(), annotations=WORTH, labels={labels.JOB: kind.path.rpartition("/")[2]})
    metadata = {"name": "it", "labels": dict(pods.labels), "annotations": dict(WORTH)}
    path = paths.namespaced(kind.path, yard.team)
    spec: dict[str, Any] = {}
    if _group(kind) == "apps":
        metadata["name"] = kind.source.lower()
        template = replace(pods, spec={"restartPolicy": "Always"}).template()
        spec = {"selector": {"matchLabels": dict(pods.labels)}, "template": template}
    version = paths.group_version(kind.path)
    body = {"apiVersion": version, "kind": name, "metadata": metadata, "spec": spec}
    answer = await yard.client.post(path, body)
    made, owner = json.loads(answer)["metadata"], kind.decode(answer)
    if not spec:
        assert isinstance(owner, Owner)
        chosen = (owner.selector and owner.selector.match_labels) or {}
        selected = replace(pods, labels={**pods.labels, **chosen})
        owned = pod(kind.source.lower().replace(".", "-"), selected)
        reference = {"apiVersion": version, "kind": name, "controller": True}
        owned["metadata"]["ownerReferences"] = [
            {**reference, "name": made["name"], "uid": made["uid"]}
        ]
        await yard.client.post(paths.pods(yard.team), owned)
    return f"{path}/{made['name']}"


async def _planned(yard: Yard, path: str) -> bool:
    found = json.loads(await yard.client.get(path))
    return labels.SLOT_PLAN in found["metadata"].get("annotations", {})


async def _learned(yard: Yard) -> bool:
    return bool(json.loads(await yard.client.get(HISTORY)).get("data"))


# ---- a pin that is lost


async def lost_pins(yard: Yard) -> None:
    """The node of a released bare pod is deleted: the pod is recreated, the old one deleted."""
    nodes = await yard.nodes(KwokNodes(1, cpu="8", prefix="lost"))
    await until_acting(yard)
    sending(yard.cluster, "kube-scheduler", signal.SIGSTOP)()
    await yard.submit(pod("bare"))
    await eventually(partial(_is_released, yard), PATIENCE_SECONDS, "it is released")
    for name in nodes:
        await yard.client.delete(paths.node(name))
    sending(yard.cluster, "kube-scheduler", signal.SIGCONT)()
    await eventually(partial(_is_replaced, yard), PATIENCE_SECONDS, "it is made anew")


async def _is_released(yard: Yard) -> bool:
    return not any(map(is_gated, await _pods(yard)))


async def _is_replaced(yard: Yard) -> bool:
    names = [one["metadata"]["name"] for one in await _pods(yard)]
    assert len(names) == 1, names
    return names != ["bare"]


async def _pods(yard: Yard) -> list[Object]:
    return await yard.items(paths.pods(yard.team))


# ---- migrations


async def moves_a_bare_pod(yard: Yard) -> None:
    """A bare pod is evicted and recreated from the copy that the Migration keeps."""
    await _moves(yard, pod("m", crowding.of(crowding.MEMBERS)), 1)


async def moves_a_gang(yard: Yard) -> None:
    """A Job is suspended, which all budgets must allow, and resumed."""
    await _moves(yard, job("m", 3, crowding.of(crowding.MEMBERS)), 3)


async def may_not_suspend(yard: Yard) -> None:
    """A foreign policy refuses to suspend a Job: the Migration retries once, and aborts.

    The Migration that was aborted is deleted after a while.
    """
    await _refuse_suspension(yard)
    await _moves(yard, job("m", 2, crowding.of(crowding.MEMBERS)), 2, forgotten=True)


async def _moves(yard: Yard, manifest: Manifest, count: int, *, forgotten: bool = False) -> None:
    await crowding.prepare(yard)
    agents = PlayedAgents(yard.cluster, yard.client, yard.team, crowding.NODES.names())
    async with agents.playing():
        await crowding.crowded(yard, agents, manifest, count)
        agents.converged.add(crowding.MEMBERS)
        await eventually(lambda: crowding.ended(yard), PATIENCE_SECONDS)
        if forgotten:
            await eventually(partial(_forgotten, yard), PATIENCE_SECONDS, "its record is deleted")


async def _forgotten(yard: Yard) -> bool:
    return not await crowding.ended(yard)


POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


async def _refuse_suspension(yard: Yard) -> None:
    """Wait until no Job of the team is suspended, and resume those that are."""
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["UPDATE"]}
    expression = (
        f"object.metadata.namespace != '{yard.team}' || !(object.spec.?suspend.orValue(false))"
    )
    policy = {
        "metadata": {"name": yard.team},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "resources": ["jobs"]}]},
            "validations": [{"expression": expression}],
        },
    }
    await yard.client.post(POLICIES, policy)
    spec = {"policyName": yard.team, "validationActions": ["Deny"]}
    binding = {"metadata": {"name": yard.team}, "spec": spec}
    await yard.client.post(f"{POLICIES.removesuffix('ies')}ybindings", binding)
    probe = job("probe", 1, Pods(scheduler="none"))
    await yard.client.post(paths.namespaced(paths.JOBS, yard.team), probe)
    await eventually(partial(_is_refused, yard), PATIENCE_SECONDS, "suspensions are refused")
    await yard.client.delete(paths.job(yard.team, "probe"), propagation="Background")


async def _is_refused(yard: Yard) -> bool:
    try:
        await yard.client.patch(paths.job(yard.team, "probe"), {"spec": {"suspend": True}})
    except (InvalidError, ForbiddenError):
        return True
    await yard.client.patch(paths.job(yard.team, "probe"), {"spec": {"suspend": False}})
    return False


# ---- CPU weights


async def weighs(yard: Yard) -> None:
    """The job with less work left, of two jobs on a node, gets more CPU."""
    (node,) = await yard.nodes(KwokNodes(1, cpu="8", prefix="weighed"))
    agents = PlayedAgents(yard.cluster, yard.client, yard.team, (node,))
    agents.total_steps.update(short=1_000, long=100_000)
    async with agents.playing():
        for name in agents.total_steps:
            await yard.submit(pod(name, crowding.of(name, Pods(memory="64Mi"))))
        await yard.until_bound(*agents.total_steps)
        for name in agents.total_steps:
            await eventually(partial(_says_what_it_has, yard, name), PATIENCE_SECONDS)
        await eventually(partial(_weighed, yard), PATIENCE_SECONDS, "requests are changed")


async def _says_what_it_has(yard: Yard, name: str) -> bool:
    """Report the CPU as a kubelet does that can change requests in place; kwok does not."""
    path = paths.pod(yard.team, name)
    found = json.loads(await yard.client.get(path))
    statuses = found["status"].get("containerStatuses")
    if not statuses:
        return False
    given = found["spec"]["containers"][0]["resources"]
    statuses_with_resources = [{**one, "resources": given} for one in statuses]
    body = {"status": {"containerStatuses": statuses_with_resources}}
    await yard.client.patch(f"{path}/status", body, kind=PatchKind.STRATEGIC)
    return True


async def _weighed(yard: Yard) -> bool:
    found = [p["spec"]["containers"][0]["resources"]["requests"]["cpu"] for p in await _pods(yard)]
    return len(set(found)) == len(found)


# ---- an eviction of a pod whose job cannot save


async def answers_an_eviction(yard: Yard) -> None:
    """It is our turn in an eviction, and then that of the next responder."""
    await yard.nodes(KwokNodes(1))
    await yard.submit(job("it", 1))
    (bound,) = await eventually(partial(_bound, yard), PATIENCE_SECONDS, "it is bound")
    path = paths.namespaced(paths.EVICTIONS, yard.team)
    target = {"pod": {"name": bound["metadata"]["name"], "uid": bound["metadata"]["uid"]}}
    head = {"apiVersion": "lifecycle.k8s.io/v1alpha1", "kind": resources.EVICTIONS.kind}
    await yard.client.post(path, {**head, "metadata": {"name": "e"}, "spec": {"target": target}})
    turn = {"name": RESPONDER, "state": "Active", "priority": 20000}
    now = time.time()  # noqa: TID251 - the API server compares it with its own
    report = {"name": RESPONDER, "startTime": stamps.seconds(now)}
    status = {"targetResponders": [turn], "responders": [report]}
    await yard.client.patch(f"{path}/e/status", {"status": status})
    await eventually(partial(_completed, yard, f"{path}/e"), PATIENCE_SECONDS, "we are done")


async def _bound(yard: Yard) -> list[Object]:
    return [found for found in await _pods(yard) if found["spec"].get("nodeName")]


async def _completed(yard: Yard, path: str) -> bool:
    (report,) = json.loads(await yard.client.get(path))["status"]["responders"]
    return "completionTime" in report


# ---- a budget of ours, until another one selects the pods


async def has_a_budget(yard: Yard) -> None:
    """It is made and set right again; it is deleted when a budget of others selects its pods."""
    await yard.nodes(KwokNodes(1))
    await yard.submit(job("it", 1, crowding.of(crowding.MEMBERS)))
    path = paths.namespaced(paths.DISRUPTION_BUDGETS, yard.team)

    async def least(number: int | None) -> bool:
        found = [b for b in await yard.items(path) if labels.DRAIN_BUDGET in _marks(b)]
        return [b["spec"]["minAvailable"] for b in found] == ([] if number is None else [number])

    await eventually(lambda: least(1), PATIENCE_SECONDS, "it has a budget")
    (one,) = await yard.items(path)
    await yard.client.patch(f"{path}/{one['metadata']['name']}", {"spec": {"minAvailable": 5}})
    await eventually(lambda: least(1), PATIENCE_SECONDS, "it is set right again")
    theirs = {"minAvailable": 1, "selector": {"matchLabels": {"directory": crowding.MEMBERS}}}
    await yard.client.post(path, {"metadata": {"name": "theirs"}, "spec": theirs})
    await eventually(lambda: least(None), PATIENCE_SECONDS, "it is deleted")


def _marks(found: Object) -> Mapping[str, str]:
    return found["metadata"].get("labels") or {}


# ---- the policy that gates new pods


async def gates(yard: Yard) -> None:
    """The policy is installed while the extender runs: no job waits, so pods get no gate."""
    await gate_policy.install(yard.client)
    await eventually(partial(_written, yard), PATIENCE_SECONDS, "it is written that none waits")
    await gate_policy.switch_off(yard.client)


async def _written(yard: Yard) -> bool:
    return bool(json.loads(await yard.client.get(gate_policy.PATH)).get("data"))


@dataclass(frozen=True)
class Step:
    """A step and the settings that it needs."""

    walk: Callable[[Yard], Awaitable[None]]
    settings: Mapping[str, Any] = field(default_factory=dict)


def steps(directory: Path) -> tuple[Step, ...]:
    """Return all steps; those that need the same settings come one after the other.

    Args:
        directory: Where the extender may put its certificates.
    """
    certificates = {"managed": True, "directory": str(directory)}
    doors = {
        "queue": {"settle_seconds": 0.05},
        "certificates": certificates,
        "peers": {"service": "shuntyard-extender"},
    }
    leading = {
        "lease": {"hold": True, "namespace": rights_doors.SYSTEM},
        "endpoint": {"service": "shuntyard-scheduler", "address": "192.0.2.1"},
    }
    return (
        Step(prices, PRICES),
        Step(lost_pins, doors),
        Step(rights_doors.views, doors),
        Step(rights_doors.shows_a_token, doors),
        Step(rights_doors.keeps_certificates, doors),
        Step(rights_doors.stands_by, doors),
        Step(rights_doors.leads, leading),
        Step(moves_a_bare_pod, MOVING),
        Step(moves_a_gang, MOVING),
        Step(may_not_suspend, MOVING),
        Step(answers_an_eviction, MOVING),
        Step(has_a_budget, {**MOVING, "drain": {"disruption_budget": True}}),
        Step(weighs, WEIGHTS),
        Step(gates, {"gating": {"config_map": gate_policy.CONFIG_MAP, "quiet_seconds": 0}}),
    )
