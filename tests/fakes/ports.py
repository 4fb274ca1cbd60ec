"""Stand-ins for the services behind the handlers: canned answers, and a record of the calls."""

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import msgspec

from extender.core.explain import Page
from extender.core.scheduler.binding import CallError
from extender.core.scheduler.filtering import FilterVerdict
from extender.servers.auth import redacting
from extender.servers.readapi import manifests, paging
from shared.errors import InputError
from shared.model import Pod
from shared.readapi import api
from shared.readapi.ledgers import ParkingsResponse, RescalesResponse
from shared.readapi.pricing import PricesResponse
from shared.readapi.tenancy import NamespacesResponse
from tests.fakes.answers import (
    EXPLAIN,
    EXPLAIN_JOB,
    JOBS,
    MIGRATIONS,
    NAMESPACES,
    NODES,
    PARKINGS,
    PRICES,
    QUEUE,
    RESCALES,
    SLOTS,
    WHAT_IF,
)

REFUSED = "shuntyard: planned on another node"


@dataclass
class FakeScheduler:
    """Accepts the first offered node, scores nodes 10, 9, 8 …, binds with ``bind_error``."""

    bind_error: CallError | None = None
    verdict: FilterVerdict | None = None
    scores: Sequence[tuple[str, int]] | None = None
    calls: list[tuple[object, ...]] = field(default_factory=list)

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        self.calls.append(("filter", pod.key, tuple(node_names)))
        failed = dict.fromkeys(node_names[1:], REFUSED)
        return self.verdict or FilterVerdict(passed=tuple(node_names[:1]), failed=failed)

    async def hold(self, pod: Pod, node_names: Sequence[str], verdict: FilterVerdict) -> float:
        return 0.0

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        self.calls.append(("prioritize", pod.key, tuple(node_names)))
        if self.scores is not None:
            return self.scores
        return [(name, max(0, 10 - i)) for i, name in enumerate(node_names)]

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> CallError | None:
        self.calls.append(("bind", namespace, name, uid, node))
        return self.bind_error


class FakeRead:
    """The read API of one job that waits."""

    def close(self) -> None: ...

    async def has_namespace(self, name: str) -> bool:
        return name != "absent"

    def version(self) -> Hashable:
        return None

    async def present(self) -> AbstractSet[str]:
        return {"team-a", "team-b", "team-c"}

    async def namespaces_of(self, body: bytes, namespace: str) -> manifests.Namespaces:
        return manifests.namespaces(body, namespace)

    async def queue(self, page: Page) -> api.QueueResponse:
        return (
            QUEUE if page.namespaces is None else redacting.keep_namespaces(QUEUE, page.namespaces)
        )

    async def nodes(self, page: Page) -> api.NodesResponse:
        return NODES

    async def jobs(self, page: Page) -> api.JobsResponse:
        return JOBS if page.namespaces is None else redacting.keep_namespaces(JOBS, page.namespaces)

    async def migrations(self, page: Page) -> api.MigrationsResponse:
        return paging.part(MIGRATIONS, page)

    async def rescales(self, page: Page) -> RescalesResponse:
        return paging.part(RESCALES, page)

    async def parkings(self, page: Page) -> ParkingsResponse:
        return paging.part(PARKINGS, page)

    async def namespaces(self, page: Page) -> NamespacesResponse:
        return paging.part(NAMESPACES, page)

    async def prices(self, *, slots: bool) -> PricesResponse:
        return msgspec.structs.replace(PRICES, slots=SLOTS) if slots else PRICES

    async def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        return EXPLAIN if (namespace, name) == ("team-a", "resnet-0") else None

    async def explain_job(self, namespace: str, name: str, kind: str) -> api.ExplainResponse | None:
        if name == "twice" and not kind:
            raise InputError("query parameter kind", kind, "job or pytorchjob")
        jobs = {("team-a", "resnet"), ("team-a", "twice")}
        return EXPLAIN_JOB if (namespace, name) in jobs else None

    async def what_if(self, body: bytes, namespace: str) -> api.WhatIfResponse:
        job = manifests.read(body, namespace, "shuntyard")
        return msgspec.structs.replace(WHAT_IF, pods=len(job.pods), job=job.pods[0].namespace)


@dataclass
class FakeHealth:
    """Returns the answers that a test gave it."""

    alive: bool = True
    ready: bool = True

    def livez(self) -> tuple[bool, Mapping[str, str]]:
        return self.alive, {"schedule": "ok" if self.alive else "silent for 61.0 s"}

    def readyz(self) -> tuple[bool, Mapping[str, str]]:
        return self.ready, {"synced": "ok" if self.ready else "not yet"}
