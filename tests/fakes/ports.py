"""What stands behind the handlers in tests: canned answers, and a record of what was asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from extender.engine.filtering import FilterVerdict
from extender.http import manifests
from shared import api
from shared.errors import InputError
from shared.model import Pod
from shared.prices import PricesResponse
from shared.rescales import RescalesResponse
from shared.tenancy import NamespacesResponse
from tests.fakes.answers import (
    EXPLAIN,
    EXPLAIN_JOB,
    JOBS,
    MIGRATIONS,
    NAMESPACES,
    NODES,
    PRICES,
    QUEUE,
    RESCALES,
    SLOTS,
    WHAT_IF,
)

REFUSED = "shuntyard: planned on another node"


@dataclass
class FakeScheduler:
    """Passes the first offered node, scores nodes 10, 9, 8 …, binds with ``bind_error``."""

    bind_error: str = ""
    verdict: FilterVerdict | None = None
    scores: Sequence[tuple[str, int]] | None = None
    asked: list[tuple[object, ...]] = field(default_factory=list)

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        self.asked.append(("filter", pod.key, tuple(node_names)))
        failed = dict.fromkeys(node_names[1:], REFUSED)
        return self.verdict or FilterVerdict(passed=tuple(node_names[:1]), failed=failed)

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        self.asked.append(("prioritize", pod.key, tuple(node_names)))
        if self.scores is not None:
            return self.scores
        return [(name, max(0, 10 - i)) for i, name in enumerate(node_names)]

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> str:
        self.asked.append(("bind", namespace, name, uid, node))
        return self.bind_error


class FakeRead:
    """The read API of one job that waits."""

    def has_namespace(self, name: str) -> bool:
        return name != "absent"

    async def queue(self) -> api.QueueResponse:
        return QUEUE

    def nodes(self) -> api.NodesResponse:
        return NODES

    def jobs(self) -> api.JobsResponse:
        return JOBS

    def migrations(self) -> api.MigrationsResponse:
        return MIGRATIONS

    def rescales(self) -> RescalesResponse:
        return RESCALES

    def namespaces(self) -> NamespacesResponse:
        return NAMESPACES

    async def prices(self, *, slots: bool) -> PricesResponse:
        return msgspec.structs.replace(PRICES, slots=SLOTS) if slots else PRICES

    async def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        return EXPLAIN if (namespace, name) == ("team-a", "resnet-0") else None

    async def explain_job(self, namespace: str, name: str, kind: str) -> api.ExplainResponse | None:
        if name == "twice" and not kind:
            raise InputError("query parameter kind", kind, "job or pytorchjob")
        found = {("team-a", "resnet"), ("team-a", "twice")}
        return EXPLAIN_JOB if (namespace, name) in found else None

    async def what_if(self, body: bytes, namespace: str) -> api.WhatIfResponse:
        job = manifests.read(body, namespace, "shuntyard")
        return msgspec.structs.replace(WHAT_IF, pods=len(job.pods), job=job.pods[0].namespace)


@dataclass
class FakeHealth:
    """Says what it is told to."""

    alive: bool = True
    ready: bool = True

    def livez(self) -> tuple[bool, Mapping[str, str]]:
        return self.alive, {"schedule": "ok" if self.alive else "silent for 61.0 s"}

    def readyz(self) -> tuple[bool, Mapping[str, str]]:
        return self.ready, {"synced": "ok" if self.ready else "not yet"}
