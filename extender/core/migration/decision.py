"""One pass over all migrations.

1. Every open migration takes its next step (``stepping``).
2. Jobs that we keep suspended for a migration that no longer exists are resumed.
3. Ended migrations that are not needed any more are removed.
4. When due, new migrations begin by the rule of the policy. ``specon``: first converged containers
   that ask for another node (``converging``), then hosts that ran short (``rebalancing``).
   ``count``: count balancing alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster.commands import EmitEvent
from extender.core.cluster.session import Decision, Outcome, Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import balance_proposals, converged_proposals, hosts, migration_history
from extender.core.migration.commands import (
    CommandResult,
    MigrationCommand,
    RemoveMigration,
    Result,
    ResumeJob,
    WriteStatus,
)
from extender.core.migration.migration_history import MigrationHistory
from extender.core.migration.proposals import Proposals
from extender.core.migration.state_machine import Advance, Attempt, StepInputs, advance
from extender.core.parameters.migration import MigrationParameters, MigrationPolicy
from extender.core.records.migrations import recorded_replacement
from shared import labels
from shared.ledgers import Declined
from shared.model import Migration, MigrationPhase, OwnerReference, PodKey, Uid


class MigrationState(Struct, frozen=True):
    """What is remembered from one pass to the next; losing it costs time, not correctness.

    Attributes:
        attempts: The last try of each open migration's action.
        stayed: Pods that Algorithm 2 found best where they are, since when.
        declined: Why jobs were not moved when they were looked at last, by job.
    """

    attempts: Mapping[str, Attempt] = {}
    stayed: Mapping[Uid, float] = {}
    declined: Mapping[str, Declined] = {}


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        commands: Migrations to be made, each with an Event.
        stayed: Pods that Algorithm 2 found best where they are, since when.
        declined: Why jobs were not moved when they were looked at last, by job.
    """

    commands: tuple[MigrationCommand, ...]
    stayed: Mapping[Uid, float]
    declined: Mapping[str, Declined]


def choose(
    session: Session, book: MigrationHistory, state: MigrationState, *, installed: bool
) -> Choice:
    """Return the migrations that should begin now; ``state`` as of the last pass."""
    params = session.parameters.migration
    stayed = state.stayed if params.target.stay_counts_as_move else {}
    proposals = Proposals(
        session=session,
        book=book,
        hosts=hosts.read_hosts(session, book, stayed),
        stayed=dict(state.stayed),
        declined=dict(state.declined),
        installed=installed,
    )
    if params.policy is MigrationPolicy.SPECON:
        converged_proposals.propose(proposals)
        balance_proposals.propose_rebalance(proposals)
    elif params.policy is MigrationPolicy.COUNT:
        balance_proposals.propose_count_balance(proposals)
    return Choice(tuple(proposals.commands), proposals.stayed, proposals.declined)


FIRST_RETRY_SECONDS = 1.0


MOST_RETRY_SECONDS = 10.0


ENDS = {
    MigrationPhase.COMPLETED: "Migrated",
    MigrationPhase.ABORTED: "MigrationAborted",
    MigrationPhase.FAILED: "MigrationFailed",
}
"""Reasons of the Event that tells of the end."""


@dataclass(frozen=True, kw_only=True)
class MigrationOutcome(Outcome[MigrationState, MigrationCommand]):
    """What one pass decided."""


class MigrationTrigger(Struct, frozen=True):
    """Why the pass runs.

    Attributes:
        choose: Whether new migrations may begin now.
        installed: Whether the Migration resource is there; without it nothing begins.
        results: Of the last pass's commands.
    """

    choose: bool
    installed: bool = True
    results: tuple[CommandResult, ...] = ()


class MigrationDecision(Decision[MigrationState, MigrationTrigger, MigrationOutcome]):
    """See the module."""

    name = "migration"
    state_type = MigrationState
    trigger_type = MigrationTrigger

    @override
    def decide(
        self, session: Session, state: MigrationState, trigger: MigrationTrigger
    ) -> MigrationOutcome:
        snapshot, reading = session.snapshot, session.reading
        params, book = session.parameters.migration, migration_history.read_history(snapshot)
        state = _kept(_learned(state, trigger, reading), snapshot, book)
        steps = [_step(session, state, one) for one in book.open]
        commands = [command for one in steps for command in one]
        commands += _orphans(snapshot, book)
        commands += _outdated(snapshot, book, reading.now, params)
        if trigger.choose and params.policy is not MigrationPolicy.NONE:
            chosen = choose(session, book, state, installed=trigger.installed)
            commands += chosen.commands
            state = replace(state, stayed=chosen.stayed, declined=chosen.declined)
        return MigrationOutcome(commands=tuple(commands), state=state)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: MigrationTrigger, outcome: MigrationOutcome
    ) -> dict[str, object]:
        """Return the commands, and why jobs were not moved."""
        declined = {job: why.reason for job, why in sorted(outcome.state.declined.items())}
        return {"commands": outcome.commands, "declined": declined}


MIGRATION: Final = MigrationDecision()


def _learned(memory: MigrationState, trigger: MigrationTrigger, reading: Reading) -> MigrationState:
    """Remember what came of commands; a failed one is tried again after 1 s, 2 s, … 10 s."""
    attempts = dict(memory.attempts)
    for outcome in trigger.results:
        before = attempts.get(outcome.migration)
        tries = 0 if outcome.result is Result.DONE else 1 + (before.tries if before else 0)
        pause = min(MOST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(tries - 1, 10))
        wait_seconds = max(pause, outcome.retry_after_seconds) if tries else 0.0
        attempts[outcome.migration] = Attempt(
            result=outcome.result,
            reason=outcome.reason,
            detail=outcome.detail,
            until=reading.monotonic + wait_seconds,
            tries=tries,
        )
    return replace(memory, attempts=attempts)


def _step(session: Session, memory: MigrationState, one: Migration) -> Iterator[MigrationCommand]:
    taken = advance(StepInputs(one, session, memory.attempts.get(one.key)))
    if taken.migration is one:
        yield from taken.actions
        return
    left = one.phase if taken.migration.phase is not one.phase else None
    entered_at = one.transitions[-1][1] if one.transitions else one.created_at
    event = None if taken.migration.open else _event(session.snapshot, taken)
    seconds = max(0.0, session.now - entered_at)
    yield WriteStatus(taken.migration, taken.actions, left, seconds, event)


def _event(snapshot: Snapshot, taken: Advance) -> EmitEvent:
    one = taken.migration
    lead = one.members[0]
    pod = recorded_replacement(snapshot, one, lead)
    name, uid = (pod.name, pod.uid) if pod else (lead.pod, lead.uid)
    about = one.owner or OwnerReference("v1", "Pod", name, uid)
    places = f"{lead.source} to {lead.node or lead.target}"
    done = f"resumed at step {lead.resumed_step}" if lead.resumed_step is not None else "resumed"
    message = f"{places}: {one.message or done}"
    warning = one.phase is MigrationPhase.FAILED
    return EmitEvent(one.namespace, about, ENDS[one.phase], message, warning, action="Migrate")


def _orphans(snapshot: Snapshot, book: MigrationHistory) -> Iterator[ResumeJob]:
    """A Migration that was deleted by hand, or failed, must not leave its Job suspended."""
    open_keys = {migration.key for migration in book.open}
    for owner in snapshot.owners.annotated(labels.MIGRATION):
        key = owner.annotations[labels.MIGRATION]
        ours = key.partition("/")[0] == owner.namespace  # else it was copied, or is not ours
        if ours and key not in open_keys and owner.job and owner.job.suspended:
            yield ResumeJob(key, owner.namespace, owner.name, owner.uid)


def _outdated(
    snapshot: Snapshot, book: MigrationHistory, now: float, params: MigrationParameters
) -> Iterator[RemoveMigration]:
    """Aborted ones, and those of bare pods, when their time is over and no pod needs them.

    Those with an owner that count as moves go when the owner goes.
    """
    for one in (m for _, migrations in sorted(book.by_job.items()) for m in migrations):
        ended_at = one.transitions[-1][1] if one.transitions else one.created_at
        if now < max(ended_at + params.keep_seconds, one.hold_until):
            continue
        if one.phase is MigrationPhase.ABORTED or (one.owner is None and _is_past(snapshot, one)):
            yield RemoveMigration(one)


def _is_past(snapshot: Snapshot, one: Migration) -> bool:
    """Return True if neither old nor new pods of it are there."""
    names = (name for m in one.members for name in (m.pod, m.replacement) if name)
    return not any(PodKey(f"{one.namespace}/{name}") in snapshot.pods for name in names)


def _kept(memory: MigrationState, snapshot: Snapshot, book: MigrationHistory) -> MigrationState:
    open_keys = {migration.key for migration in book.open}
    return MigrationState(
        attempts={k: a for k, a in memory.attempts.items() if k in open_keys},
        stayed={uid: at for uid, at in memory.stayed.items() if uid in snapshot.bound},
        declined={k: d for k, d in memory.declined.items() if k in snapshot.jobs},
    )
