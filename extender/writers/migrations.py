"""The API writes of migrations: the status first, then the actions of the new phase.

Different migrations are written in parallel. A refused write changes nothing: the next pass decides
again from the new state.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from extender.core.migration.commands import (
    Action,
    CommandResult,
    CreateMigration,
    EvictPod,
    Inspect,
    MigrationCommand,
    RecreatePod,
    RemoveMigration,
    Result,
    ResumeJob,
    SuspendJob,
    WriteStatus,
)
from extender.core.records.migration_reasons import MigrationReason as R
from extender.metrics.extender import ExtenderMetrics
from extender.writers import bare_pods
from extender.writers.decision_log.recorder import Recorder
from extender.writers.departures import Departures
from extender.writers.events import EventWriter
from extender.writers.leader_writer import LeaderWriter
from shared.kube import migrations, moving
from shared.kube.errors import AlreadyExistsError, ApiError, NotFoundError, OddObjectError
from shared.model import Upsert

log = logging.getLogger(__name__)


@dataclass
class MigrationWriter:
    """Carries out the commands of migrations."""

    client: LeaderWriter
    recorder: Recorder
    events: EventWriter
    metrics: ExtenderMetrics

    def __post_init__(self) -> None:
        self._departures = Departures(self.client, self.recorder)

    async def carry_out(self, commands: Iterable[MigrationCommand]) -> tuple[CommandResult, ...]:
        """Carry out commands; return the results of the actions among them."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._carry_out(command)) for command in commands]
        return tuple(outcome for task in tasks for outcome in task.result())

    async def _carry_out(self, command: MigrationCommand) -> tuple[CommandResult, ...]:
        if not self.client.leads():
            return ()
        try:
            match command:
                case WriteStatus():
                    await self._write(command)
                    return tuple([await self._act(action) for action in command.actions])
                case CreateMigration():
                    await self._create(command)
                case RemoveMigration(migration=migration):
                    await moving.remove_migration(self.client, migration)
                case _:
                    return (await self._act(command),)
        except (ApiError, OddObjectError) as error:
            log.warning("%s: %s", _about(command), error)
        return ()

    async def _write(self, command: WriteStatus) -> None:
        answer = await moving.write_status(self.client, command.migration)
        self.recorder.apply(Upsert(migrations.decode(answer)))
        migration = command.migration
        log.info("%s: %s %s", migration.key, migration.phase.value, migration.reason)
        if command.left is not None:
            self.metrics.moves.observe_phase(migration, command.left, command.seconds)
        if command.event is not None:
            self.events.enqueue([command.event])

    async def _create(self, command: CreateMigration) -> None:
        migration = command.migration
        kept = await bare_pods.templates(self.client, migration)
        if kept is None:
            return  # the pod is gone: there is nothing to move
        sign = partial(self.recorder.signatures.migration, migration.namespace, migration.name)
        answer = await moving.create_migration(self.client, migration, kept, sign)
        if answer is not None:
            self.recorder.apply(Upsert(migrations.decode(answer)))
            log.info("%s: %s", migration.key, migration.why)
            self.events.enqueue([command.event])

    async def _act(self, action: Action) -> CommandResult:
        """Carry out one action; the leadership is checked before each, as a pass may take long."""
        if not self.client.leads():
            return CommandResult(action.migration, Result.REFUSED)
        match action:
            case EvictPod():
                return await self._departures.evict(action)
            case SuspendJob():
                return await self._departures.suspend(action)
            case Inspect():
                return await self._departures.inspect(action)
            case ResumeJob() | RecreatePod():
                return await self._bring_back(action)

    async def _bring_back(self, action: ResumeJob | RecreatePod) -> CommandResult:
        try:
            if isinstance(action, ResumeJob):
                if action.migration.partition("/")[0] != action.namespace:
                    log.error("%s: not in the namespace of its Job", _about(action))
                    return CommandResult(action.migration, Result.REFUSED, R.OWNER_NOT_SUPPORTED)
                await self._departures.resume(action.namespace, action.name, action.uid)
            else:
                await bare_pods.recreate(self.client, action)
        except (AlreadyExistsError, NotFoundError) as error:
            log.info("%s: %s", _about(action), error)
        except (ApiError, OddObjectError) as error:
            log.warning("%s: %s", _about(action), error)
            return CommandResult(action.migration, Result.REFUSED, R.NOT_RECREATED, str(error))
        return CommandResult(action.migration, Result.DONE)


def _about(command: MigrationCommand) -> str:
    if isinstance(command, WriteStatus | CreateMigration | RemoveMigration):
        return f"{type(command).__name__} of {command.migration.key}"
    return f"{type(command).__name__} of {command.migration}"
