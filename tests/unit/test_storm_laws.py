"""The laws of the storm find what they are for, on histories that are made up."""

from collections.abc import Sequence

import pytest

from tests.controlplane.storm import laws
from tests.controlplane.storm.laws import GHOST_SECONDS, WHOLE_SECONDS, Known
from tests.controlplane.storm.proxy import Write
from tests.controlplane.watching import Event, History

JOB = "storm/gang"


def event(
    name: str,
    at: float,
    *,
    node: str | None = "n",
    kind: str = "MODIFIED",
) -> Event:
    pod = {
        "metadata": {
            "namespace": "storm",
            "name": name,
            "uid": name,
            "labels": {"shuntyard.io/job": "gang"},
        },
        "spec": {
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": "Running" if node else "Pending"},
    }
    return Event(kind, int(at * 10), at, pod)


def judged(events: Sequence[Event], known: Known, writes: Sequence[Write] = ()) -> list[str]:
    history = History()
    for one in events:
        history.add(one)
    return laws.broken(history, known, list(writes))


def known(size: int = 2, **more: object) -> Known:
    return Known(sizes={JOB: size}, cpu={"n": 8}, **more)  # type: ignore[arg-type] - passed through


def deleted(name: str, at: float) -> Write:
    return Write(at, "DELETE", f"/api/v1/namespaces/storm/pods/{name}")


WHOLE = [event("a", 0.0), event("b", 0.0), event("a", WHOLE_SECONDS)]
LATE = WHOLE_SECONDS + 5.0
BROKEN: dict[str, tuple[list[Event], Known, list[Write], str]] = {
    "a third copy lives": (
        [*WHOLE, event("c", 1.0)],
        known(),
        [],
        "3 pods lived at one time in a gang of 2",
    ),
    "a node is full": ([event("a", 0.0), event("b", 0.0)], known(), [], "2 of 1 CPUs were taken"),
    "a deleted gang comes back": (
        [event("a", GHOST_SECONDS + 2.0)],
        known(deleted={JOB: 1.0}),
        [],
        "1 pods are there after it was deleted",
    ),
    "a whole gang is dissolved": (
        [*WHOLE, event("a", LATE), event("a", LATE + 1.0, kind="DELETED")],
        known(),
        [deleted("a", LATE)],
        "we deleted a, bound",
    ),
    "a foreign pod is written to": (
        [event("a", 0.0)],
        known(foreign={"a"}),
        [Write(1.0, "PATCH", "/api/v1/namespaces/storm/pods/a")],
        "a pod of another scheduler",
    ),
}


@pytest.mark.parametrize(("events", "state", "writes", "line"), BROKEN.values(), ids=BROKEN)
def test_a_broken_law_is_found(
    events: list[Event], state: Known, writes: list[Write], line: str
) -> None:
    if "CPUs" in line:
        state.cpu["n"] = 1
    assert any(line in found for found in judged(events, state, writes))


def test_nothing_is_found_where_a_gang_runs_and_ends() -> None:
    ends = [event(name, LATE, kind="DELETED") for name in "ab"]
    assert judged([*WHOLE, *ends], known(deleted={JOB: LATE - 1.0})) == []


def test_a_member_that_the_storm_deleted_is_no_breach() -> None:
    ends = [event("a", LATE), event("a", LATE + 1.0, kind="DELETED")]
    assert judged([*WHOLE, *ends], known(struck={"a"}), [deleted("a", LATE)]) == []


def test_a_gang_that_was_parked_may_be_dissolved_at_its_next_start() -> None:
    parked = [event(name, LATE, kind="DELETED") for name in "ab"]
    again = [event("c", LATE + 20.0), event("c", LATE + 26.0, kind="DELETED")]
    assert judged([*WHOLE, *parked, *again], known(), [deleted("c", LATE + 25.0)]) == []
