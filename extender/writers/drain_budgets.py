"""Writes of the PodDisruptionBudgets by which drains wait for checkpoints.

The name is the precondition of a creation, the uid that of a change and of a deletion. The server's
answer is applied to the store at once. A refused write is made again after a rest: the next pass
decides about it.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from extender.core.cluster.commands import DeleteBudget, PutBudget
from extender.writers.decision_log.recorder import Recorder
from extender.writers.leader_writer import LeaderWriter
from shared import labels
from shared.clock import Clock
from shared.kube import disruption_budgets, resources, writes
from shared.kube.errors import ApiError, ConflictError, NotFoundError, OddObjectError
from shared.model import Delete, Upsert

REST_SECONDS: Final = 10.0
"""Pause after the server refused a write."""
PARALLELISM: Final = 16

log = logging.getLogger(__name__)


@dataclass
class DrainBudgetWriter:
    """Carries out the writes of one pass, ``PARALLELISM`` at one time."""

    client: LeaderWriter
    recorder: Recorder
    clock: Clock
    _rests: dict[str, float] = field(default_factory=dict)

    async def carry_out(self, commands: Sequence[PutBudget | DeleteBudget]) -> None:
        """Carry out the writes; a refused one stops no other."""
        now = self.clock.monotonic()
        self._rests = {key: until for key, until in self._rests.items() if now < until}
        slots = asyncio.Semaphore(PARALLELISM)
        async with asyncio.TaskGroup() as group:
            for command in commands:
                if command.key not in self._rests:
                    group.create_task(self._write(command, slots))

    async def _write(self, command: PutBudget | DeleteBudget, slots: asyncio.Semaphore) -> None:
        try:
            async with slots:
                if isinstance(command, PutBudget):
                    await self._put(command)
                else:
                    await self._delete(command)
        except (ConflictError, NotFoundError) as error:  # AlreadyExistsError is a conflict
            log.info("disruption budget %s: %s", command.key, error)
        except (ApiError, OddObjectError) as error:
            log.warning("disruption budget %s: %s", command.key, error)
            self._rests[command.key] = self.clock.monotonic() + REST_SECONDS

    async def _put(self, command: PutBudget) -> None:
        if command.uid:
            answer = await writes.change_budget(
                self.client, command.namespace, command.name, command.uid, command.min_available
            )
        else:
            answer = await writes.create_budget(self.client, command.namespace, _manifest(command))
        self.recorder.apply(Upsert(disruption_budgets.decode(answer)))
        log.info("disruption budget %s: %d pods stay", command.key, command.min_available)

    async def _delete(self, command: DeleteBudget) -> None:
        await writes.delete_budget(self.client, command.namespace, command.name, command.uid)
        kind = resources.DISRUPTION_BUDGETS.kind
        self.recorder.apply(Delete(kind, command.key, command.uid))
        log.info("disruption budget %s is deleted", command.key)


def _manifest(command: PutBudget) -> dict[str, Any]:
    owner, (label, text) = command.owner, command.selector
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": command.name,
            "labels": {labels.DRAIN_BUDGET: "true"},
            "ownerReferences": [reference],
        },
        "spec": {
            "minAvailable": command.min_available,
            "selector": {"matchLabels": {label: text}},
        },
    }
