"""The YAML of a page as the programs read it: objects, their pods, the jobs they stand for."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import yaml

from extender.core.cluster import job_views, jobs
from extender.core.kinds import registry
from extender.core.queue import hypothetical
from extender.core.queue.hypothetical import HypotheticalJob
from extender.servers.readapi import manifests
from shared import labels
from shared.kube import pod_groups
from shared.model import PodGroup
from tests.docs import blocks
from tests.docs.operators import EXPANDED, supposed
from tests.fakes.builders import make_node, make_priority_class
from tests.unit.core.clusters import snapshot_of

Object = dict[str, Any]

VERSION: Final = "1.36"
"""Of Kubernetes, whose schemas hold."""
_GROUPS: Final = {kind.group: kind for kind in pod_groups.GROUPS}


def objects(text: str) -> list[Object]:
    """Return the objects of a YAML text; what has no ``kind`` is a fragment, and left out."""
    found = [one for one in yaml.safe_load_all(text) if isinstance(one, dict)]
    return [one for one in found if "kind" in one and "apiVersion" in one]


def yaml_blocks(page: Path) -> list[blocks.Block]:
    """Return the YAML blocks of a page."""
    return [one for one in blocks.of_page(page) if one.language == "yaml"]


def objects_of(page: Path) -> list[Object]:
    """Return all objects of a page, in its order."""
    return [one for block in yaml_blocks(page) for one in objects(block.text)]


def templates(obj: Any) -> Iterator[Object]:
    """Yield the pods of an object: itself, or every template in it, however deep."""
    if isinstance(obj, list):
        for one in obj:
            yield from templates(one)
    if not isinstance(obj, dict):
        return
    if "containers" in obj.get("spec", ()):
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, **obj}
        return
    for one in obj.values():
        yield from templates(one)


def check_schema(obj: Object) -> None:
    """Hold an object of Kubernetes' own, or the pods of any, to Kubernetes' schemas.

    Raises:
        AssertionError: It is not what they say; unknown fields are not, either.
    """
    try:
        _validate(obj)
    except kubernetes_validate.SchemaNotFoundError:
        for pod in templates(obj):
            _validate(pod)


def _validate(obj: Object) -> None:
    try:
        kubernetes_validate.validate(obj, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:  # its text has the whole schema in it
        where = ".".join(map(str, error.path))
        raise AssertionError(f"{obj['kind']}: {where}: {error.message[:200]}") from None


def jobs_of(found: Sequence[Object]) -> list[jobs.Job]:
    """Return the jobs that objects stand for, as the engine sees them, in the order of their keys.

    Raises:
        InputError: An object cannot be read.
    """
    made = [_supposed(one) for one in found if _makes_pods(one)]
    everyone = HypotheticalJob(
        tuple(pod for one in made for pod in one.pods),
        tuple(owner for one in made for owner in one.owners),
    )
    keys = sorted({registry.job_key(pod) for pod in everyone.pods})
    empty = snapshot_of(make_node(), _groups(found))
    views = []
    for key in keys:
        of_job = tuple(pod for pod in everyone.pods if registry.job_key(pod) == key)
        named = {pod.priority_class for pod in of_job if pod.priority_class}
        base = replace(empty, priority_classes={n: make_priority_class(n) for n in named})
        one = replace(everyone, pods=of_job)
        snapshot = hypothetical.with_job(base, one, labels.SCHEDULER_NAME, 5.0)
        views.append(job_views.view(snapshot, key))
    return views


def _makes_pods(obj: Object) -> bool:
    return registry.supposable(*_kind(obj)) is not None or _kind(obj) in EXPANDED


def _kind(obj: Object) -> tuple[str, str]:
    group, slash, _ = obj["apiVersion"].partition("/")
    return obj["kind"], group if slash else ""


def _supposed(obj: Object) -> HypotheticalJob:
    if _kind(obj) in EXPANDED:
        return supposed(json.dumps(obj).encode(), "default", EXPANDED[_kind(obj)])
    return manifests.read(json.dumps(obj).encode(), "default", labels.SCHEDULER_NAME)


def _groups(found: Iterable[Object]) -> list[PodGroup]:
    groups = [one for one in found if one["kind"] == "PodGroup"]
    return [_GROUPS[_kind(one)[1]].decode(json.dumps(_placed(one)).encode()) for one in groups]


def _placed(obj: Object) -> Object:
    meta = obj["metadata"]
    uid = f"group/{meta['name']}"
    return {**obj, "metadata": {"namespace": "default", "uid": uid, **meta}}
