"""The pods that share a node's CPU budget."""

import msgspec
import pytest

from devcluster.process_node.spec import PodObject

OWNERS: dict[str, tuple[list[dict[str, object]] | None, bool]] = {
    "a pod of a DaemonSet serves the node": ([{"kind": "DaemonSet", "controller": True}], True),
    "a pod of a Job shares the budget": ([{"kind": "Job", "controller": True}], False),
    "a DaemonSet that does not control the pod": ([{"kind": "DaemonSet"}], False),
    "a bare pod shares the budget": (None, False),
}


@pytest.mark.parametrize(("owners", "serves"), OWNERS.values(), ids=OWNERS)
def test_pods_of_a_daemon_set_stand_beside_the_budget(
    owners: list[dict[str, object]] | None, serves: bool
) -> None:
    raw = {"metadata": {"name": "p", "ownerReferences": owners}}
    assert msgspec.convert(raw, PodObject).is_of_a_daemon_set is serves
