"""Which pods are annotated with their job's last checkpoint: few, and not often."""

from collections.abc import Iterator
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.checkpoint_notes.decision import (
    CHECKPOINT_NOTES,
    CheckpointNotesState,
    CheckpointNotesTrigger,
)
from extender.core.cluster.commands import NoteCheckpoint
from extender.core.cluster.session import Reading, Session, States
from extender.core.parameters.agents import CheckpointNoteParameters
from extender.core.parameters.combined import CoreParameters
from shared import labels
from shared.model import Upsert
from shared.progress import Checkpoint, PodReport
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

EPOCH_SECONDS: Final = 1_000_000.0
PAUSE_SECONDS: Final = 60.0
MOST_WRITES: Final = 2
RANKS: Final = 2


class Jobs:
    """Jobs of two ranks, all on one node; the steps that rank 0 of each has saved.

    Attributes:
        written: Steps that were annotated, in order, with their pods.
        applied: Writes reach the store.
    """

    def __init__(self, jobs: int = 1) -> None:
        owners = [make_owner(f"job-{index}", size=RANKS) for index in range(jobs)]
        self.pods = [
            make_pod(f"{owner.name}-{rank}", index=rank, node="n", owner=owner)
            for owner in owners
            for rank in range(RANKS)
        ]
        self.store = store_of(*owners, self.pods, [make_node("n", cpu="1000")])
        self.state = CheckpointNotesState()
        self.clock = 0.0
        self.saved: dict[str, int] = {}
        self.written: list[tuple[str, int]] = []
        self.applied = True
        limits = CheckpointNoteParameters(pause_seconds=PAUSE_SECONDS, most_writes=MOST_WRITES)
        self.parameters = CoreParameters(checkpoint_notes=limits)

    def run(self, seconds: float = 10.0) -> tuple[NoteCheckpoint, ...]:
        """Let time pass, then make one pass; return what it writes."""
        self.clock += seconds
        self.store.report(make_report("n", list(self._reports()), received_at=self.clock))
        reading = Reading(EPOCH_SECONDS + self.clock, self.clock)
        states = States({CHECKPOINT_NOTES.name: self.state})
        session = Session(self.store.snapshot(), reading, self.parameters, states)
        outcome = CHECKPOINT_NOTES.decide(session, self.state, CheckpointNotesTrigger())
        self.state = outcome.state
        self.written += [(_name(note), note.step) for note in outcome.commands]
        for note in outcome.commands if self.applied else ():
            self._apply(note)
        return outcome.commands

    def _reports(self) -> Iterator[PodReport]:
        for pod in self.pods:
            step = self.saved.get(pod.name)
            checkpoint = Checkpoint(step=step, saved_at=EPOCH_SECONDS)
            yield make_pod_report(pod.uid, checkpoint=checkpoint)

    def _apply(self, note: NoteCheckpoint) -> None:
        index = next(i for i, pod in enumerate(self.pods) if pod.uid == note.uid)
        notes = {labels.LAST_CHECKPOINT_STEP: str(note.step)}
        self.pods[index] = replace(
            self.pods[index], annotations={**self.pods[index].annotations, **notes}
        )
        self.store.apply(Upsert(self.pods[index]))


def _name(note: NoteCheckpoint) -> str:
    return note.pod.partition("/")[2]


def test_the_first_rank_that_saved_is_annotated_once() -> None:
    jobs = Jobs()
    assert jobs.run() == ()
    jobs.saved = {"job-0-0": 100, "job-0-1": 100}
    (note,) = jobs.run()
    assert (_name(note), note.step, note.saved_at) == ("job-0-0", 100, EPOCH_SECONDS)
    assert jobs.run(1000.0) == ()


def test_a_new_leader_reads_from_the_pod_what_is_written() -> None:
    jobs = Jobs()
    jobs.saved = {"job-0-0": 100}
    jobs.run()
    jobs.state = CheckpointNotesState()
    assert jobs.run() == ()


def test_a_pod_is_written_once_in_a_pause_and_then_with_the_newest_step() -> None:
    jobs = Jobs()
    for step in range(1, 13):
        jobs.saved = {"job-0-0": step}
        jobs.run(10.0)
    assert jobs.written == [("job-0-0", 1), ("job-0-0", 7)]


def test_a_write_that_failed_is_made_again_after_the_pause() -> None:
    jobs = Jobs()
    jobs.applied, jobs.saved = False, {"job-0-0": 5}
    for _ in range(12):
        jobs.run(10.0)
    assert jobs.written == [("job-0-0", 5)] * 2


def test_a_pass_writes_no_more_than_its_limit_and_the_rest_follows() -> None:
    jobs = Jobs(5)
    jobs.saved = {f"job-{index}-0": 9 for index in range(5)}
    assert [len(jobs.run()) for _ in range(4)] == [2, 2, 1, 0]


def test_a_time_in_the_future_is_now() -> None:
    jobs = Jobs()
    jobs.saved = {"job-0-0": 5}
    jobs.clock = -500.0
    (note,) = jobs.run()
    assert note.saved_at == EPOCH_SECONDS + jobs.clock


@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 5)), max_size=20))
def test_writes_stay_within_both_limits_whatever_is_saved(history: list[dict[int, int]]) -> None:
    jobs, at = Jobs(4), dict[str, float]()
    for saved in history:
        jobs.saved.update({f"job-{index}-0": step for index, step in saved.items()})
        notes = jobs.run(10.0)
        assert len(notes) <= MOST_WRITES
        for note in notes:
            assert jobs.clock - at.get(_name(note), float("-inf")) >= PAUSE_SECONDS
            assert jobs.saved[_name(note)] == note.step
            at[_name(note)] = jobs.clock
