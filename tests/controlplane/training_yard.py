"""Training jobs that move between process nodes: manifests, watches and files.

Tests read watches of the API server and the files that trainers write; they use our own read API
only for checks of that API.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bench.specon import jobs as trainings
from bench.specon.files import JobFiles
from bench.specon.jobs import Manifest, Training
from devcluster.cluster import Cluster
from devcluster.components.process_nodes import process_nodes
from devcluster.options import ProcessNodes
from shared import labels, quantity
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, NotFoundError, transient
from shared.readapi import api
from shared.readapi.ledgers import MigrationEntry
from shared.system_clock import SystemClock
from tests.controlplane import watching
from tests.controlplane.watching import History, Object, recording
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

PATIENCE_SECONDS: Final = 60.0
NODES: Final = ("east-0000", "west-0000")
CLOCK: Final = SystemClock()

SETTINGS: Final[Mapping[str, Any]] = {
    "queue": {"settle_seconds": 0.1},
    "migration": {
        "interval_seconds": 0.5,
        "minimum_gain_ratio": 0,
        "rebalance": "never",
        "cooldown_seconds": 600,
        "checkpoint_seconds": 12,
        "hold_seconds": 15,
        "evict_seconds": 10,
        "recreate_seconds": 20,
        "resume_seconds": 20,
    },
    "agent_reports": {"stale_seconds": 4},
}
"""Jobs last half a minute here, real ones hours: every deadline is in proportion."""
AGENT_SETTINGS: Final[Mapping[str, Any]] = {
    "convergence": {"rule": "specon", "alpha": 0.05, "interval_seconds": 1},
    "report": {"interval_seconds": 0.5, "backoff_seconds": 0.2, "most_backoff_seconds": 1},
    "discovery": {"interval_seconds": 0.5},
    "following": {
        "interval_seconds": 0.4,
        "checkpoint_seconds": 0.5,
        "asked_seconds": 0.2,
        "find_seconds": 0.5,
    },
    "sampling": {"cores": 0.3, "interval_seconds": 1},
}

BUSY: Final = "while True: pass"
_CONFIG_MAPS: Final = "/api/v1/configmaps"


def start(
    cluster: Cluster, nodes: Sequence[str] = NODES, settings: Mapping[str, Any] = SETTINGS
) -> None:
    """Start a process for each node, so that each can fail alone, our pair, and the agents."""
    for name in nodes:
        wanted = ProcessNodes(1, cpu="300m", memory="1Gi", prefix=name.rpartition("-")[0])
        cluster._supervisor.launch({component(name): process_nodes(cluster.layout, wanted)})
        cluster._await_nodes(component(name), frozenset(wanted.names()))
    cluster.start_shuntyard(settings)
    cluster.start_default_scheduler()
    cluster.start_agents(AGENT_SETTINGS)


@contextlib.contextmanager
def training(
    control_plane: Cluster,
    nodes: ProcessNodes,
    settings: Mapping[str, Any],
    agent_settings: Mapping[str, Any],
) -> Iterator[Cluster]:
    """The session's control plane with nodes of one process, which give pods each other's names."""
    control_plane.empty()
    control_plane.add_process_nodes(nodes)
    control_plane.start_shuntyard(settings)
    control_plane.start_default_scheduler()
    control_plane.start_agents(agent_settings)
    yield control_plane
    control_plane.empty()


def component(node: str) -> str:
    """Return the name of the process that plays a node."""
    return f"process-nodes-{node}"


def neighbour(node: str) -> Manifest:
    """Return a pod that keeps a node busy, and counts as progressing as it reports no progress."""
    container = {
        "name": "main",
        "image": "python",
        "command": ["python3", "-c", BUSY],
        "resources": {"requests": {"cpu": "20m"}},
    }
    spec = {
        "schedulerName": labels.SCHEDULER_NAME,
        "schedulingGates": [{"name": labels.GATE}],
        "restartPolicy": "Always",  # also after its node was down
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {labels.HOSTNAME_LABEL: node},
        "containers": [container],
    }
    metadata = {"name": f"neighbour-{node}", "labels": {}, "annotations": {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def converging(name: str, **changes: Any) -> Training:
    """Return a training that is converged after some seconds, and has its longest part before it.

    Without noise the growth falls from tick to tick, so that it is converged as soon as can be; and
    to its end, for an agent that comes late (a loss that is constant is never converged).
    """
    given: dict[str, Any] = {
        "steps": 220,
        "steepness": 25.0,
        "noise": 0.0,
        "step_cpu_seconds": 0.01,
        "poll_seconds": 0.2,
    }
    return Training(name, **{**given, **changes})


@dataclass
class Trail:
    """Every version of the objects of one collection, with the wall clock when each was seen."""

    seen: list[tuple[float, Object]] = field(default_factory=list)
    listeners: list[Callable[[Object], None]] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, found: Object) -> None:
        self.seen.append((CLOCK.now(), found))
        for listener in self.listeners:
            listener(found)

    def first(self, check: Callable[[Object], object]) -> float:
        """Return when an object first passed the check."""
        return next(at for at, found in self.seen if check(found))

    def latest(self) -> dict[str, Object]:
        """Return the newest version of each object, by name."""
        return {found["metadata"]["name"]: found for _, found in self.seen}


@asynccontextmanager
async def trail(client: KubeClient, path: str) -> AsyncIterator[Trail]:
    """Yield a trail that grows while the block runs, past restarts of anything but the server."""
    found = Trail()
    task = asyncio.create_task(_follow(client, path, found), name=f"trail of {path}")
    try:
        await found.ready.wait()
        yield found
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _follow(client: KubeClient, path: str, found: Trail) -> None:
    page = json.loads(await client.get(path))
    version = page["metadata"]["resourceVersion"]
    found.ready.set()
    while True:
        params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
        try:
            async for line in client.stream(path, params):
                change = json.loads(line)
                version = change["object"]["metadata"]["resourceVersion"]
                found.add(change["object"])
        except ApiError as error:
            if not transient(error):
                raise
            await asyncio.sleep(0.05)


@dataclass
class TrainingYard(Yard):
    """A running cluster whose agents watch over training jobs."""

    node_names: Sequence[str] = NODES
    migrations: Trail = field(default_factory=Trail)
    jobs: Trail = field(default_factory=Trail)
    pods: Trail = field(default_factory=Trail)

    def files(self, job: str, member: str = "") -> JobFiles:
        """Return the output of a job's trainers."""
        return JobFiles(self.cluster.layout.volume / self.team / job, member)

    async def train(self, training: Training, manifest: Manifest | None = None) -> None:
        """Submit a training: as a Job of its own, or as the manifest that was made of it."""
        directory = self.cluster.layout.volume / self.team / training.name
        await self.submit(manifest or training.job(directory))

    def template(self, training: Training) -> Manifest:
        """Return the template of a training's pods, for owners of other kinds."""
        return training.template(self.cluster.layout.volume / self.team / training.name)

    def neighbour(self, node: str) -> Manifest:
        """Return the pod that is beside a training (`neighbour`)."""
        return neighbour(node)

    async def begin_on(
        self, node: str, training: Training, manifest: Manifest | None = None
    ) -> None:
        """Let a training begin on one node, beside a busy neighbour; then all nodes are open."""
        await self.submit(self.neighbour(node))
        await self.begin_alone_on(node, training, manifest)
        await self.until_bound(f"neighbour-{node}")

    async def begin_alone_on(
        self, node: str, training: Training, manifest: Manifest | None = None
    ) -> None:
        """Let a training begin on one node; then all nodes are open."""
        others = [name for name in self.node_names if name != node]
        await self.cordon(others)
        await self.train(training, manifest)
        await self.until_bound(training.name)
        await self.cordon(others, cordoned=False)

    async def until_phase(self, phase: str, within_seconds: float = PATIENCE_SECONDS) -> Object:
        """Wait until a migration is, or ended, in a phase; return it."""

        def reached() -> Object:
            latest = self.migrations.latest().values()
            found = next((m for m in latest if phase_of(m) == phase), None)
            assert found is not None, self.phases()
            return found

        return await eventually(reached, within_seconds, f"a migration is {phase}")

    def phases(self) -> list[str]:
        """Return the phases of all migrations as they were seen, for messages."""
        return [phase_of(found) for _, found in self.migrations.seen]

    async def until_done(self, job: str, member: str = "") -> None:
        """Wait until a job's training is complete, by its own files."""
        files = self.files(job, member)

        def done() -> bool:
            assert files.done(), self.phases()
            return True

        await eventually(done, PATIENCE_SECONDS, f"{job} is complete")

    async def ledger(self) -> tuple[MigrationEntry, ...]:
        """Return our migrations by the read API."""
        answer = await self.read("/v1/migrations")
        response = msgspec.json.decode(answer, type=api.MigrationsResponse)
        return tuple(entry for entry in response.entries if entry.namespace == self.team)

    async def node_entries(self) -> dict[str, api.NodeEntry]:
        """Return the nodes by the read API, by name."""
        answer = msgspec.json.decode(await self.read("/v1/nodes"), type=api.NodesResponse)
        return {entry.name: entry for entry in answer.entries}

    async def until_nothing_is_kept(self) -> None:
        """Wait until the extender counts only the bound pods on the nodes, and no reservation."""

        async def even() -> bool:
            bound = requested(await self.items(paths.PODS))
            books = await self.node_entries()
            kept = {name: (entry.used.get("cpu", 0), entry.seats) for name, entry in books.items()}
            assert kept == {name: (bound.get(name, 0), 0) for name in kept}
            return True

        await eventually(even, PATIENCE_SECONDS, "nothing is kept")


def phase_of(migration: Object) -> str:
    """Return the phase of a Migration object; empty before it has one."""
    return str((migration.get("status") or {}).get("phase", ""))


def requested(pods: Sequence[Object]) -> dict[str, int]:
    """Return the milli-CPU that bound pods which have not ended request, by node."""
    sums: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node is None or pod["status"].get("phase") in {"Succeeded", "Failed"}:
            continue
        for container in pod["spec"]["containers"]:
            cpu = (container.get("resources") or {}).get("requests", {}).get("cpu", "0")
            sums[node] = sums.get(node, 0) + quantity.base_units("cpu", cpu)
    return sums


def two_at_once(history: History, is_it: Callable[[Object], bool]) -> list[tuple[str, ...]]:
    """Return pods that had a node at one time and had not ended; ``is_it``: of one pod's place."""
    living: dict[str, str] = {}
    found = []
    for event in history.events:
        if not is_it(event.pod):
            continue
        if event.gone or event.pod["status"].get("phase") in {"Succeeded", "Failed"}:
            living.pop(event.uid, None)
        elif watching.node_of(event.pod) is not None:
            living[event.uid] = event.pod["metadata"]["name"]
            if len(living) > 1:
                found.append(tuple(living.values()))
    return found


@asynccontextmanager
async def lent(cluster: Cluster, nodes: Sequence[str] = NODES) -> AsyncIterator[TrainingYard]:
    """Yield the cluster to one test; afterwards its jobs and their migrations are gone."""
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        yard = TrainingYard(cluster, client, History(), node_names=nodes)
        async with readied(yard):
            yield yard


@asynccontextmanager
async def readied(yard: TrainingYard) -> AsyncIterator[None]:
    """Give a yard its team, open all nodes and watch the team's objects; clean up afterwards."""
    yard.team = await yard.namespace("team")
    await yard.client.post(paths.namespaced(_CONFIG_MAPS, yard.team), trainings.program())
    await yard.cordon(yard.node_names, cordoned=False)
    try:
        async with recording(yard.client) as yard.history, trails(yard):
            yield
    finally:
        await _clear(yard)


@asynccontextmanager
async def trails(yard: TrainingYard) -> AsyncIterator[None]:
    """Watch the team's namespace."""
    of_jobs = paths.namespaced(paths.JOBS, yard.team)
    async with (
        trail(yard.client, paths.migrations(yard.team)) as yard.migrations,
        trail(yard.client, of_jobs) as yard.jobs,
        trail(yard.client, paths.pods(yard.team)) as yard.pods,
    ):
        yield


async def _clear(yard: TrainingYard) -> None:
    for kind in (paths.JOBS, paths.STATEFULSETS, paths.PODS, paths.MIGRATIONS):
        with contextlib.suppress(NotFoundError):
            await yard.client.delete(
                paths.namespaced(kind, yard.team), grace_seconds=0, propagation="Background"
            )

    async def gone() -> bool:
        return not await yard.items(paths.pods(yard.team))

    await eventually(gone, PATIENCE_SECONDS, "the pods are gone")
