"""Cached values are used only while nothing has changed."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Demand, Job, State
from extender.core.cluster.snapshot import Cache, Kept, Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal, Refusals
from extender.store.assumed import Assumption
from shared.model import Delete, JobKey, NodeName, Pod, Uid, Upsert
from tests.fakes.builders import make_node, make_pod
from tests.unit.core.clusters import queued_job, released_job, snapshot_of, store_of

PARAMS = CoreParameters()
NODES = [make_node("a", cpu="2"), make_node("b", cpu="2")]


def only(snapshot: Snapshot, name: str) -> Job:
    (key,) = (key for key in snapshot.jobs if key.endswith(f"/{name}"))
    return job_views.view(snapshot, JobKey(key))


def test_a_value_counts_as_long_as_its_source_is_the_same() -> None:
    kept: Kept[str, str] = Kept()
    kept.put("a", (1, "x"), "value")
    assert kept.get("a", (1, "x")) == "value"
    assert kept.get("a", (2, "x")) is None
    assert kept.latest("a") == "value"
    assert kept.get("b", (1, "x")) is None


def test_unused_entries_are_dropped_once_there_are_many() -> None:
    kept: Kept[int, int] = Kept()
    for number in range(1000):
        kept.put(number, 0, number)
    kept.trim({1, 2, 5000})
    assert [kept.latest(number) for number in (1, 2, 3)] == [1, 2, None]


def test_refusals_belong_to_one_table_and_one_set_of_parameters() -> None:
    refusals, rooms, params = Refusals(), [object() for _ in range(40)], object()
    asked_for = Demand("x")
    refusals.of(rooms[0], params)[asked_for] = "no"
    assert refusals.of(rooms[0], params) == {Demand("x"): "no"}
    assert refusals.of(rooms[1], params) == {}
    assert refusals.of(rooms[0], object()) == {}
    for room in rooms:
        refusals.of(rooms[0], params)
        refusals.of(room, object())
    assert refusals.of(rooms[0], params) == {Demand("x"): "no"}


def test_a_refusal_is_dropped_with_its_job() -> None:
    """On a table that stays for days a tenant makes and deletes pods of new kinds (defect A6)."""
    refusals, room, params = Refusals(), object(), object()
    kept = [Demand(number) for number in range(3)]
    for asked_for in kept:
        refusals.of(room, params)[asked_for] = "no"
    del asked_for
    kept.pop()
    assert len(refusals.of(room, params)) == 2
    for number in range(3, 100):
        refusals.of(room, params)[Demand(number)] = "no"
    assert len(refusals.of(room, params)) == 2


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs that were planned in earnest."""
    seen: list[str] = []
    plan = planner.plan

    def noted(job: Job, *args: object, **named: object) -> Plan | Refusal:
        seen.append(job.name)
        return plan(job, *args, **named)

    monkeypatch.setattr(planner, "plan", noted)
    return seen


def asked(snapshot: Snapshot, name: str) -> Plan | Refusal:
    job, room = only(snapshot, name), snapshot.node_table
    cache, named = snapshot.cache, {"was_whole": False, "targets": {}}
    return planner.plan_cached(cache, job, room, PARAMS, 0.0, **named)


def test_jobs_that_request_the_same_are_refused_without_another_search(planned: list[str]) -> None:
    pods = [pod for name in ("x", "y", "z") for pod in queued_job(name, 3, cpu="2")]
    snapshot = snapshot_of(NODES, *pods)
    refusals = [asked(snapshot, name) for name in ("x", "y", "z")]
    assert refusals[0] == refusals[1] == refusals[2]
    assert isinstance(refusals[0], Refusal)
    assert planned == ["x"]


def test_a_job_that_requests_something_else_is_planned(planned: list[str]) -> None:
    snapshot = snapshot_of(NODES, *queued_job("x", 3, cpu="2"), *queued_job("y", 4, cpu="2"))
    first, second = asked(snapshot, "x"), asked(snapshot, "y")
    assert planned == ["x", "y"]
    assert first != second


def test_a_plan_is_not_shared(planned: list[str]) -> None:
    snapshot = snapshot_of(NODES, *queued_job("x", 2), *queued_job("y", 2))
    plans = [asked(snapshot, name) for name in ("x", "y")]
    assert planned == ["x", "y"]
    assert all(isinstance(plan, Plan) for plan in plans)


def test_a_gang_with_a_released_member_is_always_planned(planned: list[str]) -> None:
    snapshot = snapshot_of(NODES, released_job("x", ["a"], size=4))
    assert only(snapshot, "x").members[0].state is State.RESERVED
    assert only(snapshot, "x").demand is None
    assert not planned


def test_a_job_of_which_nothing_changed_is_the_same_object() -> None:
    store = store_of(*NODES, *queued_job("x", 2), *queued_job("y", 2))
    before = only(store.snapshot(), "x")
    store.apply(Upsert(make_pod("z-0", job="z")))
    assert only(store.snapshot(), "x") is before


def reserved(store: object, pod: Pod) -> None:
    store.assume(Assumption.reserved(pod.uid, NodeName("a"), plan="p", plan_size=2, at=0.0))


CHANGES: dict[str, Callable[[object, Pod], None]] = {
    "a pod has a reservation": reserved,
    "a pod is bound": lambda store, pod: store.assume(
        Assumption.bound(pod.uid, NodeName("a"), at=0.0)
    ),
    "a pod was deleted by us": lambda store, pod: store.assume(Assumption.deleted(pod.uid, at=0.0)),
    "a pod is gone": lambda store, pod: store.apply(Delete("Pod", pod.key, pod.uid)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_job_is_viewed_anew(change: Callable[[object, Pod], None]) -> None:
    owner, *pods = queued_job("x", 2)
    store = store_of(*NODES, owner, *pods)
    before = only(store.snapshot(), "x")
    change(store, pods[0])
    after = only(store.snapshot(), "x")
    assert after != before
    assert after == only(replace(store.snapshot(), cache=Cache()), "x")


def test_members_that_did_not_change_are_not_read_again() -> None:
    owner, *pods = queued_job("x", 3)
    store = store_of(*NODES, owner, *pods)
    before = {m.pod.uid: m for m in only(store.snapshot(), "x").members}
    reserved(store, pods[0])
    after = {m.pod.uid: m for m in only(store.snapshot(), "x").members}
    same = {uid: after[uid] is before[uid] for uid in after}
    assert same == {Uid(pod.uid): pod is not pods[0] for pod in pods}
