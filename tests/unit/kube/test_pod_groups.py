from typing import Any

import pytest

from shared.kube import pod_groups, resources
from shared.kube.errors import OddObjectError
from shared.model import PodGroup, Uid
from tests.fakes.kube_objects import encoded

VOLCANO, PLUGINS, IN_TREE = "scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.k8s.io"
GROUPS = {kind.group: kind for kind in pod_groups.GROUPS}


def decoded(group: str, spec: Any) -> PodGroup:
    meta = {"name": "it", "namespace": "team", "uid": "u", "annotations": {"shuntyard.io/a": "1"}}
    return GROUPS[group].decode(encoded({"metadata": meta, "spec": spec}))


SPECS: dict[str, tuple[str, Any, int | None]] = {
    "Volcano's": (VOLCANO, {"minMember": 3, "queue": "default"}, 3),
    "Volcano's that states none": (VOLCANO, {"queue": "default"}, None),
    "none is not a number of pods": (VOLCANO, {"minMember": 0}, None),
    "scheduler-plugins'": (PLUGINS, {"minMember": 2, "scheduleTimeoutSeconds": 10}, 2),
    "the in-tree gang": (IN_TREE, {"schedulingPolicy": {"gang": {"minCount": 4}}}, 4),
    "an in-tree group of pods that are scheduled each alone": (
        IN_TREE,
        {"schedulingPolicy": {"basic": {}}},
        1,
    ),
    "an in-tree policy of a later version": (IN_TREE, {"schedulingPolicy": {"other": {}}}, None),
    "an in-tree group without a policy": (IN_TREE, {}, None),
    "no spec": (IN_TREE, None, None),
}


@pytest.mark.parametrize(("group", "spec", "members"), SPECS.values(), ids=SPECS)
def test_a_group_has_a_gang_size(group: str, spec: Any, members: int | None) -> None:
    assert decoded(group, spec) == PodGroup(
        api_group=group,
        namespace="team",
        name="it",
        uid=Uid("u"),
        annotations={"shuntyard.io/a": "1"},
        min_member=members,
    )


BAD: dict[str, tuple[str, Any, str]] = {
    "a text": (PLUGINS, {"minMember": "all"}, "$.spec.minMember"),
    "less than none": (VOLCANO, {"minMember": -1}, "$.spec.minMember"),
    "a gang of none": (
        IN_TREE,
        {"schedulingPolicy": {"gang": {"minCount": 0}}},
        "$.spec.schedulingPolicy.gang.minCount",
    ),
}


@pytest.mark.parametrize(("group", "spec", "field"), BAD.values(), ids=BAD)
def test_a_bad_group_is_named_with_its_field(group: str, spec: Any, field: str) -> None:
    with pytest.raises(OddObjectError) as caught:
        decoded(group, spec)
    assert caught.value.key == "team/it"
    assert field in caught.value.problem


def test_a_group_is_in_its_collection() -> None:
    sources = {kind.source: kind for kind in resources.OPTIONAL}
    for group in GROUPS:
        found = decoded(group, {})
        listed = sources[found.collection]
        assert listed.key("team", "it") == found.key
        assert listed.resource == f"podgroups.{group}"
