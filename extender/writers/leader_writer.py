"""A client that checks the leadership before every API write.

A process may be frozen in the middle of a burst of writes; when it goes on, another replica may
lead and have written the rest. So no writer has to remember the check: its client refuses.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from typing_extensions import override

from shared.kube.client import KubeClient, Params, PatchKind
from shared.kube.errors import ConflictError


class NotLeaderError(ConflictError):
    """The write was not sent: this replica is not the leader."""

    def __init__(self) -> None:
        super().__init__(409, "Conflict", "this replica is not the leader any more")


class LeaderWriter(KubeClient):
    """A client of the API server that writes only while this replica leads.

    Reads pass at any time. Every write raises ``NotLeaderError`` otherwise, beside what the client
    raises.

    Args:
        client: Carries the requests out.
        leads: Returns True while this replica is the leader and knows the cluster.
    """

    def __init__(self, client: KubeClient, leads: Callable[[], bool]) -> None:
        self._client = client
        self.leads = leads

    @override
    async def get(self, path: str, params: Params | None = None) -> bytes:
        return await self._client.get(path, params)

    @override
    def stream(
        self, path: str, params: Params | None = None, *, stall_seconds: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        return self._client.stream(path, params, stall_seconds=stall_seconds)

    @override
    async def post(self, path: str, body: Any, params: Params | None = None) -> bytes:
        self._require_lead()
        return await self._client.post(path, body, params)

    @override
    async def put(self, path: str, body: Any, params: Params | None = None) -> bytes:
        self._require_lead()
        return await self._client.put(path, body, params)

    @override
    async def patch(
        self,
        path: str,
        body: Any,
        *,
        kind: PatchKind = PatchKind.MERGE,
        params: Params | None = None,
    ) -> bytes:
        self._require_lead()
        return await self._client.patch(path, body, kind=kind, params=params)

    @override
    async def delete(
        self,
        path: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: str | None = None,
        once: bool = False,
    ) -> bytes:
        self._require_lead()
        return await self._client.delete(
            path,
            uid=uid,
            resource_version=resource_version,
            grace_seconds=grace_seconds,
            propagation=propagation,
            once=once,
        )

    def _require_lead(self) -> None:
        if not self.leads():
            raise NotLeaderError
