"""The live loops and the simulator, on the same small trace: the same nodes, the same order.

The live side runs for real against the fake API server; only the time of day is the trace's. Its
jobs end when the simulated ones did, so that both schedulers decide at the same moments.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from extender.controllers.queue import QueueController
from extender.core.cluster.commands import ReleaseGang
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from shared import labels
from shared.kube import paths
from shared.model import Pod
from shared.system_clock import SystemClock
from simulator.cluster import objects
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.events import EPOCH_SECONDS
from simulator.cluster.records import Run
from simulator.cluster.run import simulate
from simulator.workload import Job, Machine, Workload
from tests.component.shell import Extender, MiniScheduler, extender, lease
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

GIBI = 2**30
CPU = {"cpu": 1000, "memory": GIBI}
BUCKETS = {labels.AFFINITY: "ps,worker", labels.ANTI_AFFINITY: "ps"}


@dataclass(frozen=True)
class Fixed:
    """As many workers as it has, at one unit of work a second each."""

    def rate(self, workers: int, nodes: int) -> float:
        return float(workers)


def job(name: str, at: float, workers: int, seconds: float, **fields: Any) -> Job:
    return Job(
        name=name,
        submitted_at=at,
        workers=workers,
        worker=fields.pop("worker", CPU),
        work=workers * seconds,
        speed=Fixed(),
        expected_seconds=fields.pop("expected_seconds", seconds),
        **fields,
    )


def trace() -> Workload:
    """Two machines of 8 CPUs and one of 4; a comment beside each job gives its purpose."""
    wide = {"cpu": 2000, "memory": GIBI}
    return Workload(
        jobs=(
            job("buckets", 0, 4, 100, servers=2, server=CPU, annotations=BUCKETS),
            job("beside", 0, 4, 40),
            job("alone", 0, 2, 300, worker=wide),
            job("fills", 0, 2, 80, worker=wide),
            job("short-1", 5, 2, 20, expected_seconds=None),
            # all is full: who comes first?
            job("modest", 10, 4, 50, class_value=-1, namespace="modest", user_priority=1),
            job("urgent", 10, 4, 50, class_value=1000, namespace="urgent", user_priority=9),
            # the backfill head: it waits at most half a minute
            job("whole", 12, 8, 60, worker=wide, max_wait_seconds=30),
            # gone before it starts, known by the run before: may be backfilled
            job("short-2", 45, 2, 20, expected_seconds=None),
            job("late", 46, 2, 500),
            job("last", 130, 2, 30),
        ),
        machines=tuple(
            Machine(name, {"cpu": cpus * 1000, "memory": 64 * GIBI})
            for name, cpus in (("a", 8), ("b", 8), ("c", 4))
        ),
    )


@dataclass
class Watched(EngineDecider):
    """Records when it was called, and for which job room was kept."""

    moments: list[float] = field(default_factory=list)
    holders: set[str] = field(default_factory=set)

    def decide(self, view):
        actions = super().decide(view)
        self.moments.append(view.now)
        if self.last is not None and self.last.backfill_head is not None:
            self.holders.add(objects.job_name(self.last.backfill_head.job))
        return actions


def simulated(order: Order = Order.CPS) -> tuple[Run, Watched]:
    decider = Watched(CoreParameters(order=order))
    return simulate(trace(), decider), decider


def test_the_trace_needs_more_than_first_come_first_served():
    run, decider = simulated()
    started = {record.name: record.started_at for record in run.jobs}
    assert len(run.completed) == len(run.jobs)
    assert started["urgent"] < started["modest"]
    assert decider.holders == {"late", "modest", "urgent", "whole"}
    assert started["short-2"] < started["whole"] < started["late"]
    assert len({node for placed in run.placements for node in placed.workers}) == 3
    assert run.placements != simulated(Order.CREATION)[0].placements


@pytest.mark.parametrize("order", Order)
async def test_the_live_loops_and_the_simulator_place_alike(order):
    run, decider = simulated(order)
    async with FakeKube.running() as fake, lease(fake):
        life = TraceLife(fake, trace(), run)
        async with (
            extender(fake, queue={**QUEUE, "order": order.value}, gang=PATIENT) as running,
            MiniScheduler(fake, running.scheduler_url).running(),
        ):
            await life.play(running, sorted(set(decider.moments)))
        assert life.nodes() == nodes_of(run)
        assert life.order() == [placed.job for placed in run.placements]


QUEUE = {"settle_seconds": 0.01, "interval_seconds": 0.1}
PATIENT = {"bind_wait_seconds": 60.0, "bind_burst_seconds": 60.0}
"""Do nothing: the simulator has no calls that come too late."""


def nodes_of(run: Run) -> dict[str, str]:
    """Node of each pod by name."""
    found: dict[str, str] = {}
    for placed in run.placements:
        for role, nodes in (("worker", placed.workers), ("ps", placed.servers)):
            found |= {objects.pod_name(placed.job, role, i): n for i, n in enumerate(nodes)}
    return found


class TraceClock(SystemClock):
    """The trace's time of day; how long something takes is real."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return EPOCH_SECONDS + self.at


class TraceLife:
    """Users who submit the trace's jobs, and kubelets on which they end as they did in ``run``."""

    def __init__(self, fake: FakeKube, workload: Workload, run: Run) -> None:
        self.fake = fake
        self.workload = workload
        self.run = run
        self.clock = TraceClock()
        self.bound: dict[str, str] = {}
        for machine in workload.machines:
            fake.put(paths.NODES, _node(machine))
        for namespace in objects.namespaces(workload.jobs):
            notes = {"name": namespace.name, "annotations": dict(namespace.annotations)}
            fake.put("/api/v1/namespaces", {"metadata": notes})

    async def play(self, running: Extender, moments: Sequence[float]) -> None:
        assert running.parts is not None
        (schedule,) = (one for one in running.parts.loops if isinstance(one, QueueController))
        schedule.context = replace(schedule.context, clock=self.clock)
        before = -1.0
        for at in moments:
            self._happen(before, at)
            await self._rest(schedule)
            self._note()
            before = at

    def nodes(self) -> dict[str, str]:
        """Node of each pod that was ever bound."""
        return self.bound

    def order(self) -> list[str]:
        """Jobs in the order in which the gates of their first pods were taken away."""
        patched = (call for call in self.fake.calls if call.verb == "patch" and _releases(call))
        return list(dict.fromkeys(call.name.rsplit("-", 2)[0] for call in patched))

    def _happen(self, before: float, at: float) -> None:
        """Submit all jobs of a moment at once: no cycle sees half of them."""
        self.clock.at = at
        self.fake.actions.now = EPOCH_SECONDS + at
        ended = {
            record.name
            for record in self.run.completed
            if record.completed_at is not None and before < record.completed_at <= at
        }
        for found in self.fake.objects(paths.PODS):
            if found["metadata"]["labels"][labels.JOB] in ended:
                status = {**found["status"], "phase": "Succeeded"}
                self.fake.put(paths.PODS, {**found, "status": status})
        for number, one in enumerate(self.workload.jobs):
            if before < one.submitted_at <= at:
                for pod in objects.pods(one, number):
                    self.fake.put(paths.PODS, _manifest(pod))

    async def _rest(self, schedule: QueueController) -> None:
        """Wait until two cycles in a row saw everything and released nothing."""
        quiet: list[object] = []

        def rests() -> bool:
            last = schedule.last
            if last is None or not self._seen(schedule) or _released(last.commands):
                quiet.clear()
            elif not quiet or quiet[-1] is not last:
                quiet.append(last)
                schedule.changed.set()  # it looks every tenth of a second by itself
            return len(quiet) > 2

        await eventually(rests)

    def _seen(self, schedule: QueueController) -> bool:
        """True if the watch has every pod as it is, and no pod is being bound."""
        known = schedule.context.recorder.store.snapshot().pods
        live = {
            f"{p['metadata']['namespace']}/{p['metadata']['name']}": p
            for p in self.fake.objects(paths.PODS)
        }
        return known.keys() == live.keys() and all(
            known[key].resource_version == p["metadata"]["resourceVersion"]
            and (p["spec"].get("schedulingGates") or p["spec"].get("nodeName"))
            for key, p in live.items()
        )

    def _note(self) -> None:
        pods = self.fake.objects(paths.PODS)
        self.bound |= {
            p["metadata"]["name"]: node for p in pods if (node := p["spec"].get("nodeName"))
        }


def _released(commands: Sequence[object]) -> list[object]:
    return [one for one in commands if isinstance(one, ReleaseGang)]


def _releases(call: Any) -> bool:
    return call.resource == "pods" and "schedulingGates" in str(call.body)


def _node(machine: Machine) -> dict[str, Any]:
    amounts = {"pods": str(objects.MOST_PODS)}
    amounts |= {name: _amount(name, amount) for name, amount in machine.allocatable.items()}
    return {
        "metadata": {"name": machine.name, "labels": {labels.HOSTNAME_LABEL: machine.name}},
        "spec": {},
        "status": {"allocatable": amounts},
    }


def _manifest(pod: Pod) -> dict[str, Any]:
    requests = {n: _amount(n, amount) for n, amount in pod.shape.requests if n != "pods"}
    container = {"name": "main", "image": "x", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "labels": dict(pod.labels),
            "annotations": dict(pod.annotations),
        },
        "spec": {
            "schedulerName": pod.scheduler_name,
            "schedulingGates": [{"name": gate} for gate in pod.gates],
            "containers": [container],
            "priority": pod.priority,
        },
        "status": {"phase": "Pending"},
    }


def _amount(name: str, amount: int) -> str:
    return f"{amount}m" if name == "cpu" else str(amount)
