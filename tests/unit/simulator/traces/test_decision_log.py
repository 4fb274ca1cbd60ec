"""A decision log is a workload: its jobs, their arrivals, resources and durations."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from extender.store import recording
from extender.store.recording import DecisionRecord, DeltaRecord
from extender.store.store import ClusterStore
from shared import labels
from shared.model import Pod, Upsert
from simulator.traces import decision_log
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.opening import detected, open_trace
from tests.fakes.builders import make_namespace, make_node, make_pod

START = 1000.0


class Log:
    def __init__(self) -> None:
        self.store = ClusterStore("shuntyard")
        self.lines = recording.opening(self.store.export(), "abc")
        priority = {labels.USER_PRIORITY: "8"}
        self.sees(make_node("a"), make_namespace("default", annotations=priority))

    def sees(self, *entities) -> None:
        for entity in entities:
            record = DeltaRecord(Upsert(entity))
            recording.redo(self.store, record)
            self.lines += recording.encode(record)

    def decides(self, at: float) -> None:
        snapshot = self.store.snapshot()
        record = DecisionRecord(
            kind="cycle", generation=snapshot.generation, now=at, input=None, output=None
        )
        self.lines += recording.encode(record)

    def kept(self, folder: Path) -> Path:
        path = folder / "decisions-000001.jsonl"
        path.write_bytes(self.lines)
        return path


def _pods(job: str, created_at: float, annotations: dict[str, str] | None = None) -> list[Pod]:
    return [
        make_pod(f"{job}-{i}", job=job, created_at=created_at, gated=True, annotations=annotations)
        for i in range(2)
    ]


def _bound(pods: list[Pod], at: float) -> list[Pod]:
    return [replace(p, node_name="a", gates=(), scheduled_at=at, phase="Running") for p in pods]


def _ended(pods: list[Pod]) -> list[Pod]:
    return [replace(pod, phase="Succeeded") for pod in pods]


@pytest.fixture
def log() -> Log:
    log = Log()
    one = _pods("one", START)
    log.sees(*one)
    log.decides(START)
    one = _bound(one, START + 5)
    log.sees(*one)
    log.decides(START + 6)
    log.sees(*_ended(one))
    log.decides(START + 65)
    return log


def test_a_job_ran_from_its_last_binding_to_the_end_of_all_its_pods(log, tmp_path):
    path = log.kept(tmp_path)
    assert detected(path) == detected(tmp_path) == "decisions"
    workload = open_trace(tmp_path)
    [job] = workload.jobs
    assert (job.submitted_at, job.workers, job.user_priority) == (0.0, 2, 8)
    assert job.work / job.speed.rate(2, 1) == pytest.approx(60)
    assert job.worker == {"cpu": 1000, "memory": 2**30}
    assert [machine.name for machine in workload.machines] == ["a"]
    assert workload.machines[0].allocatable["cpu"] == 8000


def test_a_job_that_had_not_ended_ends_with_the_log_and_a_note(log, tmp_path):
    log.sees(*_bound(_pods("two", START + 10), START + 20))
    log.decides(START + 70)
    log.decides(START + 120)
    faults = Faults()
    two = open_trace(log.kept(tmp_path), faults=faults).jobs[1]
    assert (two.submitted_at, two.work) == (10.0, 200.0)
    assert [note.partition(":")[2] for note in faults.notes] == [
        " had not ended; assumed to end with the log"
    ]


def test_a_job_that_never_began_counts_with_its_expected_duration(log, tmp_path):
    log.sees(*_pods("two", START + 10, {labels.EXPECTED_DURATION: "30m"}))
    log.decides(START + 70)
    two = open_trace(log.kept(tmp_path)).jobs[1]
    assert two.work / two.speed.rate(2, 1) == pytest.approx(1800)


def test_a_job_that_never_began_without_an_expected_duration_is_named(log, tmp_path):
    log.sees(*_pods("two", START + 10))
    log.decides(START + 70)
    path = log.kept(tmp_path)
    with pytest.raises(TraceError, match=r"two' is not a job that began, or states its"):
        open_trace(path)
    faults = Faults(skip=True)
    assert len(open_trace(path, faults=faults).jobs) == 1
    assert len(faults.skipped) == 1


def test_a_line_that_is_no_record_is_named(log, tmp_path):
    log.lines += b'{"type":"Surprise"}\n'
    with pytest.raises(TraceError, match=r"decisions-000001.jsonl:\d+: line: "):
        open_trace(log.kept(tmp_path))


def test_a_torn_last_line_does_not_count(log, tmp_path):
    log.lines += b'{"type":"Del'
    assert len(open_trace(log.kept(tmp_path)).jobs) == 1


def test_a_gap_in_the_log_is_noted(tmp_path: Path) -> None:
    """The events in it are lost: jobs may seem to run longer (defect A7)."""
    log, faults = Log(), Faults()
    pods = _pods("j", START)
    log.sees(*pods, *_bound(pods, START + 1))
    log.decides(START + 2)
    log.kept(tmp_path)
    after = recording.opening(log.store.export(), "abc", lost=7)
    (tmp_path / "decisions-000002.jsonl").write_bytes(after)
    decision_log.read(tmp_path, faults)
    assert "decisions-000002.jsonl: begins after a gap of 7 records" in faults.notes
