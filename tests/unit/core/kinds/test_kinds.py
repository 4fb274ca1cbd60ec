"""Pods as real operators make them: the right job, role, index and gang size of each."""

import pytest
from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.kinds.base import NOTHING_ABOVE, Owners
from shared import foreign_labels, labels
from tests.fakes.builders import make_owner
from tests.unit.core.kinds.kinds import NAMES, captured

Ranks = list[tuple[str, int | None]]
BUILT_IN = {"batch/v1", "apps/v1"}
WORKERS: Ranks = [("worker", 0), ("worker", 1)]

CASES: dict[str, dict[tuple[str, int | None], Ranks]] = {
    "bare-pod": {("team/pod/mnist", 1): [("", None)]},
    "coscheduling-group": {("team/coscheduling/mnist", 3): [("", 0), ("", 0), ("", 1)]},
    "deployment": {("team/deployment/web", 2): [("", None), ("", None)]},
    "in-tree-group": {("team/podgroup/mnist", 3): [("", 0), ("", 0), ("", 1)]},
    "jaxjob": {("team/trainingjob/jaxjob.mnist", 2): WORKERS},
    "job": {("team/job/mnist", 2): [("", 0), ("", 1)]},
    "jobset": {
        ("jobset/jobset/resnet", 5): [
            ("driver", 0),
            *WORKERS,
            ("worker", 2),
            ("worker", 3),
        ]
    },
    "jobset-staged": {("jobset2/jobset/staged", 1): [("prepare", 0)]},
    "koordinator-gang": {("team/koordinator/mnist", 2): [("", None), ("", None)]},
    "kueue-group": {("team/kueue/mnist", 2): [("", 0), ("", 1)]},
    "labelled": {("team/group/mnist", 3): [("ps", 0), *WORKERS]},
    "leaderworkerset": {
        ("lws/leaderworkerset/llama-0", 3): [("leader", 0), ("worker", 1), ("worker", 2)],
        ("lws/leaderworkerset/llama-1", 3): [("leader", 0), ("worker", 1), ("worker", 2)],
    },
    "leaderworkerset-in-volcano-group": {
        ("team/volcano/llm-0-5f6d", 3): [("leader", 0), ("worker", 1), ("worker", 2)],
        ("team/volcano/llm-1-5f6d", 3): [("leader", 0), ("worker", 1), ("worker", 2)],
    },
    "leaderworkerset-leader-ready": {
        ("team/leaderworkerset/llm-0", 1): [("leader", 0)],
        ("team/leaderworkerset/llm-1", 1): [("leader", 0)],
    },
    "mpijob-v1": {("to-mpijob/trainingjob/mpijob.resnet", 3): [("launcher", None), *WORKERS]},
    "mpijob-v2beta1": {("mpi/trainingjob/mpijob.resnet", 3): [("launcher", None), *WORKERS]},
    "paddlejob": {("to-paddlejob/trainingjob/paddlejob.resnet", 2): WORKERS},
    "pytorchjob": {("to-pytorchjob/trainingjob/pytorchjob.resnet", 3): [("master", 0), *WORKERS]},
    "pytorchjob-in-coscheduling-group": {
        ("team/coscheduling/mnist", 3): [("master", 0), *WORKERS, ("worker", 2)]
    },
    "pytorchjob-in-volcano-group": {
        ("team/volcano/mnist", 4): [("master", 0), *WORKERS, ("worker", 2)]
    },
    "raycluster": {("ray/raycluster/tune", 5): [("head", None), *[("worker", None)] * 4]},
    "raycluster-in-volcano-group": {
        ("team/volcano/ray-tune-pg", 3): [("head", None), ("worker", None), ("worker", None)]
    },
    "rayjob": {("rayjob/raycluster/tune-g5vd8", 3): [("head", None), *[("worker", None)] * 2]},
    "rayjob-submitted": {
        ("team/job/tune", 1): [("", None)],
        ("team/raycluster/tune-q8w2d", 3): [("head", None), ("worker", None), ("worker", None)],
    },
    "rayservice": {
        ("team/raycluster/serve-h3j5k", 3): [("head", None), ("worker", None), ("worker", None)]
    },
    "replicaset": {("team/owner/replicaset.web-5d4f", None): [("", None), ("", None)]},
    "statefulset": {("team/statefulset/ps", 2): [("", 0), ("", 1)]},
    "tfjob": {
        ("to-tfjob/trainingjob/tfjob.resnet", 5): [("chief", 0), ("ps", 0), ("ps", 1), *WORKERS]
    },
    "trainjob": {("trainer/jobset/resnet", 2): [("node", 0), ("node", 1)]},
    "trainjob-with-initializers": {
        ("trainer2/jobset/bert", 2): [("node", 0), ("node", 1)],
        ("trainer2/jobset/bert.dataset-initializer", 1): [("dataset-initializer", 0)],
    },
    "trainjob-in-coscheduling-group": {("team/coscheduling/llama", 2): [("node", 0), ("node", 1)]},
    "unknown-owner": {("team/owner/elasticjob.mnist", None): [("", None), ("", None)]},
    "vcjob": {("team/vcjob/mnist", 3): [("ps", 0), *WORKERS]},
    "volcano-group": {("team/volcano/mnist", 3): [("ps", 0), *WORKERS]},
    "xgboostjob": {("to-xgboostjob/trainingjob/xgboostjob.resnet", 3): [("master", 0), *WORKERS]},
    "yunikorn-application": {
        ("team/yunikorn/mnist-0001", 3): [("headgroup", None), ("small", None), ("small", None)]
    },
}


@pytest.mark.parametrize(("name", "want"), CASES.items(), ids=CASES.keys())
def test_pods_of_the_real_operator_have_the_right_job_role_index_and_size(name, want):
    found = captured(name)
    jobs: dict[tuple[str, int | None], Ranks] = {}
    for pod in found.pods:
        member = registry.membership(pod, found.above[pod.name])
        assert not member.problem
        jobs.setdefault((member.job, member.size), []).append((member.role, member.index))
    order = {job: sorted(ranks, key=lambda r: (r[0], r[1] or 0)) for job, ranks in jobs.items()}
    assert order == want


def test_every_captured_kind_is_in_the_table():
    assert set(NAMES) == set(CASES)


@pytest.mark.parametrize("name", NAMES)
def test_the_key_of_a_job_comes_from_the_pod_alone(name):
    found = captured(name)
    for pod in found.pods:
        assert registry.job_key(pod) == registry.membership(pod, found.above[pod.name]).job
        assert registry.job_key(pod) == registry.membership(pod, NOTHING_ABOVE).job


TOP = {
    "pytorchjob": "PyTorchJob",
    "jobset": "JobSet",
    "leaderworkerset": "LeaderWorkerSet",
    "mpijob-v2beta1": "MPIJob",
    "rayjob": "RayJob",
    "rayservice": "RayService",
    "trainjob-with-initializers": "TrainJob",
    "trainjob": "TrainJob",
    "vcjob": "Job",
}


@pytest.mark.parametrize(("name", "kind"), TOP.items(), ids=TOP.keys())
def test_the_top_owner_of_every_pod_is_the_object_that_the_user_made(name, kind):
    tops = [above.top for above in captured(name).above.values()]
    assert {top.kind if top else None for top in tops} == {kind}


UNREAD = {
    "one replicated job has as many pods as its labels and its Job state": ("trainjob", {2}),
    "several replicated jobs are not known from one of them": ("jobset", {None}),
    "a training job is known from its custom resource alone": ("pytorchjob", {None}),
    "an MPIJob is not its launcher's Job": ("mpijob-v2beta1", {None}),
    "a Ray cluster is known from its custom resource alone": ("raycluster", {None}),
    "a group of a LeaderWorkerSet is stated on its pods": ("leaderworkerset", {3}),
    "a group that reaches beyond an owner is not that owner's size": ("volcano-group", {None}),
    "a job of Volcano is known from its PodGroup or itself": ("vcjob", {None}),
}


@pytest.mark.parametrize(("name", "want"), UNREAD.values(), ids=UNREAD.keys())
def test_where_only_built_in_owners_are_read_a_size_is_never_guessed(name, want):
    found = captured(name)
    sizes = set()
    for pod in found.pods:
        seen = [o for o in found.above[pod.name].owners if o.api_version in BUILT_IN]
        sizes.add(registry.membership(pod, Owners(tuple(seen))).size)
    assert sizes == want


LATER = {
    "a JobSet with a domain for each Job is its first pods": (
        "jobset",
        {foreign_labels.JOBSET_EXCLUSIVE: "rack"},
        {3},
    ),
    "all pods of it exist where the nodes were labelled before": (
        "jobset",
        {foreign_labels.JOBSET_EXCLUSIVE: "rack", foreign_labels.JOBSET_NODES_PREPARED: ""},
        {5},
    ),
    "a LeaderWorkerSet with a domain for each group is its leader": (
        "leaderworkerset",
        {foreign_labels.LWS_EXCLUSIVE: "rack"},
        {1},
    ),
}


@pytest.mark.parametrize(("name", "notes", "want"), LATER.values(), ids=LATER.keys())
def test_pods_that_are_made_only_after_others_have_a_node_are_no_part_of_the_gang(
    name, notes, want
):
    found = captured(name)
    pods = [replace(pod, annotations={**pod.annotations, **notes}) for pod in found.pods]
    assert {registry.membership(pod, found.above[pod.name]).size for pod in pods} == want


OURS = {
    "a RayJob of that name leaves its size to its one cluster": ("rayjob", "tune", {3}),
    "a RayService may have two clusters": ("rayservice", "serve", {None}),
    "a name that is not the owner's reaches beyond it": ("rayjob", "other", {None}),
}


@pytest.mark.parametrize(("name", "job", "want"), OURS.values(), ids=OURS.keys())
def test_a_job_of_our_label_has_the_size_of_the_owner_of_its_name(name, job, want):
    found = captured(name)
    pods = [replace(pod, labels={**pod.labels, labels.JOB: job}) for pod in found.pods]
    assert {above.top.name for above in found.above.values()} & {job, "tune"}
    members = [registry.membership(pod, found.above[pod.name]) for pod in pods]
    assert {member.size for member in members} == want


def test_jobs_of_several_pods_without_completion_index_have_no_index():
    pod = captured("jobset").pods[-1]
    unindexed = replace(pod, labels={**pod.labels}, annotations={})
    del unindexed.labels[labels.JOB_INDEX_LABEL]
    several, single = make_owner(size=2), make_owner(size=1)
    assert registry.membership(unindexed, Owners((several,))).index is None
    assert registry.membership(unindexed, Owners((single,))).index == 1
    assert registry.membership(unindexed, NOTHING_ABOVE).index is None


def test_a_later_job_of_a_set_has_no_index_before_it_was_seen():
    pod = captured("jobset").pods[-1]
    assert registry.membership(pod, NOTHING_ABOVE).index is None


def test_a_job_of_volcano_of_an_older_version_has_its_index_in_the_name():
    found = captured("vcjob")
    for pod in found.pods:
        older = {k: v for k, v in pod.annotations.items() if "task-index" not in k}
        member = registry.membership(replace(pod, annotations=older), found.above[pod.name])
        assert str(member.index) == pod.name[-1]
