"""The page for users: every manifest is valid, and is the job that the page describes."""

import re

import pytest

from shared import labels
from tests.docs import manifests
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/submit.md"
OBJECTS = manifests.objects_of(PAGE)
KEY = re.compile(r"`(shuntyard\.io/[a-z-]+)")

GANGS = {
    "team-a/group/recommender": {"ps": 2, "worker": 4},
    "team-a/job/deadline": {"": 8},
    "team-a/job/elastic": {"": 4},
    "team-a/job/mnist": {"": 1},
    "team-a/job/resnet": {"": 4},
    "team-a/job/urgent": {"": 8},
    "team-a/jobset/llama": {"driver": 1, "worker": 8},
    "team-a/leaderworkerset/eval-0": {"leader": 1, "worker": 2},
    "team-a/raycluster/tune-xxxxx": {"head": 1, "worker": 3},
    "team-a/statefulset/parameter-server": {"ps": 2},
    "team-a/trainingjob/mpijob.horovod": {"launcher": 1, "worker": 4},
    "team-a/trainingjob/pytorchjob.bert": {"master": 1, "worker": 3},
    "team-a/trainingjob/tfjob.wide-deep": {"ps": 2, "worker": 4},
}
SMALLER = {"team-a/job/elastic": 2, "team-a/job/deadline": 1}  # what elastic jobs need at least


def test_every_manifest_is_a_whole_job_with_the_roles_on_the_page() -> None:
    found = manifests.jobs_of(OBJECTS)
    assert {job.key: job.problem for job in found} == dict.fromkeys(GANGS)
    roles = {job.key: [member.role for member in job.members] for job in found}
    assert {key: {one: of.count(one) for one in of} for key, of in roles.items()} == GANGS
    sizes = {job.key: job.min_available for job in found}
    assert sizes == {key: SMALLER.get(key, sum(of.values())) for key, of in GANGS.items()}


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda o: f"{o['kind']}-{o['metadata']['name']}")
def test_every_manifest_fits_the_schemas_and_its_pods_wait_in_our_queue(obj) -> None:
    manifests.check_schema(obj)
    pods = list(manifests.templates(obj))
    assert pods
    for pod in pods:
        assert pod["spec"]["schedulerName"] == labels.SCHEDULER_NAME
        assert pod["spec"]["schedulingGates"] == [{"name": labels.GATE}]


def test_every_key_on_the_page_is_one_of_ours() -> None:
    ours = {v for v in vars(labels).values() if isinstance(v, str)}
    used = set(KEY.findall(PAGE.read_text()))
    for obj in OBJECTS:
        for meta in [obj["metadata"], *(pod["metadata"] for pod in manifests.templates(obj))]:
            used |= {*meta.get("labels", ()), *meta.get("annotations", ())}
    assert {key for key in used if key.startswith(labels.DOMAIN)} <= ours


def test_the_needs_of_the_job_are_read_from_the_manifest() -> None:
    found = {job.name: job.spec for job in manifests.jobs_of(OBJECTS)}
    urgent, elastic = found["urgent"], found["elastic"]
    assert (urgent.max_wait_seconds, urgent.expected_seconds) == (14400, 5400)
    required = [one.request.required for one in urgent.topology]
    assert [level and level.text for level in required] == ["rack"]
    assert elastic.workers is not None
    assert (elastic.workers.least, elastic.workers.most) == (2, 8)
    assert found["deadline"].utility is not None
    assert found["deadline"].utility.text == "steps:4h=100,8h=40"
    assert found["deadline"].utility.problem is None
    assert found["tfjob.wide-deep"].relations is not None
