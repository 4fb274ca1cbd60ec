"""Of two pods of one index of a Job only one is started: the one that its controller keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster import index_copies, job_views
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.jobs import State
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.scheduler import filtering
from shared.model import Delete, Upsert
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import snapshot_of, store_of

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
JOB = make_owner("j", size=2)
KEY = "default/job/j"


def pod(name, index=0, *, owner=JOB, gated=True, **fields):
    return make_pod(name, uid=name, owner=owner, index=index, gated=gated, **fields)


FIRST, SECOND, OTHER = pod("first"), pod("second", created_at=1.0), pod("other", index=1)
GANG = [JOB, FIRST, OTHER]

STARTED = {
    "the older one": (FIRST, SECOND, "first"),
    "the older one, though its name is later": (pod("z"), SECOND, "z"),
    "the bound one, though it is younger": (
        FIRST,
        pod("second", created_at=1.0, gated=False, node="a"),
        "second",
    ),
    "the released one, though it is younger": (
        FIRST,
        pod("second", created_at=1.0, gated=False, plan="p", plan_size=2, reservation="a"),
        "second",
    ),
}


@pytest.mark.parametrize(("one", "two", "started"), STARTED.values(), ids=STARTED)
def test_of_two_pods_of_an_index_this_one_is_started(one, two, started):
    (copy,) = {one.uid, two.uid} - {started}
    assert index_copies.of(snapshot_of(NODES, JOB, one, two), [one, two]) == {copy}
    assert index_copies.of(snapshot_of(NODES, JOB, one, two), [two, one]) == {copy}


BOTH = {
    "their indices differ": (FIRST, OTHER),
    "their Jobs differ": (FIRST, pod("second", owner=make_owner("k", size=2))),
    "they have no index": (pod("first", index=None), pod("second", index=None)),
    "the first one is being deleted": (pod("first", deleting=True), SECOND),
    "the first one has failed": (pod("first", phase="Failed"), SECOND),
    "both are bound": (
        pod("first", gated=False, node="a"),
        pod("second", gated=False, node="b"),
    ),
}


@pytest.mark.parametrize(("one", "two"), BOTH.values(), ids=BOTH)
def test_both_pods_are_members_if(one, two):
    assert index_copies.of(snapshot_of(NODES, JOB, one, two), [one, two]) == frozenset()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=6))
def test_what_the_job_controller_keeps_is_started(drawn):
    pods = [
        pod(f"p{i}", created_at=float(at), gated=not bound, node="a" if bound else None)
        for i, (bound, at) in enumerate(drawn)
    ]
    copies = index_copies.of(snapshot_of(NODES, JOB, pods), pods)
    best = max(map(kept_rank, pods))
    assert any(kept_rank(one) == best for one in pods if one.uid not in copies)
    unbound = [one for one in pods if one.node_name is None]
    assert len(copies) == len(unbound) - (len(unbound) == len(pods))
    assert copies <= {one.uid for one in unbound}


def kept_rank(one):
    """Return the rank of a pod in Kubernetes' ``ActivePods``: the Job controller keeps the last."""
    return one.node_name is not None, -one.created_at


def test_a_second_pod_of_an_index_is_neither_counted_nor_released():
    store = store_of(NODES, [*GANG, SECOND])
    job = job_views.view(store.snapshot(), KEY)
    assert {m.pod.name: m.state for m in job.members} == {
        "first": State.GATED, "other": State.GATED, "second": State.LEAVING,
    }  # fmt: skip
    assert job.workers == 2
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), CoreParameters())
    (release,) = [c for c in cycle.commands if isinstance(c, ReleaseGang)]
    assert {one.uid for one in release.pods} == {"first", "other"}


def test_it_is_a_member_as_soon_as_the_first_pod_is_deleted():
    store = store_of(NODES, [*GANG, SECOND])
    job_views.view(store.snapshot(), KEY)
    store.apply(Upsert(replace(FIRST, deleting=True)))
    states = {m.pod.name: m.state for m in job_views.view(store.snapshot(), KEY).members}
    assert (states["first"], states["second"]) == (State.LEAVING, State.GATED)
    store.apply(Delete("Pod", FIRST.key, FIRST.uid))
    states = {m.pod.name: m.state for m in job_views.view(store.snapshot(), KEY).members}
    assert states == {"second": State.GATED, "other": State.GATED}


@pytest.mark.parametrize("size", [1, 2])
def test_a_second_pod_without_the_gate_passes_nowhere(size):
    owner = make_owner("j", size=size)
    first, second = (replace(one, gates=()) for one in (FIRST, SECOND))
    snapshot = snapshot_of(NODES, owner, first, second)
    verdict = filtering.filter_nodes(snapshot, second, ["a", "b"], CoreParameters())
    assert verdict.nowhere == filtering.SECOND_OF_INDEX
    verdict = filtering.filter_nodes(snapshot, first, ["a", "b"], CoreParameters())
    assert verdict.nowhere != filtering.SECOND_OF_INDEX
