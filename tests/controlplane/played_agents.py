"""Simulated agents and trainers, for nodes whose pods do nothing.

Each agent has a real token, bound to a real pod of its node, and reports to the real listener over
TLS. A trainer takes steps while its pod runs, saves at its agent's request, and holds.
"""

import asyncio
import contextlib
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from devcluster.cluster import Cluster
from shared import labels, wire
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError, ApiError, ServerError, transient
from shared.model import Uid
from shared.progress import (
    Category,
    Checkpoint,
    CheckpointPhase,
    PodReport,
    Progress,
    Span,
    Use,
)
from shared.system_clock import SystemClock
from shared.wire import CheckpointRequest, HeartbeatAnswer
from tests.fakes.eventually import eventually

NAMESPACE: Final = "shuntyard-agents"
ACCOUNT: Final = "shuntyard-agent"
ACCOUNTS: Final = "/api/v1/serviceaccounts"
BEAT_SECONDS: Final = 0.3
ANSWER_SECONDS: Final = 2.0
"""How long a report waits for a frozen replica."""
FIRST: Final = "0"
"""Index of the pod of an indexed Job that is asked to save."""
CLOCK: Final = SystemClock()
JSON: Final = {"Content-Type": "application/json"}


@dataclass
class Trainer:
    """The training program of one pod; ``saved`` is what its job's directory holds."""

    directory: str
    step: int
    resumed_step: int | None
    request: str = ""
    phase: CheckpointPhase = CheckpointPhase.NONE

    @property
    def holds(self) -> bool:
        return self.phase is CheckpointPhase.ACKED


@dataclass
class PlayedAgents:
    """All agents of a cluster.

    Attributes:
        beat_seconds: Pause between two rounds of reports.
        busy_only: Only the agents of nodes with running pods report.
        converged: Directories (label ``directory`` of the pods) whose trainers count as converged.
        size_of: How many trainers of a directory wait for one another at each step.
        total_steps: Of trainers that know how many there are, and use a core, by directory.
        saved: The step each directory holds.
        acks: How many checkpoints were acknowledged.
        steps: How often each step of a directory was taken, by the pod that is asked to save: of
            an indexed Job the first one.
        most: The most trainers of one directory that ever ran at the same time.
    """

    cluster: Cluster
    client: KubeClient
    team: str
    nodes: tuple[str, ...]
    beat_seconds: float = BEAT_SECONDS
    busy_only: bool = False
    converged: set[str] = field(default_factory=set)
    size_of: Callable[[str], int] = lambda _directory: 1
    total_steps: dict[str, int] = field(default_factory=dict)
    saved: dict[str, int] = field(default_factory=dict)
    acks: int = 0
    steps: Counter[tuple[str, int]] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    trainers: dict[str, Trainer] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)
    _sequence: int = 0

    @contextlib.asynccontextmanager
    async def playing(self) -> AsyncIterator["PlayedAgents"]:
        await self._enrol()
        context = ssl.create_default_context(cafile=self.cluster.layout.authority)
        connector = aiohttp.TCPConnector(ssl=context)
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            task = asyncio.create_task(self._play(session), name="played agents")
            try:
                yield self
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def doubled(self) -> list[tuple[str, int]]:
        """Steps of training that were done more than once."""
        return [one for one, count in self.steps.items() if count > 1]

    async def _enrol(self) -> None:
        """Make an agent of every node, and ask for its token as a kubelet does."""
        for path, name in (
            (paths.NAMESPACES, NAMESPACE),
            (paths.namespaced(ACCOUNTS, NAMESPACE), ACCOUNT),
        ):
            with contextlib.suppress(AlreadyExistsError):  # of the test before
                await self.client.post(path, {"metadata": {"name": name}})
        for node in self.nodes:
            await self.enrol(node)

    async def enrol(self, node: str) -> None:
        """Make the pod of the agent of one node, also after the node was made anew."""
        spec = {
            "nodeName": node,
            "serviceAccountName": ACCOUNT,
            "containers": [{"name": "agent", "image": "none"}],
            "tolerations": [{"operator": "Exists"}],
        }
        body = {"metadata": {"generateName": "agent-"}, "spec": spec}
        meta = await eventually(lambda: self._made(body), why=f"node {node} has an agent")
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        wanted = {"audiences": ["shuntyard-extender"], "boundObjectRef": bound}
        answer = await self.client.post(
            paths.namespaced(ACCOUNTS, NAMESPACE, ACCOUNT, "token"), {"spec": wanted}
        )
        self._tokens[node] = json.loads(answer)["status"]["token"]

    async def _made(self, body: Any) -> dict[str, Any]:
        """Create a pod; webhooks of an operator that was just started do not answer yet."""
        try:
            made = await self.client.post(paths.pods(NAMESPACE), body)
        except ServerError as error:
            raise AssertionError(error) from error
        return dict(json.loads(made)["metadata"])

    async def _play(self, session: aiohttp.ClientSession) -> None:
        urls = [f"{one}/v1/heartbeats" for one in self.cluster.agents_urls()]
        while True:
            try:
                pods = await self._running()
            except ApiError as error:  # the API server was killed
                if not transient(error):
                    raise
            else:
                await self._beat(pods, session, urls)
            await asyncio.sleep(self.beat_seconds)

    async def _beat(
        self, pods: list[dict[str, Any]], session: aiohttp.ClientSession, urls: Iterable[str]
    ) -> None:
        """Let every trainer take a step, and the agents report."""
        self._train(pods)
        self._sequence += 1
        for node, token in list(self._tokens.items()):
            here = [p for p in pods if p["spec"]["nodeName"] == node]
            if self.busy_only and not here:
                continue
            head = {"Authorization": f"Bearer {token}", **JSON}
            body = wire.encode(self._heartbeat(node, here))
            async with asyncio.TaskGroup() as group:
                for url in urls:
                    group.create_task(self._report(session, url, body, head))

    async def _report(
        self, session: aiohttp.ClientSession, url: str, body: bytes, head: dict[str, str]
    ) -> None:
        """Report to one replica, and obey if it leads; one that is down gets the next report."""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.post(url, data=body, headers=head) as response:
                if response.status == 200:
                    answer = wire.decode(HeartbeatAnswer, await response.read())
                    self._obey(answer.commands)

    async def _running(self) -> list[dict[str, Any]]:
        found = json.loads(await self.client.get(paths.pods(self.team)))["items"]
        return [p for p in found if p["status"].get("phase") == "Running"]

    def _train(self, pods: Iterable[dict[str, Any]]) -> None:
        marks = {p["metadata"]["uid"]: p["metadata"]["labels"] for p in pods}
        here = {uid: theirs["directory"] for uid, theirs in marks.items()}
        for uid in self.trainers.keys() - here.keys():
            del self.trainers[uid]
        counts = Counter(here.values())
        for directory, count in counts.items():
            self.most[directory] = max(self.most[directory], count)
        for uid, directory in here.items():
            saved = self.saved.get(directory)
            one = self.trainers.setdefault(uid, Trainer(directory, saved or 0, saved))
            if not one.holds and counts[directory] >= self.size_of(directory):
                one.step += 1
                if marks[uid].get(labels.JOB_INDEX_LABEL, FIRST) == FIRST:
                    self.steps[directory, one.step] += 1

    def _heartbeat(self, node: str, pods: Iterable[dict[str, Any]]) -> wire.Heartbeat:
        uids = [p["metadata"]["uid"] for p in pods]
        return wire.Heartbeat(
            node=node,
            boot="played",
            sequence=self._sequence,
            sent_at=CLOCK.now(),
            full=True,
            use=Use(cpu_cores=1.0 if uids else 0.0),
            cpu_cores=1.0,
            pods=tuple(self._body(uid) for uid in uids if uid in self.trainers),
        )

    def _body(self, uid: str) -> PodReport:
        one, now = self.trainers[uid], CLOCK.now()
        converged = one.directory in self.converged
        total = self.total_steps.get(one.directory)
        progress = Progress(
            metric="loss",
            source="jsonl",
            updated_at=now,
            step=one.step,
            total_steps=total,
            category=Category.CONVERGED if converged else Category.PROGRESSING,
            converged_at=1.0 if converged else None,
            remaining_seconds=Span(value=1e4, low=1e4, high=1e4),
        )
        checkpoint = Checkpoint(
            step=self.saved.get(one.directory),
            save_seconds=0.1,
            phase=one.phase,
            request=one.request,
            acked_step=one.step if one.holds else None,
            resumed_step=one.resumed_step,
        )
        use = Use(cpu_cores=1.0) if total else None
        return PodReport(uid=Uid(uid), progress=progress, checkpoint=checkpoint, use=use)

    def _obey(self, commands: Iterable[wire.Command]) -> None:
        for command in commands:
            one = self.trainers.get(Uid(command.uid))
            if one is None:
                continue
            if not isinstance(command, CheckpointRequest):
                one.phase = CheckpointPhase.RELEASED
            elif command.id != one.request:
                one.request, one.phase = command.id, CheckpointPhase.ACKED
                self.saved[one.directory] = one.step
                self.acks += 1
