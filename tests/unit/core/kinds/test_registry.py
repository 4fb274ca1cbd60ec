"""Which job a pod belongs to, in which role, and how many make the gang."""

import pytest

from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared import labels
from shared.model import Owner, OwnerReference, Pod, PodShape, Uid

JOB = OwnerReference("batch/v1", "Job", "mnist", Uid("o1"))
SET = OwnerReference("apps/v1", "StatefulSet", "ps", Uid("o1"))
TFJOB = OwnerReference("kubeflow.org/v1", "TFJob", "mnist", Uid("o1"))
CUSTOM = OwnerReference("example.com/v1", "Trainer", "mnist", Uid("o1"))


def pod(
    controller: OwnerReference | None = None,
    pod_labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    name: str = "mnist-0",
) -> Pod:
    return Pod(
        namespace="team",
        name=name,
        uid=Uid("p1"),
        resource_version="1",
        created_at=0.0,
        shape=PodShape(),
        labels=pod_labels or {},
        annotations=annotations or {},
        controller=controller,
    )


def owner(reference: OwnerReference, size: int | None = 4, **annotations: str) -> Owner:
    return Owner(
        api_version=reference.api_version,
        kind=reference.kind,
        namespace="team",
        name=reference.name,
        uid=reference.uid,
        size=size,
        annotations=annotations,
    )


TRAINING = {
    labels.TRAINING_JOB_NAME: "mnist",
    labels.TRAINING_REPLICA_TYPE: "Worker",
    labels.TRAINING_REPLICA_INDEX: "3",
}

CASES = {
    "a Job's pod is one of min(parallelism, completions)": (
        pod(JOB, {labels.JOB_INDEX_LABEL: "2"}),
        owner(JOB),
        ("team/job/mnist", "", 2, 4),
    ),
    "a Job that was not seen yet has no size": (
        pod(JOB),
        None,
        ("team/job/mnist", "", None, None),
    ),
    "a StatefulSet's ordinal is at the end of the name": (
        pod(SET, name="ps-7"),
        owner(SET, 8),
        ("team/statefulset/ps", "", 7, 8),
    ),
    "training-operator's labels name job, role and index, not the size": (
        pod(TFJOB, TRAINING),
        None,
        ("team/trainingjob/tfjob.mnist", "worker", 3, None),
    ),
    "the annotation gives a TFJob its size": (
        pod(TFJOB, TRAINING, {labels.MIN_AVAILABLE: "8"}),
        None,
        ("team/trainingjob/tfjob.mnist", "worker", 3, 8),
    ),
    "the owner's annotation counts too": (
        pod(CUSTOM),
        owner(CUSTOM, None, **{labels.MIN_AVAILABLE: "3"}),
        ("team/owner/trainer.mnist", "", None, 3),
    ),
    "the pod's annotation wins over the owner's": (
        pod(JOB, annotations={labels.MIN_AVAILABLE: "2"}),
        owner(JOB, 4, **{labels.MIN_AVAILABLE: "3"}),
        ("team/job/mnist", "", None, 2),
    ),
    "an owner of unknown kind has no size, never 1 by guess": (
        pod(CUSTOM),
        None,
        ("team/owner/trainer.mnist", "", None, None),
    ),
    "a bare pod is a job of one": (pod(), None, ("team/pod/mnist-0", "", None, 1)),
    "our label groups pods of several owners, and the size must be stated": (
        pod(JOB, {labels.JOB: "ps-mnist", labels.ROLE: "ps"}),
        owner(JOB),
        ("team/group/ps-mnist", "ps", None, None),
    ),
    "our label with the owner's own name keeps the owner's size": (
        pod(JOB, {labels.JOB: "mnist"}),
        owner(JOB),
        ("team/group/mnist", "", None, 4),
    ),
}


def over(an_owner):
    return Owners(() if an_owner is None else (an_owner,))


@pytest.mark.parametrize(("a_pod", "an_owner", "want"), CASES.values(), ids=CASES.keys())
def test_membership_is_read_from_labels_annotations_and_owner(a_pod, an_owner, want):
    found = registry.membership(a_pod, over(an_owner))
    assert (found.job, found.role, found.index, found.size) == want
    assert not found.problem


BAD_SIZES = {"zero": "0", "a word": "four", "negative": "-1", "a fraction": "2.5", "empty": ""}


@pytest.mark.parametrize("text", BAD_SIZES.values(), ids=BAD_SIZES.keys())
def test_a_bad_gang_size_is_a_problem_that_names_the_annotation(text):
    found = registry.membership(
        pod(JOB, annotations={labels.MIN_AVAILABLE: text}), over(owner(JOB))
    )
    assert found.size is None
    assert found.problem is not None
    assert "annotation shuntyard.io/min-available" in found.problem.message
    assert "an integer of at least 1" in found.problem.message


def test_contradictory_roles_are_a_problem_that_names_both_labels():
    found = registry.membership(pod(TFJOB, {**TRAINING, labels.ROLE: "ps"}), over(None))
    assert found.problem is not None
    assert "label shuntyard.io/role: 'ps'" in found.problem.message
    assert "training.kubeflow.org/replica-type names, 'worker'" in found.problem.message


def test_every_pod_has_one_adapter():
    kinds = [kind.kind for kind in registry.KINDS.kinds]
    assert len(kinds) == len(set(kinds))
    assert registry.kind_of(pod(CUSTOM)).kind == "owner"


def test_pods_of_one_job_have_one_text_as_its_key() -> None:
    keys = [registry.job_key(pod(JOB, name=name)) for name in ("mnist-0", "mnist-1")]
    assert keys[0] == "team/job/mnist"
    assert keys[0] is keys[1]
