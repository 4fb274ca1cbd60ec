"""Whether and how the pods of each kind of owner leave."""

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.migration import move_unit
from extender.core.migration.move_unit import MoveRefusal
from extender.core.parameters.combined import CoreParameters
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.model import Mover
from shared.objects.pod_cpu import ContainerCpu, GivenCpu
from tests.fakes.builders import (
    make_claim,
    make_owner,
    make_shape,
    make_volume,
    pinned_to,
    reference_to,
)
from tests.unit.core.migration.migrating_cluster import MONOTONIC, NOW, Train, cluster_of, job_owner

ONE = {labels.CHECKPOINT: "", labels.MIN_AVAILABLE: "1"}


def unit(snapshot, name="m-0"):
    pod = snapshot.pods[f"default/{name}"]
    (key,) = [k for k, pods in snapshot.jobs.items() if pod in pods]
    session = Session(snapshot, Reading(NOW, MONOTONIC), CoreParameters())
    return move_unit.find_unit(session, job_views.view(snapshot, key), pod)


def of(owner=None, count=1, *, annotations=None, **pod):
    """``count`` pods of an owner on node a."""
    trains = [
        Train(
            f"m-{i}",
            owner=owner,
            annotations=annotations or {labels.CHECKPOINT: ""},
            pod={"index": i, "cpu": "100m", **pod},
        )
        for i in range(count)
    ]
    return cluster_of({"a": trains, "b": []})


def job(size=1, **state):
    return job_owner("m", size=size, **state)


def of_job(kind, **state):
    return replace(job(**state), controller=_reference(kind))


def _reference(kind):
    return reference_to(make_owner("top", kind=kind, api_version="x/v1"))


SET = make_owner("m", kind="StatefulSet", size=1)
REPLICAS = make_owner("m", kind="ReplicaSet", api_version="apps/v1", size=None)
WORKERS = {"per_index": True, "failures_left": 1}

CASES = {
    "a bare pod": (of(), Mover.RECREATE),
    "a bare pod that is a group of its own": (of(job="g", annotations=ONE), Mover.RECREATE),
    "a bare pod whose name is no label": (
        cluster_of({"a": [Train("m" * 64)], "b": []}),
        R.OWNER_NOT_SUPPORTED,
    ),
    "a gang of bare pods": (
        of(None, 2, job="g", annotations={**ONE, labels.MIN_AVAILABLE: "2"}),
        R.OWNER_NOT_SUPPORTED,
    ),
    "the only pod of a job": (of(job()), Mover.SUSPEND),
    "a gang of a job": (of(job(2), 2), Mover.SUSPEND),
    "one of several independent pods of a job": (of(job(2), 2, annotations=ONE), R.BACKOFF_TRAP),
    "one index of a job with limits for each": (
        of(job(2, **WORKERS), 2, annotations=ONE),
        Mover.EVICT,
    ),
    "one index that has failed as often as it may": (
        of(job(2, **WORKERS), 2, annotations={**ONE, labels.INDEX_FAILURES: "1"}),
        R.BACKOFF_TRAP,
    ),
    "one index of a job whose policy fails it": (
        of(job(2, **WORKERS, fails_with_pod=True), 2, annotations=ONE),
        R.BACKOFF_TRAP,
    ),
    "a job that another controller manages": (of(job(managed=True)), R.OWNER_NOT_SUPPORTED),
    "a suspended job": (of(job(suspended=True)), R.JOB_NOT_RUNNING),
    "a job of a cron job": (of(of_job("CronJob")), Mover.SUSPEND),
    "the only pod of a job of a job set": (of(of_job("JobSet")), Mover.EVICT),
    "a job of a job set that bears no failure": (
        of(of_job("JobSet", failures_left=0)),
        R.BACKOFF_TRAP,
    ),
    "a gang of a job of a job set": (of(of_job("JobSet", size=2), 2), R.OWNER_NOT_SUPPORTED),
    "a job of something else": (of(of_job("MPIJob")), R.OWNER_NOT_SUPPORTED),
    "the only pod of a stateful set": (of(SET), Mover.EVICT),
    "one of several independent pods of a stateful set": (of(SET, 2, annotations=ONE), Mover.EVICT),
    "a gang of a stateful set": (of(replace(SET, size=2), 2), R.OWNER_NOT_SUPPORTED),
    "a pod of a deployment": (of(REPLICAS, annotations=ONE), Mover.EVICT),
    "a pod of an owner that says no size": (of(REPLICAS), R.JOB_NOT_RUNNING),
    "a pod of an owner we do not know": (
        of(make_owner("m", kind="TFJob"), annotations=ONE),
        R.OWNER_NOT_SUPPORTED,
    ),
    "a pod that is not bound yet": (
        of(job(2), 2, node=None, gated=True, phase="Pending"),
        R.JOB_NOT_RUNNING,
    ),
    "a gang whose roles belong together": (
        of(job(2), 2, annotations={labels.CHECKPOINT: "", labels.AFFINITY: "ps,worker"}),
        R.GANG_HAS_RELATIONS,
    ),
    "a pod with placement rules we do not model": (
        of(shape=make_shape(unmodelled=["podAffinity"])),
        R.NOT_MODELLED,
    ),
    "a pod with an unknown volume": (of(claims=["data"]), R.VOLUME_BOUND),
}


@pytest.mark.parametrize(("snapshot", "expected"), CASES.values(), ids=CASES)
def test_the_mover_of_a_pod(snapshot, expected):
    name = next(iter(snapshot.pods)).partition("/")[2]
    found = unit(snapshot, name)
    assert (found.reason if isinstance(found, MoveRefusal) else found.mover) == expected


def test_the_shape_of_a_unit_has_no_pin_but_its_volumes():
    trains = [
        Train(
            "m-0",
            pod={"shape": make_shape(affinity=pinned_to("a", "b")), "claims": ["data"]},
        )
    ]
    snapshot = cluster_of(
        {"a": trains, "b": []}, make_claim("data", volume="disk"), make_volume("disk")
    )
    assert unit(snapshot).shapes == {"default-m-0": make_shape()}


def test_a_pod_with_changed_cpu_moves_with_the_requests_of_its_owner():
    notes = {labels.CHECKPOINT: "", labels.CPU_GIVEN: GivenCpu("main", 1000).text}
    train = Train("m-0", annotations=notes)
    pod = replace(
        train.entity("a"), shape=make_shape(cpu="400m"), cpus=(ContainerCpu("main", 400),)
    )
    snapshot = cluster_of({"a": [train], "b": []}, pod)
    assert unit(snapshot).shapes == {"default-m-0": make_shape(cpu="1")}


def test_rank_0_is_asked_before_parameter_servers():
    owner = job(4)
    roles = ["ps", "worker", "worker", "master"]
    trains = [
        Train(f"m-{i}", owner=owner, pod={"index": i, "role": role, "cpu": "100m"})
        for i, role in enumerate(roles)
    ]
    found = unit(cluster_of({"a": trains, "b": []}))
    assert found.asked == {"default-m-3"}
    assert [m.pod.name for m in found.members] == ["m-3", "m-1", "m-2", "m-0"]


def test_an_annotation_of_the_owner_opts_in_too():
    owner = replace(job(), annotations={labels.CHECKPOINT: "saves"})
    assert unit(of(owner, annotations={"x": "y"})).mover is Mover.SUSPEND


def test_a_unit_without_a_report_is_refused():
    found = unit(cluster_of({"a": [Train("m-0")], "b": []}, silent=["a"]))
    assert found.reason is R.AGENT_STALE
