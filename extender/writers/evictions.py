"""Reports to evictions of the Eviction Request API in which it is our turn.

The Eviction must have the uid and version on which was decided. The server's answer is applied to
the store at once. A refused report is made again after a rest: the next pass decides about it.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.cluster.commands import AnswerEviction
from extender.writers.decision_log.recorder import Recorder
from extender.writers.leader_writer import LeaderWriter
from shared.clock import Clock
from shared.kube import evictions, writes
from shared.kube.errors import ApiError, ConflictError, NotFoundError, OddObjectError
from shared.model import Upsert

REST_SECONDS: Final = 10.0
"""Pause after the server refused a report."""

log = logging.getLogger(__name__)


@dataclass
class EvictionWriter:
    """Carries out reports, those to different evictions in parallel."""

    client: LeaderWriter
    recorder: Recorder
    clock: Clock
    _rests: dict[str, float] = field(default_factory=dict)

    async def carry_out(self, commands: Sequence[AnswerEviction]) -> None:
        """Carry out the reports of one pass; a refused one stops no other."""
        now = self.clock.monotonic()
        self._rests = {uid: until for uid, until in self._rests.items() if now < until}
        async with asyncio.TaskGroup() as group:
            for command in commands:
                if command.eviction.uid not in self._rests:
                    group.create_task(self._answer(command))

    async def _answer(self, command: AnswerEviction) -> None:
        eviction = command.eviction
        text = "eviction %s: %s: %s"
        try:
            answer = await writes.answer_eviction(
                self.client,
                eviction,
                at=command.at,
                message=command.message,
                completed=command.completed,
            )
            self.recorder.apply(Upsert(evictions.decode(answer)))
        except (ConflictError, NotFoundError) as error:
            log.info(text, eviction.key, command.message, error)
        except (ApiError, OddObjectError) as error:
            log.warning(text, eviction.key, command.message, error)
            self._rests[eviction.uid] = self.clock.monotonic() + REST_SECONDS
        else:
            log.info("eviction %s: %s", eviction.key, command.message)
