"""Training on one busy node whose CPU is divided by requests, as the kernel does it.

Pods run from the start; a step costs one core-second of a fast clock. An agent reports for the
node. Only the extender changes a request.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from extender.core.agents.heartbeats import NodeHeartbeat
from extender.writers.decision_log.recorder import Recorder
from shared import labels, quantity
from shared.kube import paths
from shared.model import NodeName, Uid
from shared.progress import PodReport, Progress, Span, Use
from shared.system_clock import SystemClock
from tests.component.shell import Extender, extender, node, pod
from tests.fakes.kube import FakeKube

CLOCK = SystemClock()
TICK_SECONDS = 0.01
CORES = 2.0
SPEED = 100.0
"""Steps of a core in a second: long jobs for short tests."""
QUICK: dict[str, Any] = {
    "cpu_weights": {"enabled": True, "interval_seconds": 1.0},
    "migration": {"policy": "none"},
    "agent_reports": {"stale_seconds": 5.0},
}


@dataclass
class Weighing:
    """The cluster around the extender.

    Attributes:
        total_steps: Of each pod, by name.
        steps: Done so far.
        silent: The agent does not report.
        most_milli: The largest sum of requests ever seen.
    """

    fake: FakeKube
    total_steps: dict[str, int]
    steps: dict[str, float] = field(default_factory=dict)
    silent: bool = False
    most_milli: int = 0
    extender: Extender | None = None
    _sequence: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.fake.put(paths.NODES, node("a"))
        for name in self.total_steps:
            made = pod(name, nodeName="a", schedulingGates=[])
            made["status"] = {"phase": "Running", "qosClass": "Burstable"}
            self.fake.put(paths.PODS, made)
            self.steps[name] = 0.0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Weighing"]:
        async def live() -> None:
            at = time.monotonic()
            while True:
                await asyncio.sleep(TICK_SECONDS)
                before, at = at, time.monotonic()
                self._train(at - before)
                self._report()

        task = asyncio.create_task(live(), name="weighing")
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def requests(self) -> dict[str, int]:
        """Milli-CPU that each pod asks for."""
        return {p["metadata"]["name"]: milli(p) for p in self.fake.objects(paths.PODS)}

    def notes(self) -> dict[str, str]:
        """The annotations of the pods with a record."""
        found = {
            p["metadata"]["name"]: p["metadata"].get("annotations", {}).get(labels.CPU_GIVEN)
            for p in self.fake.objects(paths.PODS)
        }
        return {name: note for name, note in found.items() if note}

    def restored(self) -> bool:
        return set(self.requests().values()) == {1000} and not self.notes()

    def weighed(self) -> bool:
        """The pod with the least work left has the largest request."""
        requests = self.requests()
        by_work = sorted(requests, key=lambda name: self.total_steps[name])
        return [requests[name] for name in by_work] == sorted(requests.values(), reverse=True) and (
            requests[by_work[0]] > 1000 > requests[by_work[-1]]
        )

    def end(self, name: str) -> None:
        found = self.fake.object(paths.PODS, name, "default")
        assert found is not None
        self.fake.put(paths.PODS, {**found, "status": {**found["status"], "phase": "Succeeded"}})

    def _alive(self) -> list[dict[str, Any]]:
        found = self.fake.objects(paths.PODS)
        return [p for p in found if p["status"]["phase"] == "Running"]

    def _train(self, seconds: float) -> None:
        alive = self._alive()
        total = sum(map(milli, alive))
        self.most_milli = max(self.most_milli, total)
        for found in alive:
            share = CORES * milli(found) / total
            self.steps[found["metadata"]["name"]] += share * seconds * SPEED

    def _report(self) -> None:
        if self.silent or self.extender is None or self.extender.task.done():
            return
        loops = self.extender.parts.loops
        recorder = next(loop for loop in loops if isinstance(loop, Recorder))
        alive = self._alive()
        total = sum(map(milli, alive))
        pods = tuple(self._pod(p, CORES * milli(p) / total) for p in alive)
        heartbeat = NodeHeartbeat(
            node=NodeName("a"),
            boot="boot",
            sequence=next(self._sequence),
            sent_at=CLOCK.now(),
            received_at=time.monotonic(),
            full=True,
            cpu_cores=CORES,
            pods=pods,
        )
        recorder.report(heartbeat)

    def _pod(self, found: dict[str, Any], cores: float) -> PodReport:
        name = found["metadata"]["name"]
        step, total = int(self.steps[name]), self.total_steps[name]
        left = max(0.0, (total - step) / (SPEED * CORES / len(self.total_steps)))
        progress = Progress(
            metric="loss",
            source="jsonl",
            updated_at=CLOCK.now(),
            step=step,
            total_steps=total,
            remaining_seconds=Span(left, left, left),
        )
        uid = Uid(found["metadata"]["uid"])
        return PodReport(uid=uid, progress=progress, use=Use(cpu_cores=cores))


@contextlib.asynccontextmanager
async def weighing_extender(world: Weighing, **changes: Any) -> AsyncIterator[Extender]:
    """Run an extender that the world's agent reports to."""
    sections = {name: {**values, **changes.pop(name, {})} for name, values in QUICK.items()}
    async with extender(world.fake, **sections, **changes) as running:
        world.extender = running
        yield running


def milli(found: dict[str, Any]) -> int:
    """Milli-CPU that a pod asks for."""
    text = found["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return quantity.base_units("cpu", text)
