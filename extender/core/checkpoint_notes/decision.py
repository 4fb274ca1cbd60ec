"""Which pods are annotated with their job's last checkpoint.

Of each job one pod: the first by rank whose agent reports a checkpoint. What is written already is
read from the pod, so a new leader writes nothing twice. Writes are limited for each pod and for
each pass; the pods that were noted longest ago go first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from typing_extensions import override

from extender.core.agents.requests import rank
from extender.core.cluster import job_views
from extender.core.cluster.commands import NoteCheckpoint
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from shared import labels
from shared.model import Uid

_NEVER: Final = float("-inf")


class CheckpointNotesTrigger(Struct, frozen=True):
    """A pass is due; there is nothing beside the session."""


class CheckpointNotesState(Struct, frozen=True):
    """What one pass leaves for the next.

    Attributes:
        noted_at: When each pod was noted last, on the monotonic clock.
    """

    noted_at: Mapping[Uid, float] = {}


@dataclass(frozen=True, kw_only=True)
class CheckpointNotesOutcome(Outcome[CheckpointNotesState, NoteCheckpoint]):
    """What one pass found."""


class CheckpointNotesDecision(
    Decision[CheckpointNotesState, CheckpointNotesTrigger, CheckpointNotesOutcome]
):
    """See the module."""

    name = "checkpoint-notes"
    state_type = CheckpointNotesState
    trigger_type = CheckpointNotesTrigger

    @override
    def decide(
        self, session: Session, state: CheckpointNotesState, trigger: CheckpointNotesTrigger
    ) -> CheckpointNotesOutcome:
        del trigger
        params, now = session.parameters.checkpoint_notes, session.monotonic
        rests = {
            uid: at
            for uid, at in state.noted_at.items()
            if uid in session.snapshot.bound and at <= now
        }
        due = [
            note
            for note in _notes(session)
            if now - rests.get(note.uid, _NEVER) >= params.pause_seconds
        ]
        due.sort(key=lambda note: (rests.get(note.uid, _NEVER), note.pod))
        commands = tuple(due[: params.most_writes])
        noted_at = {**rests, **{note.uid: now for note in commands}}
        return CheckpointNotesOutcome(
            commands=commands, state=CheckpointNotesState(noted_at=noted_at)
        )

    @override
    def summary(
        self,
        snapshot: Snapshot,
        trigger: CheckpointNotesTrigger,
        outcome: CheckpointNotesOutcome,
    ) -> dict[str, object]:
        """Return what is written."""
        return {"commands": outcome.commands}


CHECKPOINT_NOTES: Final = CheckpointNotesDecision()


def _notes(session: Session) -> Iterator[NoteCheckpoint]:
    """Yield what the pods do not say yet."""
    for key, pods in session.snapshot.jobs.items():
        if any(_step(session, pod.uid) is not None for pod in pods):
            note = _of_job(session, job_views.view(session.snapshot, key))
            if note is not None:
                yield note


def _of_job(session: Session, job: Job) -> NoteCheckpoint | None:
    for member in sorted(job.having(State.BOUND), key=rank):
        pod, step = member.pod, _step(session, member.pod.uid)
        if step is None:
            continue
        if pod.annotations.get(labels.LAST_CHECKPOINT_STEP) == str(step):
            return None
        return NoteCheckpoint(pod.key, pod.uid, step, _saved_at(session, pod.uid))
    return None


def _step(session: Session, uid: Uid) -> int | None:
    report = session.pod_report(uid)
    return None if report is None or report.checkpoint is None else report.checkpoint.step


def _saved_at(session: Session, uid: Uid) -> float:
    """Return when it was saved, at most now: the time is by the trainer's clock."""
    report = session.pod_report(uid)
    checkpoint = None if report is None else report.checkpoint
    saved_at = None if checkpoint is None else checkpoint.saved_at
    return session.now if saved_at is None else min(saved_at, session.now)
