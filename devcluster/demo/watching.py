"""Observes pods and nodes by a watch, and polls the extender's read API."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import aiohttp
import msgspec

from devcluster.demo.history import JobName, Ledger, Recorded
from shared.clock import Clock
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector
from shared.kube.resources import NODES, PODS
from shared.model import Delta
from shared.readapi.api import (
    JobEntry,
    JobsResponse,
    MigrationsResponse,
    ProgressEntry,
    QueueEntry,
    QueueResponse,
    Response,
)
from shared.readapi.ledgers import Declined, MigrationEntry

POLL_SECONDS: Final = 0.05
SLOW_SECONDS: Final = 0.5
REQUEST_SECONDS: Final = 2.0

Answer = TypeVar("Answer", bound=Response)


@dataclass
class Observer:
    """Collects all observations.

    Attributes:
        clock: For time stamps.
        history: Events of the watch, in order.
        ledger: The state after them.
        queues: Distinct answers of the extender about its queue, in order.
        entries: Last queue entry of each job, also of jobs that no longer wait.
        jobs: Last entry of each job in the extender's list.
        training: Last known training progress of each job.
        migrations: The extender's ledger of migrations.
        declined: Last reason why a job was not moved, by job.
    """

    clock: Clock
    history: list[Recorded] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    queues: list[QueueResponse] = field(default_factory=list)
    entries: dict[JobName, QueueEntry] = field(default_factory=dict)
    jobs: dict[JobName, JobEntry] = field(default_factory=dict)
    training: dict[JobName, ProgressEntry] = field(default_factory=dict)
    migrations: tuple[MigrationEntry, ...] = ()
    declined: dict[str, Declined] = field(default_factory=dict)

    def record(self, delta: Delta) -> None:
        """Record one event of the watch."""
        recorded = Recorded(self.clock.monotonic(), delta)
        self.history.append(recorded)
        self.ledger.apply(recorded)

    def add_queue(self, queue: QueueResponse) -> None:
        """Keep an answer about the queue if jobs, values or reasons are new."""
        self.entries.update({f"{e.namespace}/{e.job}": e for e in queue.entries})
        if not self.queues or _summary(queue) != _summary(self.queues[-1]):
            self.queues.append(queue)

    def add_jobs(self, jobs: JobsResponse) -> None:
        """Keep the jobs and their training progress."""
        self.jobs = {f"{job.namespace}/{job.job}": job for job in jobs.entries}
        progress = {name: job.progress for name, job in self.jobs.items()}
        self.training.update({job: last for job, last in progress.items() if last is not None})

    def add_migrations(self, migrations: MigrationsResponse) -> None:
        """Keep the ledger of migrations."""
        self.migrations = migrations.entries
        self.declined.update({one.job: one for one in migrations.declined})

    def values(self) -> dict[JobName, dict[JobName, float]]:
        """Return for each job the V of all waiting jobs, by the last answer that listed it."""
        return {
            job: values for queue in self.queues for values in [_values(queue)] for job in values
        }


def _values(queue: QueueResponse) -> dict[JobName, float]:
    return {f"{entry.namespace}/{entry.job}": entry.v for entry in queue.entries}


def _summary(queue: QueueResponse) -> list[tuple[str, str, float, str]]:
    return [(e.namespace, e.job, e.v, e.reason) for e in queue.entries]


async def watch(client: KubeClient, observer: Observer) -> None:
    """Record events of the API server until cancelled."""
    rng = random.Random()  # noqa: S311 - jitter of back-offs, nothing secret
    async with asyncio.TaskGroup() as group:
        for kind in (NODES, PODS):
            reflector = Reflector(client, kind, observer.record, clock=observer.clock, rng=rng)
            group.create_task(reflector.run())


async def poll(url: str, observer: Observer) -> None:
    """Poll the extender until cancelled; it may be down for a while."""
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with (
        aiohttp.ClientSession(url, timeout=timeout) as session,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(
            _poll(session, "/v1/queue", QueueResponse, observer.add_queue, POLL_SECONDS)
        )
        group.create_task(_poll(session, "/v1/jobs", JobsResponse, observer.add_jobs, SLOW_SECONDS))
        group.create_task(
            _poll(
                session, "/v1/migrations", MigrationsResponse, observer.add_migrations, SLOW_SECONDS
            )
        )


async def _poll(
    session: aiohttp.ClientSession,
    path: str,
    kind: type[Answer],
    keep: Callable[[Answer], None],
    pause_seconds: float,
) -> None:
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(path) as answer:
                answer.raise_for_status()
                keep(msgspec.json.decode(await answer.read(), type=kind))
        await asyncio.sleep(pause_seconds)
