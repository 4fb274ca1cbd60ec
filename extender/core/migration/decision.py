"""One pass over all migrations.

1. Every open migration takes its next step (``state_machine``).
2. Jobs that we suspended for a migration that no longer exists are resumed.
3. Ended migrations that are not needed any more are removed.
4. When due, new migrations begin by the rule of the policy. ``specon``: first converged containers
   that request another node (``converged_proposals``), then hosts with few containers
   (``balance_proposals``). ``count``: count balancing alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import balance_proposals, converged_proposals, hosts, migration_history
from extender.core.migration.commands import (
    CommandResult,
    MigrationCommand,
    RemoveMigration,
    ResumeJob,
)
from extender.core.migration.migration_history import MigrationHistory
from extender.core.migration.proposals import Proposals
from extender.core.migration.state_machine import commands_of_step, with_results
from extender.core.migration.transitions import Attempt
from extender.core.parameters.migration import MigrationParameters, MigrationPolicy
from shared import labels
from shared.model import Migration, MigrationPhase, PodKey, Uid
from shared.readapi.ledgers import Declined


class MigrationState(Struct, frozen=True):
    """State from pass to pass; losing it costs time, not correctness.

    Attributes:
        attempts: The last try of each open migration's action.
        stayed: Pods that Algorithm 2 found best where they are, since when.
        declined: Why jobs were not moved when they were last examined, by job.
    """

    attempts: Mapping[str, Attempt] = {}
    stayed: Mapping[Uid, float] = {}
    declined: Mapping[str, Declined] = {}


@dataclass(frozen=True)
class Choice:
    """New migrations of a pass.

    Attributes:
        commands: Migrations to create, each with an Event.
        stayed: Pods that Algorithm 2 found best where they are, since when.
        declined: Why jobs were not moved when they were last examined, by job.
    """

    commands: tuple[MigrationCommand, ...]
    stayed: Mapping[Uid, float]
    declined: Mapping[str, Declined]


def choose(
    session: Session, history: MigrationHistory, state: MigrationState, *, installed: bool
) -> Choice:
    """Return the migrations that should begin now; ``state`` as of the last pass."""
    params = session.parameters.migration
    stayed = state.stayed if params.target.stay_counts_as_move else {}
    proposals = Proposals(
        session=session,
        history=history,
        hosts=hosts.read_hosts(session, history, stayed),
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


@dataclass(frozen=True, kw_only=True)
class MigrationOutcome(Outcome[MigrationState, MigrationCommand]):
    """The decision of one pass."""


class MigrationTrigger(Struct, frozen=True):
    """Why the pass runs.

    Attributes:
        choose: Whether new migrations may begin now.
        installed: Whether the Migration resource is installed; without it nothing begins.
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
        snapshot, params = session.snapshot, session.parameters.migration
        history = migration_history.read_history(snapshot)
        attempts = with_results(state.attempts, trigger.results, session.monotonic)
        state = _present(replace(state, attempts=attempts), snapshot, history)
        commands = [
            command
            for migration in history.open
            for command in commands_of_step(session, migration, attempts.get(migration.key))
        ]
        commands += _orphans(snapshot, history)
        commands += _outdated(snapshot, history, session.now, params)
        if trigger.choose and params.policy is not MigrationPolicy.NONE:
            chosen = choose(session, history, state, installed=trigger.installed)
            commands += chosen.commands
            state = replace(state, stayed=chosen.stayed, declined=chosen.declined)
        return MigrationOutcome(commands=tuple(commands), state=state)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: MigrationTrigger, outcome: MigrationOutcome
    ) -> dict[str, object]:
        """Return the commands, and why jobs were not moved."""
        declined = {job: d.reason for job, d in sorted(outcome.state.declined.items())}
        return {"commands": outcome.commands, "declined": declined}


MIGRATION: Final = MigrationDecision()


def _orphans(snapshot: Snapshot, history: MigrationHistory) -> Iterator[ResumeJob]:
    """Yield commands for Jobs still suspended for a migration that has ended or is gone."""
    open_keys = {migration.key for migration in history.open}
    for owner in snapshot.owners.annotated(labels.MIGRATION):
        key = owner.annotations[labels.MIGRATION]
        ours = key.partition("/")[0] == owner.namespace  # otherwise copied, or not written by us
        if ours and key not in open_keys and owner.job and owner.job.suspended:
            yield ResumeJob(key, owner.namespace, owner.name, owner.uid)


def _outdated(
    snapshot: Snapshot, history: MigrationHistory, now: float, params: MigrationParameters
) -> Iterator[RemoveMigration]:
    """Yield commands for aborted migrations, and those of bare pods, that are not needed any more.

    Other migrations with an owner count as moves and are deleted with the owner.
    """
    for migration in (m for _, migrations in sorted(history.by_job.items()) for m in migrations):
        transitions = migration.transitions
        ended_at = transitions[-1][1] if transitions else migration.created_at
        if now < max(ended_at + params.keep_seconds, migration.hold_until):
            continue
        bare_and_past = migration.owner is None and _is_past(snapshot, migration)
        if migration.phase is MigrationPhase.ABORTED or bare_and_past:
            yield RemoveMigration(migration)


def _is_past(snapshot: Snapshot, migration: Migration) -> bool:
    """Return True if no old or new pod of a migration exists."""
    names = (name for m in migration.members for name in (m.pod, m.replacement) if name)
    return not any(PodKey(f"{migration.namespace}/{name}") in snapshot.pods for name in names)


def _present(
    state: MigrationState, snapshot: Snapshot, history: MigrationHistory
) -> MigrationState:
    """Return the state without entries of ended migrations and of pods and jobs that are gone."""
    open_keys = {migration.key for migration in history.open}
    return MigrationState(
        attempts={k: a for k, a in state.attempts.items() if k in open_keys},
        stayed={uid: at for uid, at in state.stayed.items() if uid in snapshot.bound},
        declined={k: d for k, d in state.declined.items() if k in snapshot.jobs},
    )
