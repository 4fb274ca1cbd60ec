"""A pod whose CPU request is changed in place runs with another share of its node's budget."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.process_node import cgroups, cpu_budget, status
from devcluster.process_node.cgroups import CgroupBudget
from devcluster.process_node.cpu_budget import CpuBudget, share_cores
from devcluster.process_node.slices import SliceBudget
from devcluster.process_node.spec import PodObject, Resources
from devcluster.process_node.status import ContainerRecord, PodRecord, Running
from shared import labels
from shared.system_clock import SystemClock
from tests.fakes.eventually import eventually
from tests.unit.process_node.pods import container, pod
from tests.unit.process_node.test_machine import WrittenTree
from tests.unit.processor_time import cpu_seconds

BUDGET_CORES = 0.1
"""So little that a machine busy with other tests can still give it."""
BUSY = """
import os, sys
for path in sys.argv[1:]:
    open(path, "w").write(str(os.getpid()))
while True:
    pass
"""


def resized(cpu: str | int | None, note: str = "main=500m", **fields: Any) -> PodObject:
    requests = {} if cpu is None else {"cpu": cpu}
    one = container(resources={"requests": requests, "limits": {"cpu": "4"}}, **fields)
    return pod(one, meta={"annotations": {labels.CPU_GIVEN: note}} if note else {})


WEIGHTS: dict[str, tuple[PodObject, float]] = {
    "never resized": (resized("500m", ""), 1.0),
    "never resized, and asks for more than others": (resized("4", ""), 1.0),
    "noted and not changed yet": (resized("500m"), 1.0),
    "three times what it was given": (resized("1.5"), 3.0),
    "a whole number": (resized(1), 2.0),
    "a fifth of what it was given": (resized("100m"), 0.2),
    "asks for nothing any more": (resized(None), 1.0),
    "asks for what is no amount": (resized("much"), 1.0),
    "the note cannot be read": (resized("1", "500m"), 1.0),
    "the note is of no container of it": (resized("1", "other=500m"), 1.0),
    "no annotations": (pod(container()), 1.0),
}


@pytest.mark.parametrize(("what", "want"), WEIGHTS.values(), ids=WEIGHTS)
def test_the_weight_of_a_pod_is_its_request_relative_to_its_allocation(
    what: PodObject, want: float
) -> None:
    assert cpu_budget.weight(what) == pytest.approx(want)


def test_the_budget_is_shared_by_weight() -> None:
    assert share_cores(0.4, {"a": 3.0, "b": 1.0}) == pytest.approx({"a": 0.3, "b": 0.1})
    assert share_cores(0.4, {}) == {}


def test_quotas_follow_weights_and_come_back(tmp_path: Path) -> None:
    budget = CgroupBudget(WrittenTree(tmp_path), "cluster", "node", 0.4)

    def quotas() -> list[str]:
        node = tmp_path / "cluster" / "node"
        return [(node / name / "cpu.max").read_text().split()[0] for name in ("poda", "podb")]

    budget.weigh("a", 3.0)  # it may be known before it runs
    for name in "ab":
        budget.join(name)
    assert quotas() == ["6000", "2000"]
    budget.weigh("a", 1.0)
    assert quotas() == ["4000", "4000"]
    budget.weigh("b", 3.0)
    (tmp_path / "cluster" / "node" / "podb" / "cpu.max").unlink()
    budget.leave("b")
    budget.join("b")  # another life of it counts once again
    assert quotas() == ["4000", "4000"]


@pytest.fixture(params=["slices", "cgroup"])
async def budget(request: pytest.FixtureRequest) -> AsyncIterator[CpuBudget]:
    made: CpuBudget = SliceBudget(BUDGET_CORES, SystemClock())
    if request.param == "cgroup":
        name = f"shuntyard-unit-{time.monotonic_ns()}"
        hierarchy = await asyncio.to_thread(cgroups.find, name)
        if hierarchy is None:
            pytest.skip("no CPU quotas here: the kernel lets us make no control groups")
        made = CgroupBudget(hierarchy, name, "node", BUDGET_CORES)
    task = asyncio.create_task(made.run())
    yield made
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await asyncio.to_thread(made.close)


@contextlib.contextmanager
def busy(budget: CpuBudget, name: str) -> Iterator[int]:
    """A pod of one process that uses all it can get."""
    command = [sys.executable, "-c", BUSY, *budget.join(name)]
    with subprocess.Popen(command, start_new_session=True) as process:
        budget.started(name, process.pid)
        try:
            yield process.pid
        finally:
            process.kill()
            budget.ended(name, process.pid)
            process.wait()
            budget.leave(name)


@pytest.mark.alone
async def test_pods_with_weights_of_three_to_one_run_three_to_one(budget: CpuBudget) -> None:
    with busy(budget, "a") as a, busy(budget, "b") as b:
        budget.weigh("a", 3.0)
        await eventually(lambda: min(cpu_seconds(a), cpu_seconds(b)) > 0.05)
        before = (cpu_seconds(a), cpu_seconds(b))

        def used() -> list[float]:
            return [cpu_seconds(a) - before[0], cpu_seconds(b) - before[1]]

        def in_proportion() -> bool:
            assert sum(used()) >= 0.4, used()
            assert 2.3 <= used()[0] / used()[1] <= 3.7, used()
            return True

        await eventually(in_proportion)  # what runs too long while we do not is made up for


def record(resources: dict[str, dict[str, str]]) -> PodRecord:
    one = ContainerRecord("main", "image", state=Running(10.0), resources=resources)
    return PodRecord("Never", [one], host_ip="h", pod_ip="p", started_at=5.0)


def test_the_status_says_what_was_granted_as_a_kubelet_does() -> None:
    asked = {"requests": {"cpu": "300m", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    (container,) = status.render(record(asked), [], 30.0)["containerStatuses"]
    assert container["resources"] == asked
    assert container["allocatedResources"] == asked["requests"]
    (container,) = status.render(record({}), [], 30.0)["containerStatuses"]
    assert (container["resources"], container["allocatedResources"]) == ({}, {})


def test_conditions_of_a_resize_are_taken_away() -> None:
    pending = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    foreign = {"type": "example.org/Mine", "status": "True"}
    rendered = status.render(record({}), [pending, foreign], 30.0)["conditions"]
    assert rendered[-1] == {"$patch": "delete", "type": "PodResizePending"}
    again = status.render(record({}), rendered, 40.0)["conditions"]
    assert all("$patch" not in one for one in again)


def test_empty_resources_are_left_out() -> None:
    assert Resources().granted() == {}
    assert Resources(requests={"cpu": "1"}, limits={}).granted() == {"requests": {"cpu": "1"}}
