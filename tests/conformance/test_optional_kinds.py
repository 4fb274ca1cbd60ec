"""Discovery and watches of a kind that is defined, changed and removed meanwhile."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest

from extender.controllers.observe import optional_kind
from extender.controllers.observe.optional_kind import Catalog, OptionalKind
from shared import labels
from shared.kube import discovery, paths, reflector
from shared.kube.errors import ApiError, NotFoundError
from shared.kube.reflector import Reflector
from shared.kube.resources import OPTIONAL, ResourceKind
from shared.model import Delete, Delta, Owner, PodGroup, Replace, Upsert
from shared.system_clock import SystemClock
from tests.conformance.conftest import PATIENCE_SECONDS, Server
from tests.fakes.eventually import eventually
from tests.fakes.kube_definitions import DEFINITIONS, definition

KINDS = {kind.source: kind for kind in OPTIONAL}
NOTED = {labels.MAX_WAIT: "20m"}
"""Annotations that the extender does not read are dropped (`shared.kube.kept_keys`)."""


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_kind, "CATALOG_SECONDS", 0.2)
    monkeypatch.setattr(optional_kind, "SOON_SECONDS", 0.2)
    monkeypatch.setattr(optional_kind, "RETRY_SECONDS", 0.5)
    monkeypatch.setattr(reflector, "FLOOR_SECONDS", 0.1)


@dataclass
class Mirror:
    """The objects of one kind that a store would hold."""

    kind: OptionalKind
    held: dict[str, Owner | PodGroup]

    def sizes(self) -> dict[str, int | None]:
        return {
            one.name: one.size if isinstance(one, Owner) else one.min_member
            for one in self.held.values()
        }


@asynccontextmanager
async def mirroring(server: Server, kind: ResourceKind) -> AsyncIterator[Mirror]:
    held: dict[str, Owner | PodGroup] = {}

    def sink(delta: Delta) -> None:
        match delta:
            case Replace(_, _, entities):
                held.clear()
                held.update({one.key: one for one in entities if isinstance(one, Owner | PodGroup)})
            case Upsert(Owner() | PodGroup() as one):
                held[one.key] = one
            case Delete(_, key, _):
                held.pop(key, None)

    def connect(
        kind: ResourceKind, sink: Callable[[Delta], None], ends_on: tuple[type[ApiError], ...]
    ) -> Reflector:
        clock, rng = SystemClock(), random.Random(1)
        return Reflector(server.client, kind, sink, clock=clock, rng=rng, ends_on=ends_on)

    groups = Catalog(server.client)
    found = OptionalKind(kind, "nothing", sink, connect, groups, SystemClock())
    async with asyncio.TaskGroup() as tasks:
        loops = [tasks.create_task(loop.run()) for loop in (groups, found)]
        try:
            yield Mirror(found, held)
        finally:
            for task in loops:
                task.cancel()


async def define(server: Server, kind: ResourceKind) -> None:
    if server.fake is not None:
        server.fake.install(kind.path)
    else:
        await server.client.post(DEFINITIONS, definition(kind.path, kind.source.partition(".")[0]))


async def undefine(server: Server, kind: ResourceKind) -> None:
    if server.fake is not None:
        server.fake.uninstall(kind.path)
    else:
        with suppress(NotFoundError):
            await server.client.delete(f"{DEFINITIONS}/{kind.resource}")


CASES = {
    "JobSet.jobset.x-k8s.io": ({"replicatedJobs": [{"name": "w", "replicas": 2}]}, 2),
    "PodGroup.scheduling.x-k8s.io": ({"minMember": 3}, 3),
}


@pytest.mark.parametrize(("source", "case"), CASES.items(), ids=CASES)
async def test_a_kind_is_read_while_it_is_defined(
    server: Server, source: str, case: tuple[dict[str, object], int]
) -> None:
    kind, (spec, size) = KINDS[source], case
    async with mirroring(server, kind) as mirror:
        await eventually(lambda: mirror.kind.known, PATIENCE_SECONDS)
        assert not mirror.kind.present
        try:
            await define(server, kind)
            await eventually(lambda: mirror.kind.present, PATIENCE_SECONDS)
            await server.create(kind.path, _named(kind, "a", spec))
            await eventually(lambda: mirror.sizes() == {"a": size}, PATIENCE_SECONDS)
            path = paths.namespaced(kind.path, server.namespace, "a")
            await server.client.patch(path, {"metadata": {"annotations": NOTED}})
            await eventually(lambda: _annotated(mirror), PATIENCE_SECONDS)
        finally:
            await undefine(server, kind)
        await eventually(lambda: mirror.sizes() == {}, PATIENCE_SECONDS)
        await eventually(lambda: not mirror.kind.present, PATIENCE_SECONDS)


async def test_only_deployments_that_name_a_job_are_read(server: Server) -> None:
    kind = KINDS["Deployment"]
    if server.fake is not None:
        server.fake.install(kind.path)
    match, pods = {"app": "it"}, {"containers": [{"name": "main", "image": "example.org/none:1"}]}
    template = {"metadata": {"labels": match}, "spec": pods}
    spec = {"replicas": 0, "selector": {"matchLabels": match}, "template": template}
    for name, given in (("training", {labels.JOB: "training"}), ("web", {})):
        body = _named(kind, name, spec)
        await server.create(kind.path, {**body, "metadata": {"name": name, "labels": given}})
    async with mirroring(server, kind) as mirror:
        await eventually(lambda: mirror.sizes() == {"training": 0}, PATIENCE_SECONDS)
        for name, job, want in (("training", None, {}), ("web", "web", {"web": 0})):
            path = paths.namespaced(kind.path, server.namespace, name)
            await server.client.patch(path, {"metadata": {"labels": {labels.JOB: job}}})
            await eventually(lambda want=want: mirror.sizes() == want, PATIENCE_SECONDS)


async def test_the_groups_of_the_server_are_listed_with_their_versions(server: Server) -> None:
    found = await discovery.group_versions(server.client)
    assert {"batch/v1", "apps/v1", "scheduling.k8s.io/v1"} <= found
    assert "ray.io/v1" not in found


def _annotated(mirror: Mirror) -> bool:
    return [dict(one.annotations) for one in mirror.held.values()] == [NOTED]


def _named(kind: ResourceKind, name: str, spec: dict[str, object]) -> dict[str, object]:
    return {
        "apiVersion": paths.group_version(kind.path),
        "kind": kind.source.partition(".")[0],
        "metadata": {"name": name},
        "spec": spec,
    }
