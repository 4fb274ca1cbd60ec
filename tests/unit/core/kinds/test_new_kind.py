"""A new job kind is one class and one line of the registry: a made-up kind goes all the way."""

import json
from collections.abc import Sequence
from typing import ClassVar

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.job_spec import WorkerRange
from extender.core.cluster.jobs import Job, State
from extender.core.kinds import registry
from extender.core.kinds.base import (
    ControlledBy,
    Leaving,
    Obstacle,
    Owners,
    Unmovable,
    last_index_first,
    rank,
)
from extender.core.kinds.manifest import Created, Manifest, Part, Replicas, reference
from extender.core.kinds.registry import GROUPS, MAKERS, Registry
from extender.core.migration import move_unit
from extender.core.queue.hypothetical import key_of, with_job
from extender.servers.readapi import manifests
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Mover, Owner, Pod, WorkerCount
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

INDEX = "example.com/index"


class Sweep(ControlledBy):
    """A Sweep of example.com; the made-up kind."""

    kind = "sweep"
    controller_kind = "Sweep"
    controller_group = "example.com"
    endless = True
    any_worker = False
    manifests: ClassVar = (("Sweep", "example.com"),)

    def index(self, pod: Pod, above: Owners) -> int | None:
        return rank(f"label {INDEX}", pod.labels.get(INDEX))

    def role(self, pod: Pod) -> str:
        return "trial"

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        return last_index_first(workers, self.index)

    def mover(self, leaving: Leaving) -> Mover | Unmovable:
        return Mover.EVICT if len(leaving.pods) == 1 else Unmovable(Obstacle.OWNER, "many trials")

    def suppose(self, manifest: Manifest) -> Created:
        spec = manifest.spec_as(Replicas)
        owner = sweep(manifest.name, spec.replicas)
        part = Part(manifest.name, spec.replicas, spec.template, reference(owner), index=INDEX)
        return manifest.created([part], [owner])


def sweep(name: str = "s", size: int = 3) -> Owner:
    owner = make_owner(
        name, kind="Sweep", api_version="example.com/v1", size=size, annotations=ELASTIC
    )
    return replace(owner, counts=(WorkerCount(count=size, fields=("/spec/replicas",)),))


ELASTIC = {labels.WORKERS: "1..4"}
KEY = JobKey("default/sweep/s")


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the kind into the registry, as one more line of ``MAKERS`` does."""
    known = Registry(GROUPS, (Sweep(), *MAKERS))
    for name, function in vars(registry).items():
        if getattr(function, "__self__", None) is registry.KINDS:
            monkeypatch.setattr(registry, name, getattr(known, name))


def pods(number: int = 3, **more: object) -> list[Pod]:
    owner = sweep(size=number)
    return [
        make_pod(f"s-{i}", owner=owner, labels={INDEX: str(i)}, **more)  # type: ignore[arg-type]
        for i in range(number)
    ]


def seen(number: int = 3) -> Job:
    return job_views.view(snapshot_of(sweep(size=number), *pods(number, gated=True)), KEY)


def test_its_pods_are_one_job_with_roles_and_indices() -> None:
    assert [(m.role, m.index, m.state) for m in seen().members] == [
        ("trial", 0, State.GATED),
        ("trial", 1, State.GATED),
        ("trial", 2, State.GATED),
    ]


def test_its_least_workers_are_its_gang() -> None:
    job = seen()
    assert (job.spec.workers, job.min_available) == (WorkerRange(1, 4), 1)


def test_its_last_workers_leave_first() -> None:
    (*_, last) = members = pods()
    resizable = registry.resizable(last)
    assert resizable is not None
    assert [pod.name for pod in resizable.removal_order(members)] == ["s-2", "s-1", "s-0"]


def test_its_pods_are_moved_one_by_one() -> None:
    snapshot = snapshot_of(make_node("n"), sweep(), *pods(node="n"))
    job = job_views.view(snapshot, KEY)
    first = job.members[0]
    assert move_unit.mover(snapshot, job, [first]) == (Mover.EVICT, first.pod.controller)
    declined = move_unit.mover(snapshot, job, job.members)
    assert isinstance(declined, move_unit.MoveRefusal)
    assert declined.message.endswith(": many trials")


def test_it_ends_only_when_it_is_deleted() -> None:
    assert registry.is_endless(KEY)
    assert not registry.is_endless(JobKey("default/job/s"))


def test_its_manifest_can_be_supposed() -> None:
    template = {"spec": {"containers": [{"name": "t"}]}}
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Sweep",
        "metadata": {"name": "s"},
        "spec": {"replicas": 2, "template": template},
    }
    supposed = manifests.read(json.dumps(body).encode(), "default", "shuntyard")
    snapshot = with_job(snapshot_of(), supposed, "shuntyard", 5.0)
    job = job_views.view(snapshot, key_of(supposed, snapshot_of()))
    assert (job.key, len(job.members), job.spec.workers) == (KEY, 2, WorkerRange(1, 4))


def test_it_is_named_where_the_kind_of_a_manifest_is_not_understood() -> None:
    with pytest.raises(InputError, match=r"^kind: .*\bSweep\b"):
        manifests.read(b'{"apiVersion": "v1", "kind": "Service"}', "default", "shuntyard")
