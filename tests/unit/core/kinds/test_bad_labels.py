"""A label that cannot be used is named, with what was expected, and spoils nothing else."""

import pytest

from extender.core.kinds import registry
from extender.core.kinds.base import NOTHING_ABOVE, Owners
from shared import foreign_labels, labels
from shared.model import Pod
from tests.fakes.builders import make_owner, make_pod

JOB = make_owner("mnist", size=4)
INDEXED = {labels.JOB_INDEX_LABEL: "x"}
TRAINING = {labels.TRAINING_JOB_NAME: "mnist", labels.TRAINING_REPLICA_TYPE: "worker"}
JOBSET = {foreign_labels.JOBSET_NAME: "train", foreign_labels.JOBSET_PART: "node"}
LWS = {foreign_labels.LWS_NAME: "llm", foreign_labels.LWS_GROUP_INDEX: "0"}
GANG = {foreign_labels.KOORDINATOR_GANG: "mnist"}
KUEUE = {foreign_labels.KUEUE_GROUP: "mnist"}
VOLCANO = {foreign_labels.VOLCANO_GROUP: "a"}
PLUGINS = {foreign_labels.SCHEDULER_PLUGINS_GROUP: "b"}
TASK = {foreign_labels.YUNIKORN_TASK_GROUP: "head"}
TASKS = foreign_labels.YUNIKORN_TASK_GROUPS

Case = tuple[Pod, str, str]


def bad(owner=None, **marks) -> Pod:
    return make_pod("mnist-0", owner=owner, labels=marks.get("on"), annotations=marks.get("noted"))


CASES: dict[str, Case] = {
    "a completion index that is no number": (
        bad(JOB, on=INDEXED),
        f"label {labels.JOB_INDEX_LABEL}: 'x'",
        "an integer of at least 0",
    ),
    "an ordinal below 0": (
        bad(make_owner("ps", kind="StatefulSet"), on={labels.STATEFULSET_INDEX_LABEL: "-1"}),
        f"label {labels.STATEFULSET_INDEX_LABEL}: '-1'",
        "an integer of at least 0",
    ),
    "a replica index that is a word": (
        bad(on=TRAINING | {labels.TRAINING_REPLICA_INDEX: "one"}),
        f"label {labels.TRAINING_REPLICA_INDEX}: 'one'",
        "an integer of at least 0",
    ),
    "a job index of a JobSet that is empty": (
        bad(on=JOBSET | {foreign_labels.JOBSET_JOB_INDEX: ""}),
        f"label {foreign_labels.JOBSET_JOB_INDEX}: ''",
        "an integer of at least 0",
    ),
    "a worker index that is no number": (
        bad(on=LWS | {foreign_labels.LWS_WORKER_INDEX: "1.5"}),
        f"label {foreign_labels.LWS_WORKER_INDEX}: '1.5'",
        "an integer of at least 0",
    ),
    "a group of a LeaderWorkerSet without pods": (
        bad(on=LWS, noted={foreign_labels.LWS_SIZE: "0"}),
        f"annotation {foreign_labels.LWS_SIZE}: '0'",
        "an integer of at least 1",
    ),
    "a gang of Koordinator whose size is a word": (
        bad(noted=GANG | {foreign_labels.KOORDINATOR_MIN_AVAILABLE: "all"}),
        f"annotation {foreign_labels.KOORDINATOR_MIN_AVAILABLE}: 'all'",
        "an integer of at least 1",
    ),
    "gangs of Koordinator that wait for each other": (
        bad(noted=GANG | {foreign_labels.KOORDINATOR_GANGS: '["team/a","team/b"]'}),
        f"annotation {foreign_labels.KOORDINATOR_GANGS}",
        "one job by label shuntyard.io/job",
    ),
    "a pod group of Kueue whose size is no number": (
        bad(on=KUEUE, noted={foreign_labels.KUEUE_GROUP_SIZE: "2.0"}),
        f"annotation {foreign_labels.KUEUE_GROUP_SIZE}: '2.0'",
        "an integer of at least 1",
    ),
    "task groups that are no JSON": (
        bad(on={"applicationId": "a"}, noted=TASK | {TASKS: "head"}),
        f"annotation {TASKS}: 'head'",
        "a JSON list of task groups",
    ),
    "task groups without a number": (
        bad(on={"applicationId": "a"}, noted=TASK | {TASKS: '[{"name": "head"}]'}),
        f"annotation {TASKS}",
        "each with a minMember of at least 1",
    ),
    "task groups nested 30,000 deep": (
        bad(
            on={"applicationId": "a"},
            noted=TASK | {TASKS: f'[{{"x":{"[" * 30_000}{"]" * 30_000}}}]'},
        ),
        f"annotation {TASKS}",
        "a JSON list of task groups",
    ),
    "no task group at all": (
        bad(on={"applicationId": "a"}, noted=TASK | {TASKS: "[]"}),
        f"annotation {TASKS}: '[]'",
        "a JSON list of task groups",
    ),
    "groups of two projects that differ": (
        bad(on=PLUGINS, noted=VOLCANO),
        f"label {foreign_labels.SCHEDULER_PLUGINS_GROUP}: 'b'",
        f"the group that annotation {foreign_labels.VOLCANO_GROUP} names, 'a'",
    ),
    "two annotations of Volcano that differ": (
        bad(noted=VOLCANO | {foreign_labels.VOLCANO_GROUP_TOO: "c"}),
        f"annotation {foreign_labels.VOLCANO_GROUP_TOO}: 'c'",
        f"the group that annotation {foreign_labels.VOLCANO_GROUP} names, 'a'",
    ),
    "our role and training-operator's that differ": (
        bad(on=TRAINING | {labels.ROLE: "ps"}),
        f"label {labels.ROLE}: 'ps'",
        f"the role that label {labels.TRAINING_REPLICA_TYPE} names, 'worker'",
    ),
}


@pytest.mark.parametrize(("pod", "named", "expected"), CASES.values(), ids=CASES.keys())
def test_a_bad_label_is_a_problem_that_names_it_and_what_was_expected(pod, named, expected):
    problem = registry.membership(pod, NOTHING_ABOVE).problem
    assert problem is not None
    assert named in problem.message
    assert expected in problem.message


@pytest.mark.parametrize(("pod", "named", "expected"), CASES.values(), ids=CASES.keys())
def test_a_bad_label_leaves_the_pod_in_its_job(pod, named, expected):
    assert registry.membership(pod, NOTHING_ABOVE).job == registry.job_key(pod)


OVERRIDDEN = {
    "our label decides between two groups": (
        bad(on=PLUGINS | {labels.JOB: "mine"}, noted=VOLCANO | {labels.MIN_AVAILABLE: "2"}),
        ("default/group/mine", 2),
    ),
    "our size makes that of the kind unread": (
        bad(on=KUEUE, noted={foreign_labels.KUEUE_GROUP_SIZE: "?", labels.MIN_AVAILABLE: "2"}),
        ("default/kueue/mnist", 2),
    ),
    "two projects may name one group": (
        bad(on={foreign_labels.SCHEDULER_PLUGINS_GROUP: "a"}, noted=VOLCANO),
        ("default/volcano/a", None),
    ),
    "an annotation of Volcano that is empty names nothing": (
        bad(noted={foreign_labels.VOLCANO_GROUP: "", foreign_labels.VOLCANO_GROUP_TOO: "c"}),
        ("default/volcano/c", None),
    ),
    "our role may rename a replicated job": (
        bad(JOB, on=JOBSET | {labels.ROLE: "worker", foreign_labels.JOBSET_JOB_INDEX: "0"}),
        ("default/jobset/train", None),
    ),
}


@pytest.mark.parametrize(("pod", "want"), OVERRIDDEN.values(), ids=OVERRIDDEN.keys())
def test_what_can_be_decided_is_no_problem(pod, want):
    found = registry.membership(pod, NOTHING_ABOVE)
    assert (found.job, found.size) == want
    assert not found.problem


def test_an_index_that_is_a_problem_leaves_the_size_known():
    found = registry.membership(bad(JOB, on=INDEXED), Owners((JOB,)))
    assert (found.size, found.index) == (4, None)
