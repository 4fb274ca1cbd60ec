"""Which reports make a job hung, diverged, or slowed down by a member."""

from typing import Any

import pytest

from extender.core.parameters.training_faults import DetectionParameters
from extender.core.training_faults import fault_detection
from extender.core.training_faults.fault_detection import FaultKind, Observed
from shared.model import NodeName, Uid

PARAMS = DetectionParameters()
LOGS = {"moved_at": 1.0, "gaps": 50, "usual_seconds": 4.0, "longest_seconds": 30.0}


def member(name: str, **fields: Any) -> Observed:
    return Observed(uid=Uid(name), pod=name, node=NodeName(f"node-{name}"), **fields)


def logs(name: str, silent: float, idle: float | None = 0.0, **fields: Any) -> Observed:
    """A member that reports a value every 4 s when it works."""
    return member(name, silent_seconds=silent, idle_seconds=idle, **{**LOGS, **fields})


# members, pod that hangs
HUNG = {
    "silent and idle": ([logs("a", 400, 390)], "a"),
    "silent for less than the least": ([logs("a", 299, 290)], ""),
    "silent but busy: an evaluation": ([logs("a", 4000, 0.0)], ""),
    "idle, and not silent": ([logs("a", 10, 400)], ""),
    "idle for less than half of the silence": ([logs("a", 1000, 400)], ""),
    "idle since long before the last value": ([logs("a", 400, 1000)], ""),
    "pauses as long as the longest": ([logs("a", 400, 390, longest_seconds=300.0)], ""),
    "ten of the usual pauses": ([logs("a", 590, 580, usual_seconds=60.0)], ""),
    "more than those": ([logs("a", 610, 600, usual_seconds=60.0)], "a"),
    "the pace is not known yet": ([logs("a", 4000, 3990, gaps=9)], ""),
    "no member reports values": ([member("a", idle_seconds=4000.0)], ""),
    "use is not sampled": ([logs("a", 400, None)], ""),
    "use is not sampled, three times as long": ([logs("a", 901, None)], "a"),
    "another member idles": ([logs("a", 400, 0.0), member("b", idle_seconds=395.0)], "b"),
    "the longest idle is named": ([logs("a", 400, 390), member("b", idle_seconds=398.0)], "b"),
    "a launcher that always idles": ([logs("a", 400, 0.0), member("b", idle_seconds=9000.0)], ""),
    "another member has spoken": ([logs("a", 400, 390), logs("b", 5)], ""),
    "another member has spoken, its pace unknown": (
        [logs("a", 400, 390), logs("b", 5, gaps=0)],
        "",
    ),
    "the slower pace counts": ([logs("a", 400, 390), logs("b", 410, usual_seconds=60.0)], ""),
    "nothing": ([], ""),
}


@pytest.mark.parametrize(("members", "pod"), HUNG.values(), ids=HUNG)
def test_hung(members: list[Observed], pod: str) -> None:
    found = fault_detection.hung(members, PARAMS)
    assert (found.pod if found else "") == pod


def test_the_message_has_the_figures_the_pod_and_the_node() -> None:
    found = fault_detection.hung([logs("a", 400, 0.0), member("b", idle_seconds=395.0)], PARAMS)
    assert found is not None
    assert found.message == (
        "no progress for 7 min (usually every 4 s, longest pause 30 s), and pod b on node node-b "
        "has idled for 7 min"
    )


# bad values, their first step, the message
BAD = {
    "three in a row": (3, 120, "loss is NaN or infinite since step 120, 3 values in a row, in pod"),
    "without a step": (4, None, "loss is NaN or infinite, 4 values in a row, in pod"),
    "two, as a loss scale that is too large gives": (2, 120, ""),
    "none": (0, None, ""),
}


@pytest.mark.parametrize(("bad", "step", "message"), BAD.values(), ids=BAD)
def test_diverged(bad: int, step: int | None, message: str) -> None:
    members = [logs("a", 1), logs("b", 1, metric="loss", bad_values=bad, bad_since_step=step)]
    found = fault_detection.diverged(members, PARAMS)
    assert (found.message.partition(" b on node")[0] if found else "") == message
    assert found is None or (found.kind, found.node) == (FaultKind.DIVERGED, "node-b")


def steps(counts: dict[str, int], **fields: Any) -> list[Observed]:
    return [logs(name, 1, step=step, **fields) for name, step in counts.items()]


BEGIN = {"a": 100, "b": 100, "c": 100}
# steps afterwards, what straggled before, the pod
SLOW = {
    "half as many": ({"a": 200, "b": 200, "c": 150}, None, "c"),
    "none at all": ({"a": 200, "b": 200, "c": 100}, None, "c"),
    "a little fewer": ({"a": 200, "b": 200, "c": 170}, None, ""),
    "equal": ({"a": 200, "b": 200, "c": 200}, None, ""),
    "none makes any": (BEGIN, None, ""),
    "not quite as many as the others yet": ({"a": 200, "b": 200, "c": 170}, "c", "c"),
    "as many again": ({"a": 200, "b": 200, "c": 190}, "c", ""),
    "two members": ({"a": 200, "b": 120}, None, "b"),
    "one member": ({"a": 200}, None, ""),
    "one that came later does not count": ({"a": 200, "b": 200, "d": 3}, None, ""),
    "one that began again does not count": ({"a": 200, "b": 200, "c": 3}, None, ""),
}


@pytest.mark.parametrize(("after", "before", "pod"), SLOW.values(), ids=SLOW)
def test_straggler(after: dict[str, int], before: str | None, pod: str) -> None:
    begun = fault_detection.window(steps(BEGIN), 0.0)
    uid = None if before is None else Uid(before)
    found = fault_detection.straggler(begun, steps(after), PARAMS, before=uid)
    assert (found.pod if found else "") == pod


def test_members_are_compared_with_their_own_role() -> None:
    begun = [*steps({"a": 0, "b": 0}), *steps({"eval": 0}, role="evaluator")]
    later = [*steps({"a": 90, "b": 90}), *steps({"eval": 3}, role="evaluator")]
    window = fault_detection.window(begun, 0.0)
    assert fault_detection.straggler(window, later, PARAMS, before=None) is None


def test_values_that_come_in_bursts_are_compared_over_ten_of_them() -> None:
    assert fault_detection.window_seconds(steps(BEGIN), PARAMS) == 600.0
    slow = steps(BEGIN, usual_seconds=120.0)
    assert fault_detection.window_seconds(slow, PARAMS) == 1200.0
