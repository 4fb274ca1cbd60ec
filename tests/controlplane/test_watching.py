"""Tests of the functions that prove laws from a watch history."""

from collections.abc import Sequence
from typing import Any

import pytest

from shared import labels
from tests.controlplane.watching import (
    Event,
    History,
    bind_roles,
    bound_twice,
    partial_gangs,
    rank_of_last,
    release_order,
    releases_are_blocks,
)

Step = tuple[float, str, str]
"""Time, pod (``job.role.number``), and event: gated, released, ``on <node>``, failed, gone."""


def history(*steps: Step) -> History:
    found = History()
    for version, (at, name, what) in enumerate(steps, start=1):
        found.add(Event("DELETED" if what == "gone" else "MODIFIED", version, at, pod(name, what)))
    return found


def pod(name: str, what: str) -> dict[str, Any]:
    job, role, _ = name.split(".")
    spec: dict[str, Any] = {}
    if what == "gated":
        spec["schedulingGates"] = [{"name": labels.GATE}]
    if what.startswith("on "):
        spec["nodeName"] = what.removeprefix("on ")
    marks = {labels.JOB: job, labels.ROLE: role}
    metadata = {"namespace": "ns", "name": name, "uid": name, "labels": marks}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Failed" if what == "failed" else "Pending"},
    }


WHOLE: tuple[Step, ...] = ((0, "a.w.0", "on n1"), (9, "a.w.1", "on n2"))
PARTIAL: dict[str, tuple[Sequence[Step], bool]] = {
    "never-bound": (((0, "a.w.0", "gated"), (90, "a.w.0", "released")), False),
    "whole-in-time": (WHOLE, False),
    "whole-too-late": (((0, "a.w.0", "on n1"), (11, "a.w.1", "on n2")), True),
    "half-at-the-end": (((0, "a.w.0", "on n1"), (1, "a.w.1", "released")), True),
    "dissolved-in-time": (((0, "a.w.0", "on n1"), (8, "a.w.0", "gone")), False),
    "dissolved-too-late": (((0, "a.w.0", "on n1"), (12, "a.w.0", "gone")), True),
    "member-refused-by-its-node": ((WHOLE[0], (1, "a.w.0", "failed")), False),
    "loses-a-member-once-whole": ((*WHOLE, (50, "a.w.0", "gone")), False),
    "another-job-completes-it-not": ((WHOLE[0], (1, "b.w.1", "on n1")), True),
}


@pytest.mark.parametrize(("steps", "expected"), PARTIAL.values(), ids=PARTIAL.keys())
def test_a_gang_is_partial_if_its_burst_ends_neither_unbound_nor_complete(
    steps: Sequence[Step], expected: bool
) -> None:
    assert partial_gangs(history(*steps), {"ns/a": 2}) == (("ns/a",) if expected else ())


def test_jobs_are_ordered_by_their_first_release_of_a_pod_that_was_gated() -> None:
    found = history(
        (0, "direct.w.0", "released"),
        (0, "b.w.0", "gated"),
        (0, "a.w.0", "gated"),
        (0, "a.w.1", "gated"),
        (1, "a.w.0", "released"),
        (1, "b.w.0", "released"),
        (1, "a.w.1", "released"),
        (1, "a.w.1", "on n1"),
    )
    assert release_order(found) == ("ns/a", "ns/b")
    assert not releases_are_blocks(found)
    assert releases_are_blocks(history((0, "a.w.0", "gated"), (1, "a.w.0", "released")))


def test_roles_are_in_the_order_of_the_first_sight_of_a_node() -> None:
    found = history(
        (0, "a.worker.0", "on n1"),
        (0, "b.ps.0", "on n1"),
        (0, "a.worker.0", "on n1"),
        (0, "a.ps.0", "on n1"),
        (0, "a.worker.1", "on n1"),
    )
    assert bind_roles(found, "ns/a") == ("worker", "ps", "worker")
    assert rank_of_last(("worker", "ps", "worker"), "ps") == 2


def test_a_pod_on_two_nodes_is_found() -> None:
    assert bound_twice(history((0, "a.w.0", "on n1"), (1, "a.w.0", "on n2"))) == ("a.w.0",)
    assert bound_twice(history(*WHOLE)) == ()
