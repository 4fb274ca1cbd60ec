"""Room kept for a job that has waited too long: its turn, its start, and jobs before it."""

import pytest

from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.queue import BackfillParameters
from extender.core.queue import backfill
from extender.core.queue.backfill import Waiter
from shared.model import JobKey, Uid
from tests.fakes.builders import make_node, make_room, make_shape
from tests.unit.core.policies.reservations import gang_of, held, pods_on, room_of


def waiter(name: str, created_at: float, max_wait: float | None, uid: str = "") -> Waiter:
    return Waiter(JobKey(name), Uid(uid or name), created_at, max_wait)


TURNS: dict[str, tuple[list[Waiter], float | None, list[str]]] = {
    "no job waits": ([], 100.0, []),
    "no job has waited for so long": ([waiter("a", 0, 51)], 100.0, []),
    "a wait that is over this moment is over": ([waiter("a", 0, 50)], 100.0, ["a"]),
    "the older deadline goes first, not the older job": (
        [waiter("old", 0, 45), waiter("young", 30, 10)],
        100.0,
        ["young", "old"],
    ),
    "then the older job": ([waiter("a", 10, 30), waiter("b", 5, 35)], 100.0, ["b", "a"]),
    "then the smaller uid": (
        [waiter("a", 5, 5, uid="2"), waiter("b", 5, 5, uid="1")],
        100.0,
        ["b", "a"],
    ),
    "without a maximum wait that of the settings counts": (
        [waiter("a", 0, None), waiter("b", 41, None)],
        10.0,
        ["a"],
    ),
    "or for ever": ([waiter("a", 0, None), waiter("b", 0, 1)], None, ["b"]),
}


@pytest.mark.parametrize(("waiters", "default", "want"), TURNS.values(), ids=TURNS.keys())
def test_the_oldest_deadline_goes_first(
    waiters: list[Waiter], default: float | None, want: list[str]
) -> None:
    params = BackfillParameters(default_max_wait_seconds=default)
    assert list(backfill.in_turn(waiters, params, 50.0)) == want


def test_a_job_that_fits_now_waits_for_no_other() -> None:
    _, found = held({"a": 4}, [], gang_of(2, 2), 50.0)
    assert found is not None
    assert (found.starts_at, found.waits_for) == (50.0, ())


def test_pods_that_stay_are_counted_beside_the_head() -> None:
    rows = [{"job": "one", "ends_at": 100.0, "pods": {"a": 4}}]
    room, found = held({"a": 4, "b": 4}, rows, gang_of(1, 3), 50.0)
    assert found is not None
    more = backfill.with_pods(found, pods_on(room, {"b": 1}))
    assert ((more.after.used - found.after.used) == (more.before.used - found.before.used)).all()
    assert more.after.used.sum() > found.after.used.sum()
    assert more.starts_at == found.starts_at


def test_ports_of_ended_jobs_are_free_and_those_of_the_head_are_not() -> None:
    room = make_room(make_node("a"), placed={"a": [make_shape(host_ports=[80])]})
    one = backfill.RunningJob(JobKey("one"), 0.0, 100.0, [(make_shape(host_ports=[80]), 0)])
    wanted = make_shape(host_ports=[80])

    def place(free: NodeTable) -> NodeTable | None:
        return free.with_pods([(wanted, 0)]) if free.feasible(wanted)[0] else None

    found = backfill.reserve(JobKey("holder"), room, [one], place, 50.0)
    assert found is not None
    assert found.starts_at == 100.0
    assert not found.before.ports[0]
    assert not backfill.open_nodes(found, found.before).feasible(wanted)[0]


def test_planning_changes_nothing() -> None:
    rows = [{"job": "one", "ends_at": 100.0, "pods": {"a": 4}}]
    room, found = held({"a": 4}, rows, gang_of(1, 4), 50.0)
    assert found is not None
    assert (room.used == room_of({"a": 4}, [{"a": 4}]).used).all()
