"""One pass over all changes of workers: open ones take a step, then new ones begin.

1. Every open change takes its next step (``open_changes``). Its state is in the owner's annotation,
   not in the state of this decision.
2. When due, the changes begin that slot plans and DRS propose, if the job may change now
   (``new_changes``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner, MarkPod
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import measured_speeds, new_changes, open_changes
from extender.core.elastic.measured_speeds import SpeedMemory
from extender.core.elastic.open_changes import StepInputs
from extender.core.elastic.proposals import proposals
from extender.core.elastic.state import ElasticState, Ended, followed, measured
from extender.core.queue.decision import QUEUE
from extender.core.records import elastic_workers, rescale
from extender.core.records.rescale import OwnedRescale, Proposal, Rescale, RescaleRecords
from shared.model import JobKey

Propose = Callable[[Session, SpeedMemory], tuple[Proposal, ...]]
"""Return what should change: ``proposals``, or a test's."""


class ElasticTrigger(Struct, frozen=True):
    """Why the pass runs.

    Attributes:
        due: New changes may begin now.
    """

    due: bool


@dataclass(frozen=True, kw_only=True)
class ElasticOutcome(Outcome[ElasticState, ChangeOwner]):
    """What one pass decided: at most one command for each owner.

    Attributes:
        ended: Changes that ended since the last pass.
        marks: Marks that leaving pods still need.
    """

    ended: tuple[Ended, ...] = ()
    marks: tuple[MarkPod, ...] = ()


class ElasticDecision(Decision[ElasticState, ElasticTrigger, ElasticOutcome]):
    """See the module.

    Args:
        propose: Proposes changes.
    """

    name = "elastic"
    state_type = ElasticState
    trigger_type = ElasticTrigger
    reads = (QUEUE,)

    def __init__(self, propose: Propose = proposals) -> None:
        self._propose = propose

    @override
    def decide(
        self, session: Session, state: ElasticState, trigger: ElasticTrigger
    ) -> ElasticOutcome:
        records = rescale.rescale_records(session.snapshot)
        state, ended = followed(state, records, session.now)
        learned = measured_speeds.learned(state.speeds, session)
        state = measured(replace(state, speeds=learned))
        steps = (_step(session, records, noted) for noted in records.open)
        commands = tuple(command for command in steps if command is not None)
        if trigger.due:
            chosen = new_changes.choose(session, records, self._propose(session, learned))
            commands += chosen.commands
            state = replace(state, declined=chosen.declined)
        marks = new_changes.marks(session.snapshot, records)
        return ElasticOutcome(commands=commands, state=state, ended=ended, marks=marks)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: ElasticTrigger, outcome: ElasticOutcome
    ) -> dict[str, object]:
        """Return the commands and marks, and why other jobs do not change."""
        declined = {job: why.reason for job, why in sorted(outcome.state.declined.items())}
        return {"commands": outcome.commands, "marks": outcome.marks, "declined": declined}


ELASTIC: Final = ElasticDecision()


def _step(session: Session, records: RescaleRecords, noted: OwnedRescale) -> ChangeOwner | None:
    snapshot, owner, one = session.snapshot, noted.owner, noted.rescale
    job = job_views.view(snapshot, one.job) if one.job in snapshot.jobs else None
    return open_changes.step(
        StepInputs(
            session=session,
            owner=owner,
            rescale=one,
            job=job,
            workers=elastic_workers.owner_workers(snapshot, job, owner),
            beside=records.of_same_start(one),
            unmarked=_unmarked(snapshot, records, one),
            migrating=any(m.open and m.job == one.job for m in snapshot.migrations.values()),
        )
    )


def _unmarked(snapshot: Snapshot, records: RescaleRecords, one: Rescale) -> frozenset[JobKey]:
    changes = (records.by_job.get(other.job) for other in records.of_same_start(one))
    return frozenset(
        change.rescale.job
        for change in changes
        if change and new_changes.marks_of_change(snapshot, change)
    )
