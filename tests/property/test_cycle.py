"""Laws of the scheduling cycle on random clusters and jobs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster import job_views, jobs
from extender.core.cluster.commands import DeletePod, ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Delete, Upsert
from tests.fakes.builders import make_gang, make_node, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import store_of

NODES = st.lists(st.integers(1, 8), min_size=1, max_size=4).map(
    lambda sizes: [make_node(f"n{i}", cpu=str(cpu)) for i, cpu in enumerate(sizes)]
)
JOB = st.tuples(
    st.integers(0, 2),  # ps
    st.integers(1, 5),  # workers
    st.integers(1, 7),  # min-available
    st.sampled_from(["500m", "1", "2"]),
    st.integers(0, 3),  # created at
)
JOBS = st.lists(JOB, min_size=1, max_size=5)
PARAMS = st.builds(CoreParameters, order=st.sampled_from(Order))


def members(number, ps, workers, size, cpu, created_at):
    return make_gang(
        f"j{number}",
        ps=ps,
        workers=workers,
        gated=True,
        cpu=cpu,
        created_at=float(created_at),
        annotations={labels.MIN_AVAILABLE: str(size)},
    )


def released(cycle):
    return [command for command in cycle.commands if isinstance(command, ReleaseGang)]


def carry_out(store, cycle, at):
    """Apply a cycle's commands as the API server and the watch would."""
    pods = store.snapshot().pods
    for gang in released(cycle):
        for one in gang.pods:
            notes = {
                labels.NODE: one.node,
                labels.PLAN: one.plan,
                labels.PLAN_SIZE: str(one.plan_size),
            }
            pod = pods[one.pod]
            shape = replace(pod.shape, affinity=one.terms)
            annotations = {**pod.annotations, **notes}
            store.apply(Upsert(replace(pod, gates=(), shape=shape, annotations=annotations)))
    for command in cycle.commands:
        if isinstance(command, DeletePod):
            store.apply(Delete("Pod", command.pod, command.uid))


@given(nodes=NODES, wanted=JOBS, params=PARAMS)
def test_only_whole_gangs_are_released_and_no_node_is_overcommitted(nodes, wanted, params):
    gangs = [members(i, *job) for i, job in enumerate(wanted)]
    store = store_of(nodes, *gangs)
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), params)
    for gang in released(cycle):
        size = wanted[int(gang.job.rpartition("j")[2])][2]
        assert len(gang.pods) >= size
        assert len({one.plan for one in gang.pods}) == 1
    carry_out(store, cycle, 10)
    assert np.all(store.snapshot().node_table.free >= 0)
    store.check_invariants()


@given(nodes=NODES, wanted=JOBS, params=PARAMS)
def test_a_second_cycle_on_the_result_releases_nothing_more(nodes, wanted, params):
    store = store_of(nodes, *[members(i, *job) for i, job in enumerate(wanted)])
    first = queue_pass(store.snapshot(), QueueState(), Reading(10, 10), params)
    carry_out(store, first, 10)
    second = queue_pass(store.snapshot(), first.state, Reading(11, 11), params)
    assert [g.job for g in released(second) if g.job in {f.job for f in released(first)}] == []
    assert [c for c in second.commands if isinstance(c, DeletePod)] == []


@given(nodes=NODES, wanted=JOBS, params=PARAMS, order=st.randoms(use_true_random=False))
def test_the_order_in_which_things_were_seen_changes_no_decision(nodes, wanted, params, order):
    entities = [*nodes, *(pod for i, job in enumerate(wanted) for pod in members(i, *job))]
    shuffled = list(entities)
    order.shuffle(shuffled)
    one = queue_pass(store_of(entities).snapshot(), QueueState(), Reading(10, 10), params)
    two = queue_pass(store_of(shuffled).snapshot(), QueueState(), Reading(10, 10), params)
    assert one.commands == two.commands


@given(
    nodes=NODES,
    job=st.tuples(st.just(0), st.integers(2, 5)),
    bound=st.integers(0, 5),
    gone=st.sets(st.integers(0, 4)),
    foreign=st.integers(0, 8),
)
def test_no_gang_stays_partial_after_any_change_of_its_members(nodes, job, bound, gone, foreign):
    """Some members bound, some deleted, nodes filled by others: in the end whole, or none."""
    size = job[1]
    gang = members(0, 0, size, size, "1", 0)
    store, params, memory = store_of(nodes, gang), CoreParameters(), QueueState()
    cycle = queue_pass(store.snapshot(), memory, Reading(0, 0), params)
    carry_out(store, cycle, 0)
    _disturb(store, gang, bound, gone)
    others = [
        make_pod(f"x{i}", node=nodes[i % len(nodes)].name, scheduler_name="default-scheduler")
        for i in range(foreign)
    ]
    for other in others:
        store.apply(Upsert(other))
    memory, at = cycle.state, 1.0
    for _ in range(12):
        cycle = queue_pass(store.snapshot(), memory, Reading(at, at), params)
        carry_out(store, cycle, at)
        memory, at = cycle.state, at + params.pin_lost_seconds
    snapshot = store.snapshot()
    for key in snapshot.jobs:
        job_now = job_views.view(snapshot, key)
        placed_or_reserved = job_now.placed + len(job_now.having(jobs.State.RESERVED))
        assert placed_or_reserved in {0, *range(size, 2 * size)}


def _disturb(store, gang, bound, gone):
    pods = store.snapshot().pods
    for i, original in enumerate(gang):
        pod = pods[original.key]
        reservation = pod.annotations.get(labels.NODE)
        if i < bound and reservation:
            store.apply(Upsert(replace(pod, node_name=reservation, phase="Running")))
        elif i in gone and reservation:
            store.apply(Delete("Pod", pod.key, pod.uid))
