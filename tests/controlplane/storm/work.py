"""Gangs that come, run for a while and are deleted by their user, as long as the storm lasts."""

import asyncio
import contextlib
import json
import random
import time
from dataclasses import dataclass, field, replace
from typing import Final

from shared import labels as names
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, NotFoundError
from tests.controlplane import faults
from tests.controlplane.jobs import Manifest, Pods, pod
from tests.controlplane.storm.laws import Known
from tests.controlplane.watching import History, is_gated

KINDS: Final = ("job", "bare", "direct")
DIRECT_KINDS: Final = ("direct", "direct bare")
"""Without our gate: of a Job, and of pods without an owner with a parameter server."""
MOST: Final = 12
"""Gangs at one time."""
BARE: Final = ("bare", "direct bare")
"""Kinds whose pods have no owner."""
SIZES: Final = (2, 10)
RUN_SECONDS: Final = (4.0, 40.0)
RETRY_SECONDS: Final = 0.2


@dataclass
class Gang:
    """One gang of the storm; ``ends_at`` in monotonic seconds, once it was seen whole."""

    kind: str
    name: str
    size: int
    ends_at: float | None = None


@dataclass
class Work:
    """See the module.

    Attributes:
        kinds: Of gangs.
        most: Gangs at one time.
        run_seconds: How long a gang runs, at least and at most.
        here: Gangs that exist, in the order in which they came.
        made: How many came in all.
    """

    client: KubeClient
    history: History
    known: Known
    namespace: str
    rng: random.Random
    kinds: tuple[str, ...] = KINDS
    most: int = MOST
    run_seconds: tuple[float, float] = RUN_SECONDS
    here: list[Gang] = field(default_factory=list)
    made: int = 0

    def key(self, gang: Gang) -> str:
        """Its job as the history knows it."""
        return f"{self.namespace}/{gang.name}"

    def whole(self, gang: Gang) -> bool:
        """True if all its members are on a node now, and none of them is gated."""
        pods = self.history.of(self.key(gang))
        return self.history.bound(self.key(gang)) >= gang.size and not any(map(is_gated, pods))

    async def step(self) -> None:
        """Delete the gangs whose time is over, and submit another one unless there are many."""
        await self.end()
        if len(self.here) < self.most:
            await self.submit(self.rng.choice(self.kinds))

    async def end(self) -> None:
        """Delete the gangs that were whole for as long as they were to run, or cannot be again."""
        now = time.monotonic()
        for gang in list(self.here):
            if gang.ends_at is None and (self.whole(gang) or self._is_lost(gang)):
                gang.ends_at = now + self.seconds(gang)
            if gang.ends_at is not None and now >= gang.ends_at and self.may_end(gang):
                await self.delete(gang)

    def seconds(self, _gang: Gang) -> float:
        """Return how long a gang runs."""
        return self.rng.uniform(*self.run_seconds)

    def may_end(self, _gang: Gang) -> bool:
        """Return True if a gang whose time is over may be deleted now."""
        return True

    def _is_lost(self, gang: Gang) -> bool:
        """Return True if the storm deleted a pod that nothing makes again."""
        return gang.kind in BARE and self.key(gang) in self.known.struck_jobs

    async def submit(self, kind: str) -> None:
        """Create a gang; one that could not be created in full is deleted again."""
        self.made += 1
        gang = Gang(kind, f"{kind.replace(' ', '-')}-{self.made}", self.rng.randint(*SIZES))
        self.known.sizes[self.key(gang)] = gang.size
        self.here.append(gang)
        try:
            for path, manifest in self.manifests(gang):
                await self.client.post(paths.namespaced(path, self.namespace), manifest)
        except ApiError:  # the API server was just killed
            await self.delete(gang)

    async def delete(self, gang: Gang) -> None:
        """Delete a gang as its user does: what is listed, each once."""
        self.here.remove(gang)
        if gang.kind in BARE:
            for path in await self._listed(gang):
                await self._gone(path)
        else:
            await self._gone(f"{paths.namespaced(paths.JOBS, self.namespace)}/{gang.name}")
        self.known.deleted[self.key(gang)] = time.monotonic()

    async def _listed(self, gang: Gang) -> list[str]:
        selector = {"labelSelector": f"{names.JOB}={gang.name}"}
        while True:
            try:
                page = json.loads(await self.client.get(paths.pods(self.namespace), selector))
            except ApiError:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            return [paths.pod(self.namespace, one["metadata"]["name"]) for one in page["items"]]

    async def _gone(self, path: str) -> None:
        while True:
            try:
                await self.client.delete(path, propagation="Background")
            except NotFoundError:
                return
            except ApiError:  # the API server was just killed
                await asyncio.sleep(RETRY_SECONDS)
                continue
            return

    def manifests(self, gang: Gang) -> list[tuple[str, Manifest]]:
        """Return what makes a gang, each with its collection."""
        if gang.kind == "job":
            return [(paths.JOBS, faults.gang(gang.name, gang.size))]
        if gang.kind == "direct":
            manifest = faults.gang(gang.name, gang.size)
            template = manifest["spec"]["template"]
            manifest["spec"]["template"] = {
                **template,
                "spec": {k: v for k, v in template["spec"].items() if k != "schedulingGates"},
            }
            return [(paths.JOBS, manifest)]
        bare = replace(
            Pods(gated=gang.kind == "bare").labelled(job=gang.name),
            annotations={names.MIN_AVAILABLE: str(gang.size)},
        )
        first = bare if gang.kind == "bare" else bare.labelled(role="ps")
        members = [first, *[bare] * (gang.size - 1)]
        return [(paths.PODS, pod(f"{gang.name}-{i}", one)) for i, one in enumerate(members)]


async def until_quiet(work: Work, patience_seconds: float) -> list[str]:
    """Wait until every gang has run and is deleted, and its pods are gone; return the rest.

    The room may be too small for all of them at once, so each leaves when it has run.
    """
    deadline = time.monotonic() + patience_seconds
    while open_ends := _open_ends(work):
        if time.monotonic() > deadline:
            return open_ends
        await work.end()
        await asyncio.sleep(RETRY_SECONDS)
    with contextlib.suppress(ApiError):
        await work.history.caught_up(work.client)
    return _open_ends(work)


def _open_ends(work: Work) -> list[str]:
    waiting = [
        f"{g.name}: {work.history.bound(work.key(g))} of {g.size} bound, "
        f"{len(work.history.of(work.key(g)))} there"
        for g in work.here
    ]
    left = [
        f"{job}: {len(pods)} pods after it was deleted"
        for job in work.known.deleted
        if (pods := work.history.of(job))
    ]
    return waiting + left
