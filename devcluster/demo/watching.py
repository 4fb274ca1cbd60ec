"""Our own watch of pods and nodes, and what the extender says about the queue meanwhile."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import aiohttp
import msgspec

from devcluster.demo.history import JobName, Ledger, Recorded
from shared.api import (
    JobsResponse,
    MigrationsResponse,
    ProgressEntry,
    QueueEntry,
    QueueResponse,
    Response,
)
from shared.clock import Clock
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector
from shared.kube.resources import NODES, PODS
from shared.ledgers import Declined, MigrationEntry
from shared.model import Delta

POLL_SECONDS: Final = 0.05
SLOW_SECONDS: Final = 0.5
REQUEST_SECONDS: Final = 2.0

Answer = TypeVar("Answer", bound=Response)


@dataclass
class Witness:
    """Keeps everything that was seen.

    Attributes:
        clock: For when.
        history: What the watch said, in order.
        ledger: The state that follows from it.
        queues: Different answers of the extender about its queue, in order.
        said: The last thing it said about each job, also of those that wait no longer.
        training: How far each job's training was when it last knew.
        migrations: Its ledger of migrations.
        declined: Why a job was not moved, as it said last, by job.
    """

    clock: Clock
    history: list[Recorded] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    queues: list[QueueResponse] = field(default_factory=list)
    said: dict[JobName, QueueEntry] = field(default_factory=dict)
    training: dict[JobName, ProgressEntry] = field(default_factory=dict)
    migrations: tuple[MigrationEntry, ...] = ()
    declined: dict[str, Declined] = field(default_factory=dict)

    def see(self, delta: Delta) -> None:
        """Record one thing the watch said."""
        recorded = Recorded(self.clock.monotonic(), delta)
        self.history.append(recorded)
        self.ledger.apply(recorded)

    def hear(self, queue: QueueResponse) -> None:
        """Keep an answer about the queue, if it says something new about who waits or how much."""
        self.said.update({f"{e.namespace}/{e.job}": e for e in queue.entries})
        if not self.queues or _said(queue) != _said(self.queues[-1]):
            self.queues.append(queue)

    def hear_jobs(self, jobs: JobsResponse) -> None:
        """Keep what is said about training."""
        known = {f"{job.namespace}/{job.job}": job.progress for job in jobs.entries}
        self.training.update({job: said for job, said in known.items() if said is not None})

    def hear_moves(self, moves: MigrationsResponse) -> None:
        """Keep the ledger of migrations."""
        self.migrations = moves.entries
        self.declined.update({one.job: one for one in moves.declined})

    def values(self) -> dict[JobName, dict[JobName, float]]:
        """For each job, the V of all that waited in the last answer that still had it in line."""
        return {job: said for queue in self.queues for said in [_values(queue)] for job in said}


def _values(queue: QueueResponse) -> dict[JobName, float]:
    return {f"{entry.namespace}/{entry.job}": entry.v for entry in queue.entries}


def _said(queue: QueueResponse) -> list[tuple[str, str, float, str]]:
    return [(e.namespace, e.job, e.v, e.reason) for e in queue.entries]


async def watch(client: KubeClient, witness: Witness) -> None:
    """Feed the witness from the API server until cancelled."""
    rng = random.Random()  # noqa: S311 - jitter of back-offs, nothing secret
    async with asyncio.TaskGroup() as group:
        for kind in (NODES, PODS):
            reflector = Reflector(client, kind, witness.see, clock=witness.clock, rng=rng)
            group.create_task(reflector.run())


async def listen(url: str, witness: Witness) -> None:
    """Ask the extender what it knows until cancelled; it may be away for a while."""
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with (
        aiohttp.ClientSession(url, timeout=timeout) as session,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(_ask(session, "/v1/queue", QueueResponse, witness.hear, POLL_SECONDS))
        group.create_task(_ask(session, "/v1/jobs", JobsResponse, witness.hear_jobs, SLOW_SECONDS))
        group.create_task(
            _ask(session, "/v1/migrations", MigrationsResponse, witness.hear_moves, SLOW_SECONDS)
        )


async def _ask(
    session: aiohttp.ClientSession,
    path: str,
    kind: type[Answer],
    tell: Callable[[Answer], None],
    pause_seconds: float,
) -> None:
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(path) as answer:
                answer.raise_for_status()
                tell(msgspec.json.decode(await answer.read(), type=kind))
        await asyncio.sleep(pause_seconds)
