"""Replicas that leave are marked before the number is lowered, wherever the extender is killed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from extender.core.elastic.decision import ELASTIC
from extender.core.records.rescale import Cause, Phase, Proposal
from shared.kube import paths
from shared.model import JobKey
from tests.component.elastic_deployment import NAME, Replicas
from tests.component.elastic_workers import PATIENCE_SECONDS, settings
from tests.component.shell import extender, lease
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

BEFORE, AFTER = 4, 2
OWNER, PODS = f"*/deployments/{NAME}", f"*/pods/{NAME}-*"
COPY = "replicasets"
QUIET: dict[str, Any] = {"enabled": False, "checkpoint_seconds": 30.0}
"""Only the plan changes the job."""
WRITES = {
    "it is asked for": (OWNER, 1),
    "the first is marked": (PODS, 1),
    "the second is marked": (PODS, 2),
    "the number": (OWNER, 2),
    "it is done": (OWNER, 3),
}
CASES = {
    f"{step}-{how}": (path, number, how)
    for step, (path, number) in WRITES.items()
    for how in ("before", "after")
}


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


@pytest.fixture
async def fake(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeKube]:
    plan = Proposal(JobKey(f"default/group/{NAME}"), AFTER, Cause.SLOT)
    monkeypatch.setattr(ELASTIC, "_propose", lambda *_: (plan,))
    async with FakeKube.running() as server, lease(server):
        yield server


@pytest.fixture
async def replicas(fake: FakeKube) -> AsyncIterator[Replicas]:
    made = Replicas(fake)
    made.put(BEFORE)
    async with made.running():
        yield made


def _is_done(replicas: Replicas) -> bool:
    one = replicas.rescale()
    return one is not None and one.phase is Phase.DONE


@pytest.mark.parametrize(("path", "number", "how"), CASES.values(), ids=CASES)
async def test_marked_replicas_leave_wherever_the_extender_is_killed(
    fake: FakeKube, replicas: Replicas, path: str, number: int, how: str
) -> None:
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    fake.faults.order("patch", path, *[Undisturbed()] * (number - 1), stop)
    async with extender(fake, **settings(QUIET)) as first:
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(replicas.rescale()))
        await first.kill()
    async with extender(fake, **settings(QUIET)):
        await eventually(lambda: _is_done(replicas), PATIENCE_SECONDS, str(replicas.rescale()))
    assert replicas.written == [BEFORE, AFTER]
    assert sorted(replicas.gone) == ["j-0", "j-1"]  # the contrary controller: j-3 and j-2
    assert set(replicas.pods().values()) == {0}
    assert not [call for call in fake.calls if (call.verb, call.resource) == ("patch", COPY)]


async def test_a_pod_that_cannot_be_marked_keeps_all_replicas(
    fake: FakeKube, replicas: Replicas
) -> None:
    forbidden = kube_faults.Answer(403, "Forbidden")
    fake.faults.order("patch", f"*/pods/{NAME}-1", *[forbidden] * 20)
    async with extender(fake, **settings({**QUIET, "checkpoint_seconds": 1.0})):
        await eventually(
            lambda: (one := replicas.rescale()) is not None and one.why == "NotNominated",
            PATIENCE_SECONDS,
            str(replicas.rescale()),
        )
    assert (replicas.written, replicas.gone) == ([BEFORE], [])
    assert replicas.pods()["j-0"] == -1


async def test_a_pod_of_the_same_name_is_not_marked(fake: FakeKube, replicas: Replicas) -> None:
    """The uid is the precondition: a pod created meanwhile is not marked."""
    held = kube_faults.Slow()
    fake.faults.order("patch", f"*/pods/{NAME}-0", held)
    async with extender(fake, **settings(QUIET)):
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(replicas.rescale()))
        old = fake.object(paths.PODS, f"{NAME}-0", "default")
        assert old is not None
        fake.remove(paths.PODS, f"{NAME}-0", "default")
        kept = {k: v for k, v in old["metadata"].items() if k not in {"uid", "resourceVersion"}}
        fresh = fake.put(paths.PODS, {**old, "metadata": kept})["metadata"]
        elder = {**fresh, "creationTimestamp": "2000-01-01T00:00:00Z"}
        fake.put(paths.PODS, {**old, "metadata": elder})
        held.gate.set()
        await eventually(lambda: _is_done(replicas), PATIENCE_SECONDS, str(replicas.rescale()))
    assert sorted(replicas.gone) == ["j-1", "j-2"]
    assert replicas.pods() == {"j-0": 0, "j-3": 0}
