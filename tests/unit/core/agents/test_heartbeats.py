"""Merges of heartbeats into the reports of their nodes."""

import pytest
from msgspec.structs import replace

from extender.core.agents import heartbeats
from extender.core.agents.heartbeats import MOST_PODS, Kind, merged
from shared import wire
from shared.progress import Category, Checkpoint, CheckpointPhase, NodeReport, Use
from tests.fakes.reports import make_heartbeat, make_pod_report, make_report

A, B, C = (make_pod_report(uid) for uid in "abc")
NEWER_A = make_pod_report("a", Category.CONVERGED)
WHOLE = make_report(pods=[A, B], sequence=5)
PART = make_report(complete=False, sequence=5)

MERGED = {
    "the first one, full": (None, make_heartbeat(1, [A], full=True), Kind.FULL, [A], True),
    "the first one, of changes": (None, make_heartbeat(1, [A]), Kind.BASELESS, [], False),
    "full": (WHOLE, make_heartbeat(6, [C], full=True), Kind.FULL, [C], True),
    "full and empty": (WHOLE, make_heartbeat(6, full=True), Kind.FULL, [], True),
    "nothing changed": (WHOLE, make_heartbeat(6), Kind.CHANGES, [A, B], True),
    "a change": (WHOLE, make_heartbeat(6, [NEWER_A]), Kind.CHANGES, [NEWER_A, B], True),
    "a new pod": (WHOLE, make_heartbeat(6, [C]), Kind.CHANGES, [A, B, C], True),
    "one gone": (WHOLE, make_heartbeat(6, gone=["a"]), Kind.CHANGES, [B], True),
    "an unknown one gone": (WHOLE, make_heartbeat(6, gone=["x"]), Kind.CHANGES, [A, B], True),
    "changed and gone": (WHOLE, make_heartbeat(6, [C], gone=["c"]), Kind.CHANGES, [A, B], True),
    "a gap in the sequence": (WHOLE, make_heartbeat(9, [C]), Kind.CHANGES, [A, B, C], True),
    "the same once more": (WHOLE, make_heartbeat(5, [C]), Kind.REPEATED, [A, B], True),
    "an older one": (WHOLE, make_heartbeat(4, [C], full=True), Kind.REPEATED, [A, B], True),
    "changes of another life": (WHOLE, make_heartbeat(1, [C], boot="2"), Kind.BASELESS, [], False),
    "a new life, full": (WHOLE, make_heartbeat(1, [C], boot="2", full=True), Kind.FULL, [C], True),
    "changes to a part": (PART, make_heartbeat(6, [A]), Kind.BASELESS, [], False),
    "a full one to a part": (PART, make_heartbeat(6, [A], full=True), Kind.FULL, [A], True),
}


@pytest.mark.parametrize(
    ("before", "heartbeat", "kind", "pods", "complete"), MERGED.values(), ids=MERGED
)
def test_a_heartbeat_is_merged_into_the_report(before, heartbeat, kind, pods, complete) -> None:
    report = merged(before, heartbeat)
    assert heartbeats.kind(before, heartbeat) is kind
    assert list(report.pods.values()) == pods
    assert report.complete is complete
    if kind is Kind.REPEATED:
        assert report is before
    else:
        assert (report.boot, report.sequence) == (heartbeat.boot, heartbeat.sequence)
        assert report.received_at == heartbeat.received_at


def test_values_of_the_node_are_taken_from_every_heartbeat() -> None:
    heartbeat = make_heartbeat(1, use=Use(cpu_cores=1.5), cpu_cores=8.0, dropped=3)
    report = merged(None, heartbeat)
    assert (report.use, report.cpu_cores, report.dropped) == (Use(cpu_cores=1.5), 8.0, 3)


def test_a_report_holds_at_most_the_pods_of_a_full_heartbeat() -> None:
    many = make_report(pods=[make_pod_report(str(i)) for i in range(MOST_PODS)], sequence=5)
    assert len(merged(many, make_heartbeat(6, [make_pod_report("0")])).pods) == MOST_PODS
    report = merged(many, make_heartbeat(6, [A]))
    assert (len(report.pods), report.complete) == (0, False)
    assert MOST_PODS == wire.MOST_PODS


ACKED = make_pod_report("a", checkpoint=Checkpoint(phase=CheckpointPhase.ACKED, request="r"))
STIRS: dict[str, tuple[NodeReport | None, NodeReport, bool]] = {
    "the first report": (None, WHOLE, True),
    "it became complete": (PART, make_report(), True),
    "nothing": (WHOLE, WHOLE, False),
    "a step": (WHOLE, make_report(pods=[make_pod_report("a", step=7), B]), False),
    "a category": (WHOLE, make_report(pods=[NEWER_A, B]), True),
    "the first metric": (
        make_report(pods=[make_pod_report("a", None)]),
        make_report(pods=[A]),
        True,
    ),
    "an ack": (WHOLE, make_report(pods=[ACKED, B]), True),
    "a pod came": (WHOLE, make_report(pods=[A, B, C]), True),
    "a pod went": (WHOLE, make_report(pods=[A]), True),
}


@pytest.mark.parametrize(("before", "report", "expected"), STIRS.values(), ids=STIRS)
def test_decisions_are_woken_by(before, report, expected) -> None:
    assert heartbeats.stirs(before, report) is expected


def test_the_log_keeps_no_curves() -> None:
    curved = make_pod_report("a", curve=(3.0, 2.0))
    heartbeat = make_heartbeat(1, [curved, B, make_pod_report("n", None)])
    kept = heartbeats.for_the_log(heartbeat)
    assert kept == replace(heartbeat, pods=(make_pod_report("a"), B, make_pod_report("n", None)))
