"""Laws of which job a pod belongs to, on captured pods and on any mixture of labels."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.kinds.base import NOTHING_ABOVE, Owners
from shared import foreign_labels, labels
from shared.model import OwnerReference, Uid
from tests.fakes.builders import make_pod
from tests.unit.core.kinds.kinds import NAMES, captured

CAPTURED = {name: captured(name) for name in NAMES}
FOREIGN = {key for key in vars(foreign_labels).values() if isinstance(key, str) and "/" in key}
OURS = {labels.JOB, labels.ROLE, labels.MIN_AVAILABLE, labels.JOB_INDEX_LABEL}
TRAINING = {labels.TRAINING_JOB_NAME, labels.TRAINING_REPLICA_TYPE, labels.TRAINING_REPLICA_INDEX}
KEYS = sorted(FOREIGN | OURS | TRAINING | {*foreign_labels.YUNIKORN_APPLICATIONS})
KINDS = [
    ("batch/v1", "Job"),
    ("apps/v1", "StatefulSet"),
    ("batch.volcano.sh/v1alpha1", "Job"),
    ("kubeflow.org/v1", "TFJob"),
    ("example.com/v1", "Thing"),
]

marks = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(["", "0", "1", "3", "x", "head", "worker"]), max_size=6
)
controllers = st.none() | st.sampled_from(KINDS).map(
    lambda kind: OwnerReference(*kind, "owner", Uid("owner"))
)


@st.composite
def pods(draw):
    pod = make_pod("pod-1", labels=draw(marks), annotations=draw(marks))
    group = draw(st.sampled_from(["", "group"]))
    return replace(pod, controller=draw(controllers), scheduling_group=group)


@given(st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_the_order_in_which_pods_come_changes_no_membership(name, random):
    found = CAPTURED[name]
    shuffled = list(found.pods)
    random.shuffle(shuffled)
    one = {pod.uid: registry.membership(pod, found.above[pod.name]) for pod in found.pods}
    other = {pod.uid: registry.membership(pod, found.above[pod.name]) for pod in shuffled}
    assert one == other


@given(pods())
def test_every_pod_has_one_job_and_its_key_comes_from_the_pod_alone(pod):
    member = registry.membership(pod, NOTHING_ABOVE)
    assert member.job == registry.job_key(pod)
    namespace, kind, name = member.job.split("/", 2)
    assert namespace == pod.namespace
    assert kind in {kind_of_job.kind for kind_of_job in registry.KINDS.kinds}
    assert name


@given(pods())
def test_the_lookup_of_a_kind_finds_the_first_that_claims_the_pod(pod):
    first = next(kind_of_job for kind_of_job in registry.KINDS.kinds if kind_of_job.claims(pod))
    assert registry.kind_of(pod) is first


@given(pods())
def test_a_size_is_at_least_1_and_a_problem_names_a_label_annotation_or_field(pod):
    member = registry.membership(pod, NOTHING_ABOVE)
    assert member.size is None or member.size >= 1
    assert member.problem is None or member.problem.message.startswith(
        ("label ", "annotation ", "field ")
    )


@given(pods())
def test_only_a_pod_without_an_owner_and_a_group_is_a_job_of_one_by_itself(pod):
    member = registry.membership(pod, NOTHING_ABOVE)
    stated = set(pod.annotations.values()) & {"1"}
    if member.size == 1 and not stated:
        assert pod.controller is None
        assert not registry.group_key(pod)


@given(pods())
def test_our_label_and_our_size_decide_over_all_others(pod):
    ours = replace(
        pod,
        labels={**pod.labels, labels.JOB: "mine"},
        annotations={**pod.annotations, labels.MIN_AVAILABLE: "7"},
    )
    member = registry.membership(ours, Owners())
    assert member.job == f"{pod.namespace}/group/mine"
    assert member.size == 7


@given(pods(), st.sampled_from(["app", "example.com/team"]))
def test_unread_labels_change_nothing(pod, key):
    more = replace(pod, labels={**pod.labels, key: "x"})
    assert registry.membership(more, NOTHING_ABOVE) == registry.membership(pod, NOTHING_ABOVE)
