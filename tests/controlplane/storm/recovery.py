"""Waiting until every program knows its objects again after one was killed.

The watches of kube-controller-manager begin again up to a minute after the API server was killed
several times. Until then its Job controller neither makes nor deletes pods, its node controller
takes nodes for lost, and no other program can do anything about it.

Source:
    client-go 0.36 ``tools/cache/reflector.go``: back-off of 0.8 to 30 s with as much jitter;
    Kubernetes 1.36 ``pkg/controller/job/job_controller.go``: "read version … is not as new as
    written version …".
"""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from shared.kube import paths
from shared.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from tests.controlplane import faults
from tests.controlplane.jobs import Pods
from tests.controlplane.watching import Object
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

RECOVERY_SECONDS: Final = 240.0
NEVER: Final = float("inf")


@dataclass
class Recovery:
    """Sends a small Job through all programs: it is made, scheduled, run, deleted and collected.

    Attributes:
        since: From when all programs work (monotonic seconds); infinite while one does not.
        longest: The longest recovery, in seconds.
    """

    yard: Yard
    since: float = 0.0
    longest: float = 0.0
    _namespace: str = ""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def prepare(self) -> None:
        """Make the namespace of the small Jobs."""
        self._namespace = await self.yard.namespace("recovery")

    def lost(self) -> None:
        """Note that a program is about to be killed."""
        self.since = NEVER

    async def complete(self) -> None:
        """Wait until a small Job has gone through all programs, which run again."""
        began = time.monotonic()
        name = f"probe-{next(self._numbers)}"
        await eventually(lambda: self._made(name), RECOVERY_SECONDS, f"{name} is made")
        await eventually(lambda: self._runs(name), RECOVERY_SECONDS, f"{name} runs")
        await eventually(lambda: self._deleted(name), RECOVERY_SECONDS, f"{name} is deleted")
        gone = f"the pod of {name} is gone"
        await eventually(lambda: not self._pods(name), RECOVERY_SECONDS, gone)
        self.since = time.monotonic()
        self.longest = max(self.longest, self.since - began)

    async def _made(self, name: str) -> bool:
        path = paths.namespaced(paths.JOBS, self._namespace)
        try:
            await self.yard.client.post(path, faults.gang(name, 1, Pods(cpu="0")))
        except AlreadyExistsError:  # the answer to the first try was lost
            return True
        except ApiError as error:
            raise AssertionError(error) from error
        return True

    async def _deleted(self, name: str) -> bool:
        path = f"{paths.namespaced(paths.JOBS, self._namespace)}/{name}"
        try:
            await self.yard.client.delete(path, propagation="Background")
        except NotFoundError:
            return True
        except ApiError as error:
            raise AssertionError(error) from error
        return True

    def _runs(self, name: str) -> bool:
        return any(pod["status"].get("phase") == "Running" for pod in self._pods(name))

    def _pods(self, name: str) -> list[Object]:
        return self.yard.history.of(f"{self._namespace}/{name}")
