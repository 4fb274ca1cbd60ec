"""Killed at any write of a migration, the extender continues; no training step is done twice."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from shared.model import MigrationPhase as P
from tests.component.moving_yard import (
    JOB,
    PATIENCE_SECONDS,
    begun,
    ends,
    phases,
    places,
    put_bare,
    put_job,
    put_stateful_set,
    restarted,
    yard,
)
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

STATUS = ("patch", "*/migrations/*/status")
STATUSES = (
    *("target-reserved", "checkpoint-requested", "checkpointed", "evicting", "recreating"),
    *("replacement-named", "resuming", "completed"),
)
STEPS: dict[str, tuple[str, str, int]] = {
    "created": ("create", "*/migrations", 1),
    **{name: (*STATUS, i) for i, name in enumerate(STATUSES, start=1)},
}
OF_EACH: dict[str, tuple[Callable[[FakeKube], None], dict[str, tuple[str, str, int]]]] = {
    "bare-pod": (
        put_bare,
        {
            "evicted": ("create", "*/pods/*/eviction", 1),
            "made-again": ("create", "*/namespaces/default/pods", 1),
        },
    ),
    "job": (
        put_job,
        {
            "budget-asked": ("create", "*/pods/*/eviction", 1),
            "suspended": ("patch", "*/jobs/m", 1),
            "resumed": ("patch", "*/jobs/m", 2),
        },
    ),
}
CASES = {
    f"{owner}-{how}-{step}": (put, where, how)
    for owner, (put, actions) in OF_EACH.items()
    for step, where in {**STEPS, **actions}.items()
    for how in ("before", "after")
} | {
    f"stateful-set-{how}-evicted": (put_stateful_set, ("create", "*/pods/*/eviction", 1), how)
    for how in ("before", "after")
}


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


def _marks(where: tuple[str, str, int]) -> list[pytest.MarkDecorator]:
    """The gate has the writes that move something; status writes are many."""
    return [pytest.mark.e2e] if where in STEPS.values() else []


@pytest.mark.parametrize(
    ("put", "where", "how"),
    [pytest.param(*case, id=name, marks=_marks(case[1])) for name, case in CASES.items()],
)
async def test_a_migration_continues_wherever_the_extender_is_killed(
    fake: FakeKube, put: Callable[[FakeKube], None], where: tuple[str, str, int], how: str
) -> None:
    """Before a write: it never happens. After it: it happened, and its answer was lost."""
    put(fake)
    verb, path, count = where
    stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
    async with yard(fake) as (training, first):
        fake.faults.order(verb, path, *[Undisturbed()] * (count - 1), stop)
        await begun(fake, training)
        await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS, str(ends(fake)))
        await first.kill()
        async with restarted(fake, training):
            await eventually(lambda: P.COMPLETED in phases(fake), PATIENCE_SECONDS, str(ends(fake)))
            assert places(training) == ["b"]
            assert set(phases(fake)) <= {P.COMPLETED, P.ABORTED}
    assert training.doubled() == {}
    assert training.copies[JOB] == 1
