"""Owners up to the top, and what a job takes from them."""

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.owners import above
from shared import foreign_labels, labels
from shared.model import JobKey, OwnerReference, PodGroup, Uid
from tests.fakes.builders import make_owner, make_pod, reference_to
from tests.unit.core.clusters import snapshot_of

TRAIN_JOB = make_owner(
    "llama",
    kind="TrainJob",
    api_version="trainer.kubeflow.org/v1alpha1",
    size=None,
    created_at=10.0,
    annotations={labels.MAX_WAIT: "20m"},
)
JOB_SET = make_owner(
    "llama", kind="JobSet", api_version="jobset.x-k8s.io/v1alpha2", size=2, controller=TRAIN_JOB
)
JOB = make_owner("llama-node-0", size=2, controller=JOB_SET, created_at=20.0)
NODE = {
    foreign_labels.JOBSET_NAME: "llama",
    foreign_labels.JOBSET_PART: "node",
    foreign_labels.JOBSET_JOB_INDEX: "0",
}
PODS = [
    make_pod(f"p{i}", owner=JOB, index=i, labels=NODE, gated=True, created_at=30.0)
    for i in range(2)
]


def view(*entities, key="default/jobset/llama"):
    return job_views.view(snapshot_of(*entities), JobKey(key))


def test_a_job_is_about_its_top_owner_and_as_old_as_that():
    job = view(TRAIN_JOB, JOB_SET, JOB, PODS)
    assert (job.about.kind, job.about.name, job.about.uid) == ("TrainJob", "llama", TRAIN_JOB.uid)
    assert job.created_at == 10.0
    assert job.min_available == 2
    assert job.spec.max_wait_seconds == 1200.0


def test_a_job_is_about_the_topmost_owner_that_was_observed():
    job = view(JOB, PODS)
    assert (job.about.kind, job.about.name) == ("Job", "llama-node-0")
    assert job.created_at == 20.0


def test_a_job_of_which_no_owner_was_observed_is_about_the_controller_it_names():
    job = view(PODS)
    assert job.about == PODS[0].controller
    assert job.created_at == 30.0


def test_a_job_in_a_group_is_as_old_as_the_group():
    group = PodGroup(
        api_group="scheduling.volcano.sh",
        namespace="default",
        name="g",
        uid=Uid("g"),
        min_member=2,
        created_at=5.0,
    )
    notes = {foreign_labels.VOLCANO_GROUP: "g"}
    job = view(group, JOB, [replace(p, annotations=notes) for p in PODS], key="default/volcano/g")
    assert (job.created_at, job.min_available) == (5.0, 2)
    assert job.about.kind == "Job"


def test_the_pods_that_do_the_work_are_counted_whatever_their_role_is_called():
    assert view(TRAIN_JOB, JOB_SET, JOB, PODS).workers == 2


def test_owners_are_followed_through_a_pod_that_owns():
    whole = make_owner("llm", kind="LeaderWorkerSet", api_version="leaderworkerset.x-k8s.io/v1")
    leaders = make_owner("llm", kind="StatefulSet", controller=whole)
    leader = make_pod("llm-0", owner=leaders)
    reference = OwnerReference("v1", "Pod", leader.name, leader.uid)
    workers = replace(make_owner("llm-0", kind="StatefulSet"), controller=reference)
    worker = make_pod("llm-0-1", owner=workers)
    snapshot = snapshot_of(whole, leaders, leader, workers, worker)
    assert above(snapshot, worker).owners == (workers, leaders, whole)


def test_another_pod_of_the_leaders_name_is_not_followed():
    leaders = make_owner("llm", kind="StatefulSet")
    reference = OwnerReference("v1", "Pod", "llm-0", Uid("the one before"))
    workers = replace(make_owner("llm-0", kind="StatefulSet"), controller=reference)
    worker = make_pod("llm-0-1", owner=workers)
    snapshot = snapshot_of(leaders, make_pod("llm-0", owner=leaders), workers, worker)
    assert above(snapshot, worker).owners == (workers,)


def test_owners_that_own_each_other_end():
    first = make_owner("a", kind="A")
    second = make_owner("b", kind="B", controller=first)
    circle = replace(first, controller=reference_to(second))
    pod = make_pod(owner=circle)
    assert len(above(snapshot_of(circle, second, pod), pod).owners) == 8


STATED_BY = {
    "our annotation": ({}, labels.MIN_AVAILABLE),
    "Kueue's": ({foreign_labels.KUEUE_GROUP: "g"}, foreign_labels.KUEUE_GROUP_SIZE),
}


@pytest.mark.parametrize(("marks", "key"), STATED_BY.values(), ids=STATED_BY.keys())
def test_sizes_that_differ_are_reported_with_the_annotation_that_states_them(marks, key):
    marks = marks or {labels.JOB: "g"}
    pods = [make_pod(f"p{n}", labels=marks, annotations={key: str(n)}) for n in (2, 3)]
    snapshot = snapshot_of(pods)
    job = job_views.view(snapshot, next(iter(snapshot.jobs)))
    assert job.min_available is None
    assert job.problem is not None
    assert job.problem.message == (
        f"annotation {key} differs: 2 on p2, 3 on p3; use one value on all pods of the job"
    )
