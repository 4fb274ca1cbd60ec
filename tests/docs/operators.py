"""Pods as operators make them of their objects, for the kinds that ``what-if`` does not take.

Labels and annotations are those of the captured pods in tests/fixtures/kinds.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from extender.core.queue.hypothetical import Supposed
from extender.servers.readapi import manifests
from extender.servers.readapi.manifest_kinds import (
    Found,
    Head,
    Object,
    Part,
    Template,
    _kind_of,
    _owner,
    _reference,
)
from extender.servers.readapi.manifest_limits import Tally
from shared import foreign_labels
from shared.model import OwnerReference

Raw = dict[str, Any]


def supposed(document: bytes, namespace: str, expand: Callable[[Object], Found]) -> Supposed:
    """Return the pods and owners of one object."""
    head = msgspec.json.decode(document, type=Head)
    one = manifests._object(head, document, namespace, Tally())
    found = expand(one)
    patterns = manifests._patterns(found.parts, one)
    each = zip(found.parts, patterns, strict=True)
    pods = chain.from_iterable(manifests._pods(part, pattern) for part, pattern in each)
    return Supposed(tuple(pods), tuple(found.owners))


def _template(raw: Raw, **annotations: str) -> Template:
    template = msgspec.convert(raw, Template)
    notes = {**(template.metadata.annotations or {}), **annotations}
    return msgspec.structs.replace(
        template, metadata=msgspec.structs.replace(template.metadata, annotations=notes)
    )


def _ray_cluster(one: Object) -> Found:
    owner = _owner(one, _kind_of(one).decode)
    return Found(_ray_parts(one.spec_as(Raw), one.name, _reference(owner)), [owner])


def _ray_job(one: Object) -> Found:
    """The cluster that KubeRay makes of it; its name is made up."""
    spec = one.spec_as(Raw)["rayClusterSpec"]
    whole = {**one.document, "kind": "RayCluster", "spec": spec}
    name = f"{one.name}-xxxxx"
    whole["metadata"] = {**whole["metadata"], "name": name, "uid": f"cluster/{name}"}
    head = msgspec.structs.replace(one.head, kind="RayCluster")
    raw = msgspec.Raw(msgspec.json.encode(spec))
    return _ray_cluster(Object(head, raw, name, one.meta, whole, one.tally))


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


def _leader_worker_set(one: Object) -> Found:
    """One group, named as the first one is."""
    owner, spec = _owner(one, _kind_of(one).decode), one.spec_as(Raw)["leaderWorkerTemplate"]
    size, worker = spec["size"], spec["workerTemplate"]
    marks = {foreign_labels.LWS_NAME: one.name, foreign_labels.LWS_GROUP_INDEX: "0"}

    def part(raw: Raw, count: int, of: Mapping[str, str]) -> Part:
        template = _template(raw, **{foreign_labels.LWS_SIZE: str(size)})
        return Part(f"{one.name}-0", count, template, _reference(owner), {**marks, **of})

    leader = part(spec.get("leaderTemplate", worker), 1, {foreign_labels.LWS_WORKER_INDEX: "0"})
    followers = [part(worker, 1, {foreign_labels.LWS_WORKER_INDEX: str(i)}) for i in range(1, size)]
    parts = [leader, *followers]
    named = [
        Part(f"{one.name}-0-{i}", p.count, p.template, p.controller, p.labels)
        for i, p in enumerate(parts)
    ]
    return Found(named, [owner])


def _volcano_job(one: Object) -> Found:
    owner, spec = _owner(one, _kind_of(one).decode), one.spec_as(Raw)
    parts = [
        Part(
            f"{one.name}-{task['name']}",
            task.get("replicas", 1),
            _template(task["template"], **{foreign_labels.VOLCANO_TASK: task["name"]}),
            _reference(owner),
            {"volcano.sh/job-name": one.name, foreign_labels.VOLCANO_TASK: task["name"]},
        )
        for task in spec["tasks"]
    ]
    return Found(parts, [owner])


EXPANDED: Final[Mapping[tuple[str, str], Callable[[Object], Found]]] = {
    ("RayCluster", "ray.io"): _ray_cluster,
    ("RayJob", "ray.io"): _ray_job,
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io"): _leader_worker_set,
    ("Job", "batch.volcano.sh"): _volcano_job,
}
"""By kind and API group."""
