"""One pass over all parkings: open ones take a step, then new ones begin.

1. Every open parking takes its next step (``open_parkings``). Its state is in the owner's
   annotation, not in the state of this decision.
2. The jobs are parked that the proposals name, if they may be parked now (``new_parkings``). What
   proposes is given to the decision: ``prompt`` proposals are made in every pass, the others when
   a search is due.
3. What the restart of jobs took that were parked is noted in their records (``parking_costs``).
4. Evictions that wait for us get a report (``evictions``).
5. Our PodDisruptionBudgets are made and deleted (``drain_budgets``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import job_views
from extender.core.cluster.commands import (
    AnswerEviction,
    ChangeOwner,
    DeleteBudget,
    EmitEvent,
    PutBudget,
)
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.preemption import (
    drain_budgets,
    evictions,
    new_parkings,
    open_parkings,
    parking_costs,
)
from extender.core.preemption.open_parkings import StepInputs
from extender.core.preemption.state import PreemptionState, followed
from extender.core.queue.decision import QUEUE
from extender.core.records import parking, parking_writes
from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.parking import (
    OwnedParking,
    Parking,
    ParkingProposal,
    ParkingRecords,
    Propose,
)
from shared.model import JobKey
from shared.readapi.ledgers import Declined

REFUSED: Final = "ParkingRefused"
"""Reason of the Event about a job that a person wants parked and that is not."""

UNPROTECTED: Final = "NoDrainBudget"
"""Reason of the Event about a job that would be parked and has no budget of ours."""


class PreemptionTrigger(Struct, frozen=True):
    """Why the pass runs.

    Attributes:
        due: A search for jobs to park is due.
    """

    due: bool


@dataclass(frozen=True, kw_only=True)
class PreemptionOutcome(Outcome[PreemptionState, ChangeOwner]):
    """What one pass decided: at most one command for each owner.

    Attributes:
        ended: Parkings that ended since the last pass.
        measured: Parkings that had ended and whose restart was measured since the last pass.
        events: That jobs are not parked, each once.
        answers: Reports to evictions that wait for us.
        budgets: Writes of our PodDisruptionBudgets.
    """

    ended: tuple[Parking, ...] = ()
    measured: tuple[Parking, ...] = ()
    events: tuple[EmitEvent, ...] = ()
    answers: tuple[AnswerEviction, ...] = ()
    budgets: tuple[PutBudget | DeleteBudget, ...] = ()


class PreemptionDecision(Decision[PreemptionState, PreemptionTrigger, PreemptionOutcome]):
    """See the module.

    Args:
        prompt: Proposals of which a person or a node leaves no choice; cheap to make.
        searching: Proposals that take a search.
    """

    name = "preemption"
    state_type = PreemptionState
    trigger_type = PreemptionTrigger
    reads = (QUEUE,)

    def __init__(self, prompt: Sequence[Propose] = (), searching: Sequence[Propose] = ()) -> None:
        self._prompt = tuple(prompt)
        self._searching = tuple(searching)

    def is_prompted(self, session: Session, state: PreemptionState) -> bool:
        """Return True if a proposal is new that is prompt, or a restart can be measured."""
        records = parking.parking_records(session.snapshot)
        if next(parking_costs.restarted(session, records), None) is not None:
            return True
        jobs = new_parkings.proposed_jobs(_of(self._prompt, session))
        return not jobs.issubset(state.declined)

    @override
    def decide(
        self, session: Session, state: PreemptionState, trigger: PreemptionTrigger
    ) -> PreemptionOutcome:
        records = parking.parking_records(session.snapshot)
        state, news = followed(state, records, session.now)
        proposals = _of(self._prompt, session)
        if trigger.due:
            proposals += _of(self._searching, session)
        chosen = new_parkings.choose(session, proposals)
        events = tuple(
            _refused(session, one)
            for key, one in chosen.declined.items()
            if _is_news(state.declined.get(key), one)
        )
        budgets = drain_budgets.writes(session, chosen.declined, due=trigger.due)
        if trigger.due:
            refused = _news(state.without_budget, budgets.refused)
            events += tuple(_no_budget(session, key, why) for key, why in refused)
            state = replace(state, without_budget=budgets.refused)
        declined = chosen.declined if trigger.due else {**state.declined, **chosen.declined}
        return PreemptionOutcome(
            commands=_writes(session, records, chosen.commands),
            state=replace(state, declined=declined),
            ended=news.ended,
            measured=news.measured,
            events=events,
            budgets=budgets.commands,
            answers=tuple(evictions.answers(session, chosen.declined)),
        )

    @override
    def summary(
        self, snapshot: Snapshot, trigger: PreemptionTrigger, outcome: PreemptionOutcome
    ) -> dict[str, object]:
        """Return the commands, and why other jobs are not parked."""
        declined = {job: why.reason for job, why in sorted(outcome.state.declined.items())}
        writes = {"commands": outcome.commands, "answers": outcome.answers}
        writes |= {"budgets": outcome.budgets}
        return {**writes, "events": outcome.events, "declined": declined}


def _of(proposing: Sequence[Propose], session: Session) -> tuple[ParkingProposal, ...]:
    return tuple(proposal for propose in proposing for proposal in propose(session))


def _writes(
    session: Session, records: ParkingRecords, begun: Sequence[ChangeOwner]
) -> tuple[ChangeOwner, ...]:
    """Return the next writes of open parkings, the first ones of new ones, and measured costs."""
    steps = (_step(session, records, owned) for owned in records.open)
    commands = (*(command for command in steps if command is not None), *begun)
    changed = {command.owner.uid for command in commands}
    measured = parking_costs.restarted(session, records)
    return (*commands, *(one for one in measured if one.owner.uid not in changed))


def _step(session: Session, records: ParkingRecords, owned: OwnedParking) -> ChangeOwner | None:
    snapshot, one = session.snapshot, owned.parking
    job = job_views.view(snapshot, one.job) if one.job in snapshot.jobs else None
    return open_parkings.step(
        StepInputs(
            session=session,
            owned=owned,
            job=job,
            beside=records.of_same_start(one),
            migrating=any(m.open and m.job == one.job for m in snapshot.migrations.values()),
        )
    )


def _is_news(before: Declined | None, now: Declined) -> bool:
    return before is None or before.reason != now.reason


def _news(
    before: Mapping[JobKey, NoBudget], now: Mapping[JobKey, NoBudget]
) -> tuple[tuple[JobKey, NoBudget], ...]:
    return tuple((key, why) for key, why in sorted(now.items()) if before.get(key) != why)


def _no_budget(session: Session, key: JobKey, why: NoBudget) -> EmitEvent:
    job = job_views.view(session.snapshot, key)
    text = f"evictions of its pods do not wait for a checkpoint: {why.text}"
    return EmitEvent(
        job.namespace, job.about, UNPROTECTED, text, warning=True, action=parking_writes.ACTION
    )


def _refused(session: Session, declined: Declined) -> EmitEvent:
    job = job_views.view(session.snapshot, JobKey(declined.job))
    text = f"the job is not parked: {declined.message}"
    return EmitEvent(
        job.namespace, job.about, REFUSED, text, warning=True, action=parking_writes.ACTION
    )
