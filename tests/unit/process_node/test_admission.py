import pytest

from devcluster.process_node.refusals import Requests, verdict

CAPACITY = {"cpu": 4000, "memory": 100, "pods": 2}
SMALL = (("cpu", 1000), ("memory", 10), ("pods", 1))
CASES: dict[str, tuple[Requests, list[Requests], str | None]] = {
    "it fits alone": (SMALL, [], None),
    "it fits beside another": (SMALL, [SMALL], None),
    "too many pods": (SMALL, [SMALL, SMALL], "OutOfpods"),
    "too much CPU": ((("cpu", 3001), ("pods", 1)), [SMALL], "OutOfcpu"),
    "too much memory": ((("memory", 101),), [], "OutOfmemory"),
    "a resource that the node does not have": ((("nvidia.com/gpu", 1),), [], "OutOfnvidia.com/gpu"),
    "exactly what is left": ((("cpu", 3000), ("pods", 1)), [SMALL], None),
}


@pytest.mark.parametrize(("wanted", "present", "want"), CASES.values(), ids=CASES)
def test_a_pod_is_judged_as_the_kubelet_does(
    wanted: Requests, present: list[Requests], want: str | None
) -> None:
    found = verdict(wanted, present, CAPACITY)
    assert (found[0] if found else None) == want


def test_the_message_gives_the_amounts() -> None:
    found = verdict((("cpu", 3001),), [SMALL], CAPACITY)
    assert found is not None
    assert "requested: 3001, used: 1000, capacity: 4000" in found[1]
