"""The ConfigMap by which the admission policy knows whether new pods get our gate.

It is shipped with the policy (``deploy/components/gate``). Where the policy is not installed there
is no such ConfigMap, and nothing is written.
"""

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from extender.core.gating.decision import KEY
from extender.writers.leader_writer import LeaderWriter
from shared.clock import Clock
from shared.kube import keyed_data
from shared.kube.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from shared.kube.keyed_data import KeyedData
from shared.logs import LastingProblems

READ_SECONDS: Final = 60.0
"""Time between two readings: it may be changed by others, or installed later."""

log = logging.getLogger(__name__)

_TEXT: Final = "whether new pods get the gate: %s"


@dataclass
class GateConfig:
    """Reads and writes the ConfigMap.

    Attributes:
        path: Path of the ConfigMap.
    """

    client: LeaderWriter
    path: str
    clock: Clock
    _kept: KeyedData[str] | None = None
    _again_at: float = 0.0
    _problems: LastingProblems = field(
        default_factory=lambda: LastingProblems(partial(log.warning, _TEXT))
    )

    @property
    def gated(self) -> bool | None:
        """Whether new pods get the gate; None if that is not known."""
        return None if self._kept is None else self._kept.data.get(KEY) != "false"

    async def read(self) -> None:
        """Read it if it is time to."""
        now = self.clock.monotonic()
        if now < self._again_at:
            return
        self._again_at = now + READ_SECONDS
        try:
            self._kept = await keyed_data.read_config_map(self.client, self.path)
        except (NotFoundError, ForbiddenError):  # the policy is not installed: its right neither
            self._kept = None
            self._problems.update(())
        except ApiError as error:
            self._kept = None
            self._problems.update([str(error)])
        else:
            self._problems.update(())

    async def write(self, *, gated: bool) -> None:
        """Write it as it was read; after a failure it is read again."""
        if self._kept is None:
            return
        changes = {KEY: "true" if gated else "false"}
        version = self._kept.version
        try:
            self._kept = await keyed_data.write_config_map(self.client, self.path, version, changes)
        except ConflictError:
            self.forget()
        except ApiError as error:
            self._kept = None
            self._problems.update([str(error)])

    def forget(self) -> None:
        """Read it again the next time."""
        self._kept, self._again_at = None, 0.0
