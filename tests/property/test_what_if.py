"""What-if predicts what becomes of a job, and changes nothing."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core import explain
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading, Session
from extender.core.queue.state import QueueState
from extender.servers.readapi import manifests
from shared import labels
from shared.model import Uid, Upsert
from tests.fakes.deciding import queue_pass
from tests.property.test_cycle import JOB, NODES, PARAMS, carry_out, members
from tests.unit.core.clusters import store_of

OTHERS = st.lists(JOB, max_size=5)
NOW = Reading(10, 10)


@st.composite
def manifest(draw):
    """A Job, or a TFJob with parameter servers."""
    cpu = draw(st.sampled_from(["500m", "1", 2]))
    notes = draw(
        st.fixed_dictionaries(
            {},
            optional={
                labels.MIN_AVAILABLE: st.sampled_from(["1", "2", "3"]),
                labels.MAX_WAIT: st.sampled_from(["1s", "20m"]),
                labels.EXPECTED_DURATION: st.just("10m"),
                labels.AFFINITY: st.just("ps,worker"),
                labels.ANTI_AFFINITY: st.just("ps"),
            },
        )
    )
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"annotations": notes}, "spec": {"containers": [container]}}
    workers = draw(st.integers(1, 6))
    if not draw(st.booleans()):
        spec = {"parallelism": workers, "completionMode": "Indexed", "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
    roles = {
        "PS": {"replicas": draw(st.integers(1, 3)), "template": template},
        "Worker": {"replicas": workers, "template": template},
    }
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "spec": {"tfReplicaSpecs": roles}}


def submitted(store, job, scheduler):
    """Really submit it: other uids, our scheduler, our gate, created now."""
    owners = {owner.uid: replace(owner, created_at=NOW.now) for owner in job.owners}
    for owner in owners.values():
        store.apply(Upsert(owner))
    for number, pod in enumerate(reversed(job.pods)):
        uid = Uid(f"{number}-real")
        real = replace(pod, uid=uid, scheduler_name=scheduler, gates=(labels.GATE,))
        store.apply(Upsert(replace(real, created_at=NOW.now)))


def placed(snapshot, cycle, key):
    """Node by name of the pod."""
    return {
        one.pod.partition("/")[2]: one.node
        for command in cycle.commands
        if isinstance(command, ReleaseGang) and command.job == key
        for one in command.pods
    }


@given(nodes=NODES, others=OTHERS, params=PARAMS, asked_for=manifest(), cycles=st.integers(0, 1))
def test_the_job_ends_as_what_if_predicted_and_what_if_changes_nothing(
    nodes, others, params, asked_for, cycles
):
    store = store_of(nodes, *[members(i, *job) for i, job in enumerate(others)])
    cycle, memory = None, QueueState()
    for _ in range(cycles):
        cycle = queue_pass(store.snapshot(), memory, Reading(5, 5), params)
        memory = cycle.state
        carry_out(store, cycle, 5)
    body = json.dumps({**asked_for, "metadata": {"name": "mine"}}).encode()
    job = manifests.read(body, "default", params.scheduler_name)
    before, snapshot = store.export(), store.snapshot()
    used = snapshot.node_table.used.copy()

    session = explain.isolated(Session(snapshot, NOW, params), cycle)
    prediction = explain.what_if(session, job, acting=True)

    assert store.snapshot() is snapshot
    assert store.export() == before
    assert np.array_equal(snapshot.node_table.used, used)

    submitted(store, job, params.scheduler_name)
    real = queue_pass(store.snapshot(), memory, NOW, params)
    able = [entry.job.key for entry in real.entries if not entry.reason.needs_action]
    position = able.index(prediction.job) + 1 if prediction.job in able else None
    entry = next(entry for entry in real.entries if entry.job.key == prediction.job)
    assert {one.pod: one.node for one in prediction.places} == placed(
        snapshot, real, prediction.job
    )
    assert prediction.starts_now == bool(prediction.places)
    assert (prediction.entry.position, prediction.entry.reason) == (position, entry.reason)
    assert (prediction.entry.v, prediction.entry.message) == (entry.value.v, entry.message)
    assert prediction.waiting == len(able) - (position is not None)
    assert (prediction.obstacles is None) == prediction.starts_now
