"""What the handlers ask: the parts behind them, as protocols."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from extender.engine.filtering import FilterVerdict
from shared import api, wire
from shared.model import NodeName, Pod
from shared.prices import PricesResponse
from shared.rescales import RescalesResponse
from shared.tenancy import NamespacesResponse


class SchedulerPort(Protocol):
    """Answers kube-scheduler. ``filter`` and ``prioritize`` never wait for anything."""

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterVerdict:
        """Judge the offered nodes for a pod."""
        ...

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """Score the nodes that are left: pairs of name and 0 to 10."""
        ...

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> str:
        """Bind a pod to a node; return "" or the error's text."""
        ...


class ReadPort(Protocol):
    """Answers people."""

    def has_namespace(self, name: str) -> bool:
        """Say whether there is such a namespace, as far as is known."""
        ...

    async def queue(self) -> api.QueueResponse:
        """Return the waiting jobs in order."""
        ...

    def nodes(self) -> api.NodesResponse:
        """Return all nodes."""
        ...

    def jobs(self) -> api.JobsResponse:
        """Return all jobs of ours."""
        ...

    def migrations(self) -> api.MigrationsResponse:
        """Return the ledger of migrations, and the jobs that were not moved."""
        ...

    def rescales(self) -> RescalesResponse:
        """Return the ledger of rescales, and the jobs that were not changed."""
        ...

    def namespaces(self) -> NamespacesResponse:
        """Return what each namespace holds and may hold."""
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

    def pods(self, node: NodeName) -> wire.NodePods:
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
