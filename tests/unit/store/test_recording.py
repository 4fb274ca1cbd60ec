"""The decision log: what is written replays, and what does not replay is found."""

import pytest

from extender.store import recording
from extender.store.assumed import Act, Assumption
from extender.store.recording import (
    AssumptionRecord,
    DecisionRecord,
    DeltaRecord,
    Difference,
    ExpireRecord,
    ForgetRecord,
    Header,
    Record,
    RecordingError,
    ReportRecord,
)
from extender.store.store import ClusterStore
from shared.model import Delete, NodeName, Replace, Toleration, Uid, Upsert
from shared.progress import Category, Use
from tests.fakes.builders import (
    make_namespace,
    make_node,
    make_owner,
    make_pod,
    make_quota,
    make_shape,
    make_term,
    pinned_to,
)
from tests.fakes.device_builders import make_device_class
from tests.fakes.reports import make_heartbeat, make_pod_report

ODD = make_shape(
    node_selector={"a": "b"},
    affinity=[*pinned_to("n"), make_term()],
    tolerations=[Toleration(operator="Exists")],
    host_ports=[80],
    unmodelled=["volumes"],
)
RESERVATION = Assumption(
    uid=Uid("u"), act=Act.RESERVE, node=NodeName("n"), plan="p", plan_size=3, at=1.5
)
RECORDS: dict[str, Record] = {
    "header": Header(1, "abc", "shuntyard"),
    "pod": DeltaRecord(Upsert(make_pod(shape=ODD, owner=make_owner(), created_at=0.1))),
    "node": DeltaRecord(Upsert(make_node(taints=["a=b:NoSchedule"]))),
    "delete": DeltaRecord(Delete("Pod", "default/a", "u")),
    "list": DeltaRecord(
        Replace("Owner", "Job", (make_owner(controller=make_owner("top")), make_owner("b")))
    ),
    "others": DeltaRecord(
        Replace("Any", "Any", (make_quota(), make_namespace(), make_device_class()))
    ),
    "assumption": AssumptionRecord(RESERVATION),
    "forget": ForgetRecord(Uid("u")),
    "expire": ExpireRecord(1.25),
    "report": ReportRecord(
        make_heartbeat(3, [make_pod_report("u", value=0.5)], use=Use(cpu_cores=1))
    ),
    "decision": DecisionRecord(
        kind="filter", generation=7, now=0.1, input={"nodes": ["a"]}, output=None
    ),
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_is_one_line_and_reads_back_the_same(record: Record) -> None:
    line = recording.encode(record)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert recording.decode(line) == record


class Log:
    """A store that writes down what happens to it, as the shell does."""

    def __init__(self) -> None:
        self.store = ClusterStore("shuntyard")
        self.lines = recording.opening(self.store.export(), "abc").splitlines(keepends=True)

    def happens(self, *records: Record) -> None:
        for record in records:
            recording.redo(self.store, record)  # type: ignore[arg-type] - no decisions here
            self.lines.append(recording.encode(record))

    def decides(self, kind: str = "queue") -> None:
        snapshot = self.store.snapshot()
        record = DecisionRecord(
            kind=kind, generation=snapshot.generation, now=1.0, input={"x": 1}, output=None
        )
        output = decide(snapshot, record)
        self.lines.append(
            recording.encode(recording.msgspec.structs.replace(record, output=output))
        )


def decide(snapshot, record):
    """Any pure function of the snapshot and the record."""
    return {
        "reservations": {
            uid: reservation.node for uid, reservation in sorted(snapshot.reservations.items())
        },
        "bound": dict(sorted(snapshot.bound.items())),
        "used": snapshot.node_table.used.tolist(),
        "gone": sorted(pod.key for pod in snapshot.pods.values() if pod.deleting),
        "reports": {node: sorted(report.pods) for node, report in sorted(snapshot.reports.items())},
        "input": record.input,
    }


@pytest.fixture
def log() -> Log:
    log = Log()
    pod = make_pod("a", uid="u", gated=True)
    log.happens(
        DeltaRecord(Replace("Node", "Node", (make_node("n"), make_node("m")))),
        DeltaRecord(Upsert(pod)),
        AssumptionRecord(RESERVATION),
    )
    log.decides()
    log.happens(AssumptionRecord(Assumption(uid=Uid("u"), act=Act.BIND, node=NodeName("n"), at=2)))
    log.decides("bind")
    log.happens(ForgetRecord(Uid("u")))
    log.decides("filter")
    log.happens(ExpireRecord(10.0), AssumptionRecord(RESERVATION))
    log.happens(AssumptionRecord(Assumption(uid=Uid("u"), act=Act.DELETE, at=3.0)))
    log.decides("prioritize")
    return log


def test_what_was_written_replays(log: Log) -> None:
    assert list(recording.replay(log.lines, decide)) == []


def test_each_segment_replays_alone_from_its_checkpoint(log: Log) -> None:
    segment = recording.opening(log.store.export(), "abc").splitlines(keepends=True)
    before = len(log.lines)
    log.happens(DeltaRecord(Delete("Pod", "default/a", "u")))
    log.decides()
    assert list(recording.replay([*segment, *log.lines[before:]], decide)) == []
    assert (
        list(recording.replay([*log.lines[:before], *segment, *log.lines[before:]], decide)) == []
    )


def test_a_decision_that_does_not_replay_is_found(log: Log) -> None:
    def differently(snapshot, record):
        return decide(snapshot, record) | ({"used": []} if record.kind == "filter" else {})

    (difference,) = recording.replay(log.lines, differently)
    assert difference == Difference(
        line=10, what="output", recorded=difference.recorded, replayed=difference.replayed
    )
    assert (difference.recorded["used"], difference.replayed["used"]) != ([], ())
    assert difference.replayed["used"] == []


def test_a_missing_record_is_found_by_its_generation(log: Log) -> None:
    del log.lines[3]
    found = list(recording.replay(log.lines, decide))
    assert {difference.what for difference in found} == {"generation", "output"}
    assert found[0].recorded == found[0].replayed + 2


def test_a_line_that_was_being_written_at_the_end_is_skipped(log: Log) -> None:
    torn = [*log.lines, log.lines[-1][:-20]]
    restarted = recording.opening(log.store.export(), "abc").splitlines(keepends=True)
    assert list(recording.replay([*torn, *restarted], decide)) == []


REFUSED = {
    "no record": ([b"{}\n"], "type"),
    "no JSON": ([b"hello\n"], "hello"),
    "another version": ([recording.encode(Header(99, "", ""))], "version 99"),
    "before any checkpoint": ([recording.encode(ForgetRecord(Uid("u")))], "line 1"),
}


@pytest.mark.parametrize(("lines", "want"), REFUSED.values(), ids=REFUSED)
def test_a_log_is_refused_because_of(lines: list[bytes], want: str) -> None:
    with pytest.raises(RecordingError, match=want):
        list(recording.replay(lines, decide))


def test_a_restored_store_goes_on_like_the_one_it_came_from(log: Log) -> None:
    restored = ClusterStore.restore(log.store.export())
    assert restored.export() == log.store.export()
    for store in (restored, log.store):
        store.apply(Upsert(make_pod("a", uid="u", reservation="n", resource_version="2")))
        store.check_invariants()
    assert restored.snapshot().generation == log.store.snapshot().generation
    assert restored.snapshot().reservations == log.store.snapshot().reservations


def test_reports_replay_from_the_log_and_from_a_checkpoint(log: Log) -> None:
    converged = make_pod_report("u", Category.CONVERGED)
    log.happens(
        ReportRecord(make_heartbeat(1, [converged, make_pod_report("v")], full=True, node="n"))
    )
    log.decides()
    segment = recording.opening(log.store.export(), "abc").splitlines(keepends=True)
    before = len(log.lines)
    log.happens(ReportRecord(make_heartbeat(2, gone=["v"], node="n")))
    log.happens(ReportRecord(make_heartbeat(9, [converged], node="a node that is not there")))
    log.decides()
    assert list(recording.replay(log.lines, decide)) == []
    assert list(recording.replay([*segment, *log.lines[before:]], decide)) == []
    assert log.store.snapshot().reports["n"].pods == {"u": converged}
    del log.lines[before]
    assert [found.what for found in recording.replay(log.lines, decide)] == ["generation", "output"]
