"""Pods as operators make them of their objects, for the kinds that ``what-if`` does not take.

Labels and annotations are those of the captured pods in tests/fixtures/kinds.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from extender.core.kinds.manifest import Created as Made
from extender.core.kinds.manifest import Head, Manifest, Part, Template, reference
from extender.core.queue.hypothetical import HypotheticalJob
from extender.servers.readapi import manifests
from extender.servers.readapi.manifest_limits import Tally
from shared import foreign_labels
from shared.model import OwnerReference

Raw = dict[str, Any]


def supposed(
    document: bytes, namespace: str, expand: Callable[[Manifest], Made]
) -> HypotheticalJob:
    """Return the pods and owners of one object."""
    head = msgspec.json.decode(document, type=Head)
    tally = Tally()
    place, one = manifests._manifest(head, document, namespace, tally)
    found = expand(one)
    patterns = manifests._patterns(found.parts, one.title, place, tally)
    each = zip(found.parts, patterns, strict=True)
    pods = chain.from_iterable(manifests._pods(part, pattern) for part, pattern in each)
    return HypotheticalJob(tuple(pods), tuple(found.owners))


def _template(raw: Raw, **annotations: str) -> Template:
    template = msgspec.convert(raw, Template)
    notes = {**(template.metadata.annotations or {}), **annotations}
    return msgspec.structs.replace(
        template, metadata=msgspec.structs.replace(template.metadata, annotations=notes)
    )


def _ray_cluster(one: Manifest) -> Made:
    owner = one.owner()
    return Made(_ray_parts(one.spec_as(Raw), one.name, reference(owner)), [owner])


def _ray_job(one: Manifest) -> Made:
    """The cluster that KubeRay makes of it; its name is made up."""
    spec = one.spec_as(Raw)["rayClusterSpec"]
    name = f"{one.name}-xxxxx"
    meta = {key: value for key, value in msgspec.to_builtins(one.meta).items() if value}
    place = {"name": name, "namespace": one.owner().namespace, "uid": f"cluster/{name}"}
    whole = {
        "apiVersion": one.head.api_version,
        "kind": "RayCluster",
        "metadata": {**meta, **place},
        "spec": spec,
    }
    decode = manifests._OWNERS["RayCluster", "ray.io"]
    owner = decode(msgspec.json.encode(whole))
    return Made(_ray_parts(spec, name, reference(owner)), [owner])


def _ray_parts(spec: Raw, name: str, owner: OwnerReference) -> list[Part]:
    groups = [{**spec["headGroupSpec"], "groupName": "head", "replicas": 1}]
    return [
        Part(
            f"{name}-{group['groupName']}",
            group["replicas"],
            _template(group["template"]),
            owner,
            {
                foreign_labels.RAY_CLUSTER: name,
                foreign_labels.RAY_NODE_TYPE: "worker" if number else "head",
            },
        )
        for number, group in enumerate([*groups, *spec.get("workerGroupSpecs", [])])
    ]


def _leader_worker_set(one: Manifest) -> Made:
    """One group, named as the first one is."""
    owner, spec = one.owner(), one.spec_as(Raw)["leaderWorkerTemplate"]
    size, worker = spec["size"], spec["workerTemplate"]
    marks = {foreign_labels.LWS_NAME: one.name, foreign_labels.LWS_GROUP_INDEX: "0"}

    def part(raw: Raw, count: int, of: Mapping[str, str]) -> Part:
        template = _template(raw, **{foreign_labels.LWS_SIZE: str(size)})
        return Part(f"{one.name}-0", count, template, reference(owner), {**marks, **of})

    leader = part(spec.get("leaderTemplate", worker), 1, {foreign_labels.LWS_WORKER_INDEX: "0"})
    followers = [part(worker, 1, {foreign_labels.LWS_WORKER_INDEX: str(i)}) for i in range(1, size)]
    parts = [leader, *followers]
    named = [
        Part(f"{one.name}-0-{i}", p.count, p.template, p.controller, p.labels)
        for i, p in enumerate(parts)
    ]
    return Made(named, [owner])


def _volcano_job(one: Manifest) -> Made:
    owner, spec = one.owner(), one.spec_as(Raw)
    parts = [
        Part(
            f"{one.name}-{task['name']}",
            task.get("replicas", 1),
            _template(task["template"], **{foreign_labels.VOLCANO_TASK: task["name"]}),
            reference(owner),
            {"volcano.sh/job-name": one.name, foreign_labels.VOLCANO_TASK: task["name"]},
        )
        for task in spec["tasks"]
    ]
    return Made(parts, [owner])


EXPANDED: Final[Mapping[tuple[str, str], Callable[[Manifest], Made]]] = {
    ("RayCluster", "ray.io"): _ray_cluster,
    ("RayJob", "ray.io"): _ray_job,
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io"): _leader_worker_set,
    ("Job", "batch.volcano.sh"): _volcano_job,
}
"""By kind and API group."""
