"""How the pods of a migration are removed: evicted, or by suspending their Job.

Both end in one of three ways: done, not done, or unclear because neither the request nor the read
after it was answered.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.migration.commands import CommandResult, EvictPod, Inspect, Result, SuspendJob
from extender.core.records.migration_reasons import MigrationReason as R
from extender.writers.decision_log.recorder import Recorder
from extender.writers.leader_writer import LeaderWriter
from shared.kube import disruption_budgets, moving, parse, paths, writes
from shared.kube.errors import ApiError, NotFoundError, OddObjectError, ThrottledError
from shared.model import Owner, PodKey, Uid, Upsert

PARALLELISM: Final = 16
"""Dry-run evictions of one gang at a time."""

Pods = Sequence[tuple[PodKey, Uid]]

log = logging.getLogger(__name__)


@dataclass
class Departures:
    """Evicts pods, and suspends and resumes Jobs."""

    client: LeaderWriter
    recorder: Recorder

    async def evict(self, action: EvictPod) -> CommandResult:
        """Evict a pod."""
        try:
            await moving.evict(self.client, action.pod, action.uid)
        except ThrottledError as error:
            return _throttled(action.migration, error)
        except ApiError as error:
            log.warning("evicting %s: %s", action.pod, error)
            pods = [(action.pod, action.uid)]
            return await self._result(action.migration, pods, None, str(error))
        self.recorder.assume_deleted(action.uid)
        return CommandResult(action.migration, Result.DONE)

    async def suspend(self, action: SuspendJob) -> CommandResult:
        """Suspend a Job if the disruption budgets allow that all its pods end."""
        job = (action.namespace, action.job)
        if action.job.namespace != action.namespace:
            text = f"{action.job.key} is not in the namespace of {action.migration}"
            log.error("not suspended: %s", text)
            return CommandResult(action.migration, Result.REFUSED, R.OWNER_NOT_SUPPORTED, text)
        try:
            if refusal := await self._budget_refusal(action):
                return _throttled(action.migration, refusal)
            answer = await moving.suspend(self.client, *job, action.migration)
        except ApiError as error:
            log.warning("suspending %s: %s", action.job.key, error)
            return await self._result(action.migration, (), job, str(error))
        self.recorder.apply(Upsert(parse.decode_job(answer)))
        return CommandResult(action.migration, Result.DONE)

    async def resume(self, namespace: str, name: str, uid: Uid) -> None:
        """Resume a suspended Job."""
        answer = await moving.resume(self.client, namespace, name, uid)
        self.recorder.apply(Upsert(parse.decode_job(answer)))

    async def inspect(self, action: Inspect) -> CommandResult:
        """Read the result of an eviction or suspension whose answer was lost."""
        return await self._result(action.migration, action.pods, action.job)

    async def _budget_refusal(self, action: SuspendJob) -> ThrottledError | None:
        """Check every pod alone by a dry run, then all together."""
        slots = asyncio.Semaphore(PARALLELISM)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._dry_run(key, uid, slots)) for key, uid in action.pods]
        for task in tasks:
            if error := task.result():
                return error
        if len(action.pods) == 1:
            return None
        observed = self.recorder.store.snapshot().pods
        pods = [observed[key].labels for key, _ in action.pods if key in observed]
        path = paths.namespaced(paths.DISRUPTION_BUDGETS, action.namespace)
        name = disruption_budgets.blocking(await self.client.get(path), pods)
        text = f"the disruption budget {name} does not allow {len(pods)} pods at once"
        return ThrottledError(429, "TooManyRequests", text) if name is not None else None

    async def _dry_run(
        self, key: PodKey, uid: Uid, slots: asyncio.Semaphore
    ) -> ThrottledError | None:
        async with slots:
            try:
                await moving.evict(self.client, key, uid, dry_run=True)
            except ThrottledError as error:
                return error
            except ApiError as error:  # the next pass sees the fault of the pod
                log.warning("dry run of evicting %s: %s", key, error)
                return ThrottledError(error.status, error.reason, error.message)
        return None

    async def _result(
        self, migration: str, pods: Pods, job: tuple[str, Owner] | None, why: str = ""
    ) -> CommandResult:
        try:
            departed = await self._job_departed(*job) if job else await self._pods_departed(pods)
        except (ApiError, OddObjectError) as error:
            return CommandResult(migration, Result.UNCLEAR, R.EVICTION_REFUSED, str(error))
        if departed:
            return CommandResult(migration, Result.DONE)
        return CommandResult(migration, Result.REFUSED, R.EVICTION_REFUSED, why)

    async def _job_departed(self, namespace: str, job: Owner) -> bool:
        try:
            live = parse.decode_job(await self.client.get(paths.job(namespace, job.name)))
        except NotFoundError:
            return True
        self.recorder.apply(Upsert(live))
        return live.job is not None and live.job.suspended

    async def _pods_departed(self, pods: Pods) -> bool:
        return all([await self._pod_departed(key, uid) for key, uid in pods])

    async def _pod_departed(self, key: PodKey, uid: Uid) -> bool:
        try:
            live = parse.decode_pod(await self.client.get(paths.pod(*writes.split(key))))
        except NotFoundError:
            departed = True
        else:
            departed = live.uid != uid or live.deleting
        if departed:
            self.recorder.assume_deleted(uid)
        return departed


def _throttled(migration: str, error: ThrottledError) -> CommandResult:
    log.info("%s: %s", migration, error)
    wait_seconds = error.retry_after_seconds or 0.0
    return CommandResult(
        migration, Result.REFUSED, R.DISRUPTION_BUDGET, error.message, wait_seconds
    )
