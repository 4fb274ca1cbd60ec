"""Makes an owner smaller by its scale path, and compares the pods that go."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from extender.core.kinds import registry
from extender.core.kinds.base import NOTHING_ABOVE
from shared.kube import parse, paths
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import ConflictError
from shared.kube.resources import ResourceKind
from shared.model import Owner, Pod, WorkerCount
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS = 60.0
Change = tuple[str, Any]
"""JSON pointer, and what comes there."""


@dataclass(frozen=True)
class Workers:
    """The workers of an owner; their role is ``role``, those of all roles if it is empty."""

    yard: Yard
    kind: ResourceKind
    name: str
    role: str = ""

    @property
    def path(self) -> str:
        return paths.namespaced(self.kind.path, self.yard.team, self.name)

    async def owner(self) -> Owner:
        found = self.kind.decode(await self.yard.client.get(self.path))
        assert isinstance(found, Owner)
        return found

    async def count(self) -> WorkerCount:
        return self._count(await self.owner())

    def _count(self, owner: Owner) -> WorkerCount:
        counts = {count.role: count for count in owner.counts}
        return counts.get(self.role) or counts[""]

    async def living(self) -> tuple[Pod, ...]:
        """Pods that exist and are not being deleted."""
        found = await pods(self.yard.client, self.yard.team)
        return tuple(
            pod
            for pod in found
            if not pod.deleting and self.role in {"", registry.membership(pod, NOTHING_ABOVE).role}
        )

    async def until_running(self, count: int) -> tuple[Pod, ...]:
        async def running() -> tuple[Pod, ...]:
            found = await self.living()
            phases = sorted(pod.phase for pod in found)
            assert phases == ["Running"] * count, phases
            return found

        return await eventually(running, PATIENCE_SECONDS, f"{count} of {self.name} run")

    async def resize(self, to: int, leaving: Sequence[str] = ()) -> None:
        """Write the number in one patch, on the version that was read."""

        def values(owner: Owner) -> Iterable[Change]:
            count = self._count(owner)
            yield from count.values(to)
            if leaving and count.leaving:
                yield count.leaving, {count.leaving_key: list(leaving)}

        await self._change(values, lambda owner: self._count(owner).guards)

    async def pause(self, *, paused: bool, workers: int = 0) -> None:
        """Suspend or resume it, as its kind does: by a field, else by its number of workers."""
        if not (await self.owner()).suspend_field:
            await self.resize(workers)
            return
        await self._change(lambda owner: [(owner.suspend_field, paused)])

    async def paused(self) -> bool:
        owner = await self.owner()
        return owner.suspended if owner.suspend_field else self._count(owner).count == 0

    async def _change(
        self,
        values: Callable[[Owner], Iterable[Change]],
        guards: Callable[[Owner], Iterable[Change]] = lambda _: (),
    ) -> None:
        async def written() -> bool:
            owner = await self.owner()
            tests = [("/metadata/uid", owner.uid), *guards(owner)]
            sets = [("/metadata/resourceVersion", owner.resource_version), *values(owner)]
            patch = [
                *({"op": "test", "path": at, "value": value} for at, value in tests),
                *({"op": "add", "path": at, "value": value} for at, value in sets),
            ]
            try:
                await self.yard.client.patch(self.path, patch, kind=PatchKind.JSON)
            except ConflictError:  # its controller wrote in between
                return False
            return True

        await eventually(written, PATIENCE_SECONDS)

    async def shrink(self, to: int) -> tuple[frozenset[str], frozenset[str]]:
        """Make it smaller; return the names of those that should stay and of those that do."""
        workers = await self.living()
        adapter = registry.resizable(workers[0])
        assert adapter is not None
        order = adapter.removal_order(workers)
        leaving, staying = order[: len(order) - to], order[len(order) - to :]
        if (nominating := registry.nominating(workers[0])) is not None:
            for key, notes in nominating.nominations(leaving, staying).items():
                namespace, name = key.split("/")
                body = {"metadata": {"annotations": dict(notes)}}
                await self.yard.client.patch(paths.pod(namespace, name), body)
        await self.resize(to, [pod.name for pod in leaving])

        async def smaller() -> tuple[Pod, ...]:
            found = await self.living()
            assert len(found) == to, [pod.name for pod in found]
            return found

        stayed = await eventually(smaller, PATIENCE_SECONDS, f"{to} of {self.name} stay")
        return frozenset(pod.name for pod in staying), frozenset(pod.name for pod in stayed)


async def pods(client: KubeClient, namespace: str) -> tuple[Pod, ...]:
    found = json.loads(await client.get(paths.pods(namespace)))["items"]
    return tuple(parse.decode_pod(json.dumps(raw).encode()) for raw in found)
