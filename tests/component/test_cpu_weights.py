"""CPU requests follow the remaining work on a live cluster, and are restored after any fault."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from extender.app import replay
from extender.controllers import cpu_shares
from extender.controllers.cpu_shares import CpuSharesController
from extender.core.cpu_shares import state
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component.cpu_weights import QUICK, Weighing, weighing_extender
from tests.component.shell import QUICK as SHELL
from tests.component.shell import Extender, lease
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

PATIENCE_SECONDS = 60.0
LONG = {"x": 20_000, "y": 60_000, "z": 180_000}
OFF = {"cpu_weights": {"enabled": False}}


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        yield server


@pytest.fixture(autouse=True)
def quick_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed write is followed by passes, not by minutes, and soon by the next write."""
    monkeypatch.setattr(cpu_shares, "PASS_SECONDS", 0.2)
    monkeypatch.setattr(state, "PAUSE_SECONDS", 3.0)


@pytest.fixture
async def world(fake: FakeKube) -> AsyncIterator[Weighing]:
    async with Weighing(fake, LONG).running() as found:
        yield found


def count(running: Extender, outcome: str) -> float:
    loop = next(one for one in running.parts.loops if isinstance(one, CpuSharesController))
    return float(loop.context.metrics.resizes.labels(outcome=outcome)._value.get())


async def test_requests_follow_the_work_and_the_sum_stays(world: Weighing) -> None:
    async with weighing_extender(world) as running:
        await eventually(world.weighed, PATIENCE_SECONDS)
        assert world.notes() == dict.fromkeys(LONG, "main=1000m")
        assert sum(world.requests().values()) <= 3000
        counted = ("raised", "lowered")  # after it is written
        await eventually(lambda: [count(running, one) for one in counted] == [1, 2])
    assert world.restored()  # on SIGTERM, before the process ended
    assert world.most_milli == 3000


async def test_a_restart_continues_with_the_requests_given_before(world: Weighing) -> None:
    async with weighing_extender(world) as running:
        await eventually(world.weighed, PATIENCE_SECONDS)
        await running.kill()
    assert world.notes() == dict.fromkeys(LONG, "main=1000m")
    async with weighing_extender(world) as running:
        await eventually(lambda: measured(running), PATIENCE_SECONDS)
        assert world.weighed()
        assert world.most_milli == 3000
    assert world.restored()


def measured(running: Extender) -> bool:
    """The extender has measured again what the steps of all three cost."""
    loop = next(one for one in running.parts.loops if isinstance(one, CpuSharesController))
    efforts = loop.state.efforts
    return len(efforts) == 3 and all(one.steps for one in efforts.values())


async def test_after_a_crash_a_start_without_weights_restores(world: Weighing) -> None:
    async with weighing_extender(world) as running:
        await eventually(world.weighed, PATIENCE_SECONDS)
        await running.kill()
    async with weighing_extender(world, **OFF):
        await eventually(world.restored, PATIENCE_SECONDS)


async def test_without_weights_no_request_is_ever_written(world: Weighing) -> None:
    async with weighing_extender(world, **OFF) as running:
        loop = next(one for one in running.parts.loops if isinstance(one, CpuSharesController))
        await eventually(lambda: loop.context.leads() and loop.decide() is None)
    assert world.fake.verbs("pods/resize") == []


async def test_a_standby_restores_nothing(fake: FakeKube) -> None:
    async with Weighing(fake, LONG).running() as world, weighing_extender(world) as first:
        await eventually(world.weighed, PATIENCE_SECONDS)
        other = {"scheduler": {"identity": "host-b"}}
        async with weighing_extender(world, **other):
            pass
        world.extender = first
        assert world.weighed()  # the leader may have written meanwhile, but nothing was restored
        assert world.notes() == dict.fromkeys(LONG, "main=1000m")


async def test_a_pod_gets_its_cpu_back_when_the_receiver_has_ended(world: Weighing) -> None:
    async with weighing_extender(world):
        await eventually(world.weighed, PATIENCE_SECONDS)
        world.end("x")
        world.end("y")
        alone = {"z": 1000}
        await eventually(
            lambda: {"z": world.requests()["z"]} == alone and "z" not in world.notes(),
            PATIENCE_SECONDS,
        )


FAULTS: dict[str, tuple[str, kube_faults.Fault]] = {
    "the note is refused": ("pods/y", kube_faults.Answer(403, "Forbidden")),
    "the resize is refused": ("pods/*/resize", kube_faults.Answer(422, "Invalid")),
    "the resize comes late": ("pods/*/resize", kube_faults.CONFLICT),
    "the server is in trouble": ("pods/*/resize", kube_faults.SERVER_ERROR),
    "the answer to the note is lost": ("pods/*", kube_faults.LostAnswer()),
    "the answer to the resize is lost": ("pods/*/resize", kube_faults.LostAnswer()),
    "the connection is lost before the resize": ("pods/*/resize", kube_faults.Disconnect()),
}


@pytest.mark.parametrize(("path", "fault"), FAULTS.values(), ids=FAULTS)
async def test_a_failed_write_raises_no_sum_and_loses_no_request(
    world: Weighing, path: str, fault: kube_faults.Fault
) -> None:
    world.fake.faults.order("patch", f"/api/v1/namespaces/default/{path}", fault)
    async with weighing_extender(world):
        await eventually(lambda: not world.fake.faults.left, PATIENCE_SECONDS)
        await eventually(lambda: world.requests()["x"] > 1000, PATIENCE_SECONDS)
        assert set(world.notes().values()) == {"main=1000m"}
    assert world.restored()
    assert world.most_milli == 3000


async def test_without_the_right_to_resize_everything_stays_and_is_counted(
    world: Weighing,
) -> None:
    forbidden = [kube_faults.Answer(403, "Forbidden")] * 20
    world.fake.faults.order("patch", "/api/v1/namespaces/default/pods/*/resize", *forbidden)
    async with weighing_extender(world) as running:
        await eventually(lambda: count(running, "refused") >= 2, PATIENCE_SECONDS)
        assert set(world.requests().values()) == {1000}


async def test_an_infeasible_raise_is_taken_back_and_counted(world: Weighing) -> None:
    async with weighing_extender(world) as running:
        await eventually(world.weighed, PATIENCE_SECONDS)
        _condition(world.fake, "x", "Infeasible")
        await eventually(lambda: world.requests()["x"] == 1000, PATIENCE_SECONDS)
        await eventually(lambda: count(running, "infeasible") == 1)  # counted after it is written
        await eventually(lambda: "x" not in world.notes())


def _condition(fake: FakeKube, name: str, reason: str) -> None:
    found: dict[str, Any] | None = fake.object(paths.PODS, name, "default")
    assert found is not None
    pending = {"type": "PodResizePending", "status": "True", "reason": reason}
    fake.put(paths.PODS, {**found, "status": {**found["status"], "conditions": [pending]}})


async def test_the_lowered_cpu_stays_reserved_for_its_pods(world: Weighing) -> None:
    async with weighing_extender(world) as running:
        await eventually(world.weighed, PATIENCE_SECONDS)
        store = next(
            one.context.recorder.store
            for one in running.parts.loops
            if isinstance(one, CpuSharesController)
        )
        await eventually(lambda: _used(store) == 3000)
        world.end("x")
        left = await eventually(lambda: _used(store) == 2000)
        assert left


def _used(store: Any) -> int:
    room = store.snapshot().node_table
    return int(room.used[0, room.resources.index("cpu")])


async def test_every_decision_replays(
    world: Weighing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section = {"directory": tmp_path, "segment_bytes": 2**18}
    async with weighing_extender(world, decision_log=section) as running:
        await eventually(world.weighed, PATIENCE_SECONDS)
        await running.kill()
    async with weighing_extender(world, decision_log=section) as running:
        await eventually(lambda: measured(running), PATIENCE_SECONDS)
    assert world.restored()
    sections = {key: {**SHELL.get(key, {}), **QUICK.get(key, {})} for key in {**SHELL, **QUICK}}
    settings = ExtenderSettings.model_validate(sections)
    parameters = core_parameters(settings, labels.SCHEDULER_NAME)
    code = await asyncio.to_thread(replay.run, tmp_path, parameters)
    output = capsys.readouterr().out
    assert code == 0, output
    assert output.endswith(" 0 differ\n")
