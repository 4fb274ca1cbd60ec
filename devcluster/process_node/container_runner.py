"""Runs the containers of a pod, each with restarts by its policy, until they must end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.process_node import status
from devcluster.process_node.container_process import ContainerProcess, await_started, launch
from devcluster.process_node.cpu_budget import CpuBudget
from devcluster.process_node.ending import Ending, first_of
from devcluster.process_node.errors import ConfigError, RefusedError, StartError
from devcluster.process_node.process import Process, Records
from devcluster.process_node.sandbox import EntrySpec
from devcluster.process_node.spec import Container, PodObject
from devcluster.process_node.status import ContainerRecord, PodRecord, Running, Terminated, Waiting
from shared.clock import Clock

START_ERROR_CODE: Final = 128
_CONFIG_RETRY_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Machine:
    """Services of the node for its containers."""

    clock: Clock
    budget: CpuBudget
    records: Records


@dataclass(frozen=True, slots=True)
class RunnerTask:
    """One container and how to run it.

    ``spec`` builds the command for each run; ``log_path`` returns the file of a run by its number;
    ``changed`` is called after each change of ``record``.
    """

    pod: str
    record: ContainerRecord
    policy: str
    spec: Callable[[], EntrySpec]
    directory: Path
    log_path: Callable[[int], Path]
    changed: Callable[[], None]
    title: str


class ContainerRunner:
    """Runs one container.

    Args:
        task: The container.
        machine: Services of its node.
        ending: Its request to stop.

    Attributes:
        started: Set when it runs for the first time.
    """

    def __init__(self, task: RunnerTask, machine: Machine, ending: Ending) -> None:
        self._task = task
        self._machine = machine
        self._ending = ending
        self.started = asyncio.Event()

    async def run(self) -> None:
        """Return when the container has ended and will not be started again."""
        record = self._task.record
        while not self._ending.requested.is_set():
            if isinstance(record.state, Terminated):
                if not status.should_restart(self._task.policy, record.state):
                    return
                if await self._back_off(record.state):
                    return
            self._set(await self._run_once())

    def _set(self, state: status.State | None) -> None:
        if state is not None:
            self._task.record.state = state
            self._task.changed()

    async def _back_off(self, ended: Terminated) -> bool:
        """Wait until the next start; True if the end was requested meanwhile."""
        record = self._task.record
        seconds = status.backoff_seconds(record.restarts + 1)
        message = f"back-off {seconds:g}s restarting failed {self._task.title}"
        record.last = ended
        self._set(Waiting("CrashLoopBackOff", message))
        if await self._ending.pause(seconds):
            self._set(ended)
            return True
        record.restarts += 1
        return False

    async def _run_once(self) -> Terminated | None:
        """Run the container once; None if it could not be prepared (yet)."""
        started_at = self._machine.clock.now()
        try:
            spec = self._task.spec()
            log_path = self._task.log_path(self._task.record.restarts)
            container, channel = launch(spec, self._task.directory, log_path, self._machine.clock)
        except (ConfigError, OSError) as error:
            self._set(Waiting("CreateContainerConfigError", str(error)))
            await self._ending.pause(_CONFIG_RETRY_SECONDS)
            return None
        except RefusedError as error:
            self._set(Waiting(error.reason, error.message))
            await self._ending.requested.wait()
            return None
        with self._counted(container.process):
            problem = await self._until_over(container, channel, started_at)
        await container.drain()
        finished_at = self._machine.clock.now()
        if problem:
            return Terminated(START_ERROR_CODE, "StartError", finished_at, started_at, problem)
        return status.terminated(container.process.return_code, started_at, finished_at)

    @contextmanager
    def _counted(self, process: Process) -> Iterator[None]:
        """Register a process with the node while it runs."""
        if process.identity is not None:
            self._machine.records.add(process.identity)
        self._machine.budget.started(self._task.pod, process.pid)
        try:
            yield
        finally:
            process.kill_group()
            self._machine.budget.ended(self._task.pod, process.pid)
            self._machine.records.remove(process.pid)

    async def _until_over(
        self, container: ContainerProcess, channel: int, started_at: float
    ) -> str:
        """Wait until the process has ended; return the error if the command could not start."""
        process = container.process
        try:
            await await_started(channel)
        except StartError as error:
            await process.exited.wait()
            return str(error)
        self._task.record.container_id = f"process://{process.pid}"
        self._set(Running(started_at))
        self.started.set()
        await first_of(process.exited.wait(), self._ending.requested.wait())
        process.terminate()
        await first_of(process.exited.wait(), self._ending.deadline())
        process.kill_group()
        await process.exited.wait()
        return ""


ALWAYS: Final = "Always"
MakeRunner = Callable[[Container, ContainerRecord, str, Ending], ContainerRunner]
"""Makes the runner of a container, given its record, its restart policy and its ending."""


class ContainerSequence:
    """Runs the containers of one pod.

    Args:
        pod: The pod.
        record: What happened so far; containers that ended for good are not run again.
        make_runner: Makes the runner of one container.
        clock: For the sidecars' deadline.
    """

    def __init__(
        self, pod: PodObject, record: PodRecord, make_runner: MakeRunner, clock: Clock
    ) -> None:
        self._pod = pod
        self._record = record
        self._make_runner = make_runner
        self._clock = clock

    async def run(self, ending: Ending) -> None:
        """Return when every container has ended for good."""
        sidecars_ending = Ending(self._clock)
        async with asyncio.TaskGroup() as sidecars:
            if await self._initialise(sidecars, ending, sidecars_ending):
                async with asyncio.TaskGroup() as ordinary:
                    pairs = zip(self._pod.spec.containers, self._record.containers, strict=True)
                    for container, record in pairs:
                        policy = container.restart_policy or self._pod.spec.restart_policy
                        runner = self._make_runner(container, record, policy, ending)
                        ordinary.create_task(runner.run())
            sidecars_ending.request(min(self._pod.grace_seconds, ending.remaining_seconds))

    async def _initialise(
        self, sidecars: asyncio.TaskGroup, ending: Ending, sidecars_ending: Ending
    ) -> bool:
        """Run the init containers; False if one failed for good or the pod must end."""
        usual = "Never" if self._pod.spec.restart_policy == "Never" else "OnFailure"
        pairs = zip(self._pod.spec.init_containers or (), self._record.init_containers, strict=True)
        for container, record in pairs:
            if record.sidecar:
                runner = self._make_runner(container, record, ALWAYS, sidecars_ending)
                sidecars.create_task(runner.run())
                await first_of(runner.started.wait(), ending.requested.wait())
            elif not record.succeeded:
                await self._make_runner(container, record, usual, ending).run()
                if not record.succeeded:
                    return False
        return not ending.requested.is_set()
