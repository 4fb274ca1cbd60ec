"""Nodes that leave and die, and the training jobs that run on them meanwhile."""

import asyncio
import contextlib
import math
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from bench.specon.files import Ack, JobFiles
from bench.specon.jobs import Manifest, Training
from shared import labels
from shared.kube import paths
from shared.kube.errors import ApiError
from tests.controlplane.faults import sending
from tests.controlplane.training_yard import TrainingYard, component
from tests.controlplane.watching import Object, job_of, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

MOST: Final = 5
"""Jobs at one time; the room left over takes those of one node."""
PATIENCE_SECONDS: Final = 120.0
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
SPOT: Final = "aws-node-termination-handler/spot-itn"
MAINTENANCE: Final = "cloud.google.com/active-node-maintenance"
FROZEN_SECONDS: Final = (1.0, 12.0)
"""A kubelet that is silent so long, shorter and longer than the node's Lease."""
TURNED_ROUND: Final = 0.3
"""Part of the announcements that are taken back at once, while the jobs save."""


@dataclass
class Struck:
    """One training of the storm.

    Attributes:
        members: Names of its pods' directories; one empty name for a single pod.
        died: Whether a node under it died, so that steps since its last checkpoint come again.
        acks: All its acknowledged checkpoints, by member and request.
    """

    training: Training
    members: tuple[str, ...]
    died: bool = False
    acks: dict[tuple[str, str], Ack] = field(default_factory=dict)


@dataclass
class Trainings:
    """Jobs that come while there is room for another; each trains to its end.

    Attributes:
        here: Those that are not complete.
        all: All that came, by name.
    """

    yard: TrainingYard
    rng: random.Random
    here: dict[str, Struck] = field(default_factory=dict)
    all: dict[str, Struck] = field(default_factory=dict)

    async def fill(self) -> None:
        """Note what is complete, and submit others unless there are many."""
        self._note_complete()
        while len(self.here) < MOST:
            await self._submit()

    async def until_complete(self) -> list[str]:
        """Wait until every training is complete; return those that are not."""

        def complete() -> bool:
            self._note_complete()
            return not self.here

        with contextlib.suppress(AssertionError):
            await eventually(complete, PATIENCE_SECONDS * 2, "all trainings are complete")
        return sorted(self.here)

    def files(self, one: Struck, member: str) -> JobFiles:
        return self.yard.files(one.training.name, member)

    def died_with(self, jobs: set[str]) -> None:
        """Note that a node died on which these jobs had pods."""
        for job in jobs:
            if (one := self.all.get(job)) is not None:
                one.died = True

    async def _submit(self) -> None:
        size = self.rng.choice((1, 1, 2))
        name = f"it-{len(self.all)}"
        training = Training(
            name,
            steps=self.rng.randint(150, 500),
            step_cpu_seconds=0.02,
            save_seconds=self.rng.choice((0.0, 0.3, 1.0)),
            save_every_seconds=self.rng.choice((None, 2.0)),
            poll_seconds=0.2,
            cpu="60m",
            index_label=labels.JOB_INDEX_LABEL if size > 1 else "",
        )
        members = tuple(map(str, range(size))) if size > 1 else ("",)
        self.here[name] = self.all[name] = Struck(training, members)
        directory = self.yard.cluster.layout.volume / self.yard.team / name
        await self.yard.train(training, _manifest(training, size, directory))

    def _note_complete(self) -> None:
        for name, one in list(self.here.items()):
            self._keep_acks(one)
            if all(self.files(one, member).done() for member in one.members):
                del self.here[name]

    def _keep_acks(self, one: Struck) -> None:
        """A trainer removes old answers."""
        for member in one.members:
            for ack in self.files(one, member).acks():
                one.acks[member, ack.request] = ack


def _manifest(training: Training, size: int, directory: Path) -> Manifest:
    made = training.job(directory)
    spec: dict[str, Any] = {**made["spec"], "completions": size, "parallelism": size}
    spec |= {"completionMode": "Indexed", "backoffLimit": 1000}
    return {**made, "spec": spec}


Kinds = Mapping[str, Callable[[str], Awaitable[None]]]
"""What may happen to a node, by name."""


@dataclass
class Announcements:
    """Announcements that a node leaves; afterwards the node is as before.

    Attributes:
        yard: Its history knows the pods.
        nodes: Names of the nodes.
        count: How often each was done.
        left: How many jobs left a node because of it.
    """

    yard: Yard
    nodes: Sequence[str]
    rng: random.Random
    count: Counter[str] = field(default_factory=Counter)
    left: int = 0
    _struck: set[str] = field(default_factory=set)

    async def strike(self) -> None:
        """Do one, chosen at random, at a node on which jobs run, and no other strike is."""
        node = await eventually(self._busy_node, PATIENCE_SECONDS, "a job runs")
        self._struck.add(node)
        kinds = self.kinds()
        name = self.rng.choice(sorted(kinds))
        self.count[name] += 1
        await kinds[name](node)
        self._struck.discard(node)

    def kinds(self) -> Kinds:
        """Return what may happen."""
        taint = {"key": SPOT, "value": "true", "effect": "NoSchedule"}
        announcements: Mapping[str, tuple[Any, Any]] = {
            "cordon": ({"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}),
            "spot notice": ({"spec": {"taints": [taint]}}, {"spec": {"taints": None}}),
            "maintenance label": (_labelled("ONGOING"), _labelled(None)),
            "our annotation": (_annotated("soon"), _annotated(None)),
        }
        return {
            name: lambda node, pair=pair: self._announce(node, *pair)
            for name, pair in announcements.items()
        }

    def jobs_on(self, node: str) -> set[str]:
        """Return the jobs of the storm that have a living pod on a node."""
        on_it = (p for p in self.yard.history.pods.values() if node_of(p) == node and _lives(p))
        jobs = (job_of(pod).partition("/") for pod in on_it)
        return {job for team, _, job in jobs if team == self.yard.team}

    def _busy_node(self) -> str | None:
        busy = [node for node in self.nodes if node not in self._struck and self.jobs_on(node)]
        return self.rng.choice(busy) if busy else None

    async def _announce(self, node: str, body: Any, back: Any) -> None:
        here = self.jobs_on(node)
        await self._patch(node, body)
        if self.rng.random() < TURNED_ROUND:
            await asyncio.sleep(self.rng.uniform(0.0, 2.0))
        else:
            await self._until_left(node)
            self.left += len(here)
        await self._patch(node, back)

    async def _patch(self, node: str, body: Any) -> None:
        """Write it; the API server may just have been killed."""

        async def written() -> bool:
            try:
                return bool(await self.yard.client.patch(paths.node(node), body))
            except ApiError as error:
                raise AssertionError(error) from error

        await eventually(written, PATIENCE_SECONDS, f"{node} is changed")

    def working_since(self) -> float:
        """Return from when all programs work, in monotonic seconds."""
        return 0.0

    async def _until_left(self, node: str) -> None:
        began = time.monotonic()

        def left_or_late() -> bool:
            late = time.monotonic() - max(began, self.working_since()) >= PATIENCE_SECONDS
            return late or not self.jobs_on(node)

        await eventually(left_or_late, math.inf)
        if self.jobs_on(node):
            here = self.jobs_on(node)
            events = await self.yard.items(paths.namespaced(paths.EVENTS, self.yard.team))
            notes = {
                (event["reason"], event.get("note", ""))
                for event in events
                if event["regarding"]["name"].startswith(tuple(here))
            }
            raise AssertionError(node, sorted(here), sorted(notes))


@dataclass(kw_only=True)
class Drains(Announcements):
    """Announcements, and deaths of the kubelet under real trainings."""

    trainings: Trainings

    @override
    def kinds(self) -> Kinds:
        return {
            **super().kinds(),
            "death behind a fence": self._die,
            "silent kubelet": self._freeze,
        }

    async def _die(self, node: str) -> None:
        """Stop the kubelet, not the trainers; fence the node; the node returns later."""
        process = component(node)
        sending(self.yard.cluster, process, signal.SIGSTOP)()
        try:
            await eventually(lambda: self._ready(node, "Unknown"), PATIENCE_SECONDS, "it is lost")
            self.trainings.died_with(self.jobs_on(node))
            taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
            await self._taints(node, lambda taints: [*taints, taint])
            await eventually(lambda: not self.jobs_on(node), PATIENCE_SECONDS, "it is given up")
            await asyncio.sleep(self.rng.uniform(0.0, 3.0))  # both copies train
        finally:
            sending(self.yard.cluster, process, signal.SIGCONT)()
        await eventually(lambda: self._ready(node, "True"), PATIENCE_SECONDS, "it is back")
        await self._taints(node, lambda all_: [t for t in all_ if t["key"] != OUT_OF_SERVICE])

    async def _freeze(self, node: str) -> None:
        """Stop the kubelet for a while, without a fence: nothing may start twice."""
        process = component(node)
        sending(self.yard.cluster, process, signal.SIGSTOP)()
        try:
            await asyncio.sleep(self.rng.uniform(*FROZEN_SECONDS))
        finally:
            sending(self.yard.cluster, process, signal.SIGCONT)()
        await eventually(lambda: self._ready(node, "True"), PATIENCE_SECONDS, "it is back")

    async def _taints(self, node: str, change: Callable[[list[Any]], list[Any]]) -> None:
        async def changed() -> bool:
            found = await self._node(node)
            version = found["metadata"]["resourceVersion"]
            taints = change(found["spec"].get("taints") or [])
            body = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints}}
            try:
                await self.yard.client.patch(paths.node(node), body)
            except ApiError:  # the node controller wrote meanwhile
                return False
            return True

        await eventually(changed, PATIENCE_SECONDS, f"{node} has other taints")

    async def _ready(self, node: str, wanted: str) -> bool:
        conditions = (await self._node(node))["status"]["conditions"]
        return any(c["type"] == "Ready" and c["status"] == wanted for c in conditions)

    async def _node(self, name: str) -> Object:
        found = await self.yard.items(paths.NODES)
        return next(node for node in found if node["metadata"]["name"] == name)


def _labelled(value: str | None) -> Any:
    return {"metadata": {"labels": {MAINTENANCE: value}}}


def _annotated(value: str | None) -> Any:
    return {"metadata": {"annotations": {labels.LEAVING: value}}}


def _lives(pod: Object) -> bool:
    return pod["status"].get("phase") not in {"Succeeded", "Failed"}
