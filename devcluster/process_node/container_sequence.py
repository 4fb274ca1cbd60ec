"""The order of a pod's containers: init containers one by one, then all others together.

A sidecar (init container with ``restartPolicy: Always``) is only waited for until it runs; it is
asked to end when the last ordinary container has ended.

Source:
    https://kubernetes.io/docs/concepts/workloads/pods/init-containers and …/sidecar-containers.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from devcluster.process_node.container_runner import ContainerRunner
from devcluster.process_node.ending import Ending, first_of
from devcluster.process_node.spec import Container, PodObject
from devcluster.process_node.status import ContainerRecord, PodRecord
from shared.clock import Clock

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
        """Run the init containers; False if one failed for good or the pod shall end."""
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
