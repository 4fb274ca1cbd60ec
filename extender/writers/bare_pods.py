"""Copies of pods without a controller: their manifests, and templates kept in Migrations.

A Migration keeps the templates before any pod is evicted; they are used after it.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from extender.core.cluster.replacements import new_name, origin
from extender.core.kinds import registry
from extender.core.migration.commands import RecreatePod
from extender.writers.leader_writer import LeaderWriter
from shared import labels
from shared.kube import paths, writes
from shared.kube.errors import NotFoundError, OddObjectError
from shared.model import CPU, Migration, Mover
from shared.objects import pod_cpu
from shared.objects.pod_cpu import GivenCpu

OURS: Final = frozenset(
    {
        *(*labels.RESERVATION, labels.CPU_GIVEN),
        *(labels.REPLACED_BY, labels.REPLACES, labels.PROVISIONAL),
    }
)
"""Annotations of ours that a copy does not inherit."""


def replacement(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of the copy: gated, without our pin and annotations, under a new name.

    A CPU request that we changed in place is reset to the owner's.

    The job keeps its name, and with it its directory on the shared volume: if the pod was a job of
    its own, the copy is labelled with that name.
    """
    metadata, spec = live["metadata"], dict(live["spec"])
    annotations = {k: v for k, v in metadata.get("annotations", {}).items() if k not in OURS}
    annotations[labels.REPLACES] = origin(metadata["name"], metadata["uid"])
    marks = dict(metadata.get("labels", {}))
    if _is_its_own_job(live):
        marks[labels.JOB] = metadata["name"]
        annotations.setdefault(labels.MIN_AVAILABLE, "1")
    for key in ("nodeName", "priority", "preemptionPolicy"):
        spec.pop(key, None)
    spec["schedulingGates"] = [{"name": labels.GATE}]
    spec["affinity"] = _unpinned(spec.get("affinity") or {})
    spec["volumes"], dropped = _own_volumes(spec.get("volumes") or [])
    given = pod_cpu.parse_given(metadata.get("annotations", {}))
    own = (_as_given(container, given) for container in spec["containers"])
    spec["containers"] = [_without_mounts(container, dropped) for container in own]
    spec["initContainers"] = [_without_mounts(c, dropped) for c in spec.get("initContainers") or []]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": new_name(metadata["name"], metadata["uid"]),
            "labels": marks,
            "annotations": annotations,
        },
        "spec": spec,
    }


def _as_given(container: Mapping[str, Any], given: GivenCpu | None) -> Mapping[str, Any]:
    if given is None or container["name"] != given.container:
        return container
    resources = container.get("resources") or {}
    requests = {**(resources.get("requests") or {}), CPU: f"{given.milli}m"}
    return {**container, "resources": {**resources, "requests": requests}}


def _is_its_own_job(live: Mapping[str, Any]) -> bool:
    """Return True if a label must keep the job's name; a very long name cannot be a label."""
    metadata = live["metadata"]
    named = registry.names_a_job(metadata.get("labels", {}), metadata.get("annotations", {}))
    grouped = named or "schedulingGroup" in live["spec"]
    return not grouped and len(metadata["name"]) <= labels.LONGEST_VALUE


def _unpinned(affinity: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the pin: our ``matchFields`` terms, and the hostnames added to terms of the pod."""
    node = dict(affinity.get("nodeAffinity") or {})
    required = node.pop("requiredDuringSchedulingIgnoredDuringExecution", None) or {}
    terms = [_without_pin(term) for term in required.get("nodeSelectorTerms") or []]
    if kept := [term for term in terms if term]:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": kept}
    rest = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
    return {**rest, "nodeAffinity": node} if node else rest


def _without_pin(term: Mapping[str, Any]) -> dict[str, Any]:
    fields = [f for f in term.get("matchFields") or [] if f.get("key") != "metadata.name"]
    expressions = list(term.get("matchExpressions") or [])
    if expressions and expressions[-1].get("key") == labels.HOSTNAME_LABEL:
        expressions.pop()  # the pin is always the last requirement (core.placement.release)
    kept = {"matchFields": fields, "matchExpressions": expressions}
    return {key: value for key, value in kept.items() if value}


def _own_volumes(volumes: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], frozenset[str]]:
    """Split off the token volume that admission adds to every pod: it is added again."""
    dropped = frozenset(v["name"] for v in volumes if v["name"].startswith("kube-api-access-"))
    return [v for v in volumes if v["name"] not in dropped], dropped


def _without_mounts(container: Mapping[str, Any], dropped: frozenset[str]) -> dict[str, Any]:
    mounts = [m for m in container.get("volumeMounts") or [] if m["name"] not in dropped]
    return {**container, "volumeMounts": mounts}


async def templates(
    client: LeaderWriter, migration: Migration
) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the templates that a Migration has to keep, by uid of the pod; None: a pod is gone."""
    kept: dict[str, Mapping[str, Any]] = {}
    for member in migration.members if migration.mover is Mover.RECREATE else ():
        try:
            raw = await client.get(paths.pod(migration.namespace, member.pod))
        except NotFoundError:
            return None
        live = msgspec.json.decode(raw)
        if live["metadata"]["uid"] != member.uid:
            return None
        made = replacement(live)
        made["metadata"]["annotations"][labels.MIGRATION] = migration.key
        kept[member.uid] = made
    return kept


async def recreate(client: LeaderWriter, action: RecreatePod) -> None:
    """Create the pod from the template in its Migration.

    Raises:
        AlreadyExistsError: It exists.
        OddObjectError: The Migration keeps no template of it.
    """
    namespace, _, name = action.migration.partition("/")
    raw = msgspec.json.decode(await client.get(paths.migration(namespace, name)))
    for member in raw["spec"]["members"]:
        if member["uid"] == action.uid and "template" in member:
            await writes.create_pod(client, namespace, member["template"])
            return
    raise OddObjectError(action.migration, f"no template of {action.name}")
