"""What the handlers ask: the parts behind them, as protocols."""

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from extender.core.explain import Page
from extender.core.scheduler.call_errors import CallError
from extender.core.scheduler.filtering import FilterVerdict
from extender.servers.readapi.manifests import Namespaces
from shared import api, wire
from shared.ledgers import RescalesResponse
from shared.model import NodeName, Pod
from shared.pricing import PricesResponse
from shared.tenancy import NamespacesResponse


class SchedulerPort(Protocol):
    """Answers kube-scheduler. ``filter`` and ``prioritize`` never wait for anything."""

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes for a pod."""
        ...

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """Score the nodes that are left: pairs of name and 0 to 10."""
        ...

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> CallError | None:
        """Bind a pod to a node; return why that fails, None if it does not."""
        ...


class ReadPort(Protocol):
    """Answers people. Lists are told in pages; nothing is worked out on the event loop."""

    def version(self) -> Hashable:
        """Return what lists are as of; the same as long as the one before may be told again."""
        ...

    async def has_namespace(self, name: str) -> bool:
        """Say whether there is such a namespace, as far as is known."""
        ...

    async def present(self) -> AbstractSet[str]:
        """Return the namespaces that lists may speak of."""
        ...

    async def queue(self, page: Page) -> api.QueueResponse:
        """Return the waiting jobs in order."""
        ...

    async def nodes(self, page: Page) -> api.NodesResponse:
        """Return the nodes by name."""
        ...

    async def jobs(self, page: Page) -> api.JobsResponse:
        """Return the jobs of ours by key."""
        ...

    async def migrations(self, page: Page) -> api.MigrationsResponse:
        """Return the ledger of migrations, and the jobs that were not moved."""
        ...

    async def rescales(self, page: Page) -> RescalesResponse:
        """Return the ledger of rescales, and the jobs that were not changed."""
        ...

    async def namespaces(self, page: Page) -> NamespacesResponse:
        """Return what each namespace holds and may hold."""
        ...

    def close(self) -> None:
        """Begin nothing more."""
        ...

    async def prices(self, *, slots: bool) -> PricesResponse:
        """Return what resources cost now, and in the time slots to come if that is asked."""
        ...

    async def explain(self, namespace: str, name: str) -> api.ExplainResponse | None:
        """Return why a pod is where; None if there is no such pod."""
        ...

    async def explain_job(self, namespace: str, name: str, kind: str) -> api.ExplainResponse | None:
        """Return why a job waits; None if there is no such job.

        Raises:
            InputError: There are jobs of several kinds, and ``kind`` is empty; names them.
        """
        ...

    async def namespaces_of(self, body: bytes, namespace: str) -> Namespaces:
        """Return the namespaces of a manifest; raises as ``what_if``."""
        ...

    async def what_if(self, body: bytes, namespace: str) -> api.WhatIfResponse:
        """Return what would become of the job of a manifest; nothing is written anywhere.

        Args:
            body: The manifest, JSON.
            namespace: Where it goes if it does not say so.

        Raises:
            InputError: It cannot be read, or no pods could be made of it; names the field.
        """
        ...


class AgentPort(Protocol):
    """Answers the agents, each for its own node."""

    async def node_of(self, authorization: str) -> NodeName:
        """Return the node that the caller may speak for; raises an ``HTTPException`` if none."""
        ...

    def heartbeat(self, heartbeat: wire.Heartbeat) -> wire.HeartbeatAnswer:
        """Take over a heartbeat; raises an ``HTTPException`` if its node or a pod is not there."""
        ...

    async def pods(self, node: NodeName) -> wire.NodePods:
        """Return the pods of ours on a node."""
        ...


class HealthPort(Protocol):
    """Answers probes: whether all is well, and what is true of each part."""

    def livez(self) -> tuple[bool, Mapping[str, str]]:
        """Return whether the process lives."""
        ...

    def readyz(self) -> tuple[bool, Mapping[str, str]]:
        """Return whether it can answer."""
        ...
