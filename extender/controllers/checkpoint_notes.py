"""The controller of checkpoint notes: a look at all reports every few seconds."""

import asyncio
from dataclasses import dataclass

from typing_extensions import override

from extender.controllers.base import Controller
from extender.core.checkpoint_notes.decision import (
    CHECKPOINT_NOTES,
    CheckpointNotesDecision,
    CheckpointNotesOutcome,
    CheckpointNotesState,
    CheckpointNotesTrigger,
)
from extender.core.cluster.commands import MarkPod, NoteCheckpoint
from extender.core.cluster.session import Session
from extender.writers.owners import OwnerWriter
from shared import labels
from shared.kube import stamps


@dataclass(kw_only=True)
class CheckpointNotesController(
    Controller[CheckpointNotesState, CheckpointNotesTrigger, CheckpointNotesOutcome]
):
    """See the module.

    Attributes:
        owners: Annotates pods.
        interval_seconds: Time between two looks.
    """

    decision: CheckpointNotesDecision = CHECKPOINT_NOTES
    owners: OwnerWriter
    interval_seconds: float

    @override
    async def wait(self) -> None:
        await asyncio.sleep(self.interval_seconds)

    @override
    def trigger(self, session: Session) -> CheckpointNotesTrigger | None:
        """Return the trigger; None if there are no reports, or nothing is to be noted."""
        if not session.parameters.checkpoint_notes.enabled or not session.snapshot.reports:
            return None
        return CheckpointNotesTrigger()

    @override
    async def carry_out(self, outcome: CheckpointNotesOutcome) -> None:
        await self.owners.mark([_mark(note) for note in outcome.commands])

    @override
    def stand_by(self) -> None:
        if self.state.noted_at:
            self.forget()


def _mark(note: NoteCheckpoint) -> MarkPod:
    notes = {
        labels.LAST_CHECKPOINT_STEP: str(note.step),
        labels.LAST_CHECKPOINT_TIME: stamps.seconds(note.saved_at),
    }
    return MarkPod(note.pod, note.uid, notes)
