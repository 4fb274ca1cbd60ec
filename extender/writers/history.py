"""The history of past jobs in a ConfigMap, so that it outlives the extender.

It is read when this replica begins to lead, and written at most once a minute, only if the
ConfigMap is still as it was read. A failure is logged once, and admission continues without.
"""

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from extender.core.pricing import history
from extender.core.pricing.history import History
from extender.writers.leader_writer import LeaderWriter
from shared.clock import Clock
from shared.errors import InputError
from shared.kube import keyed_data, paths
from shared.kube.errors import ApiError, ConflictError
from shared.logs import LastingProblems

NAME: Final = "shuntyard-admission-history"
KEY: Final = "history"
PAUSE_SECONDS: Final = 60.0
"""Time between two attempts to write."""

log = logging.getLogger(__name__)

_TEXT: Final = "history of admission: %s"


@dataclass
class HistoryKeeper:
    """Reads and writes the ConfigMap in ``namespace``."""

    client: LeaderWriter
    namespace: str
    clock: Clock
    _version: str = ""
    _kept: History = field(default_factory=History)
    _again_at: float = 0.0
    _problems: LastingProblems = field(
        default_factory=lambda: LastingProblems(partial(log.warning, _TEXT))
    )

    @property
    def path(self) -> str:
        """Path of the ConfigMap."""
        return paths.namespaced(paths.CONFIG_MAPS, self.namespace, NAME)

    async def load(self) -> History:
        """Return the kept history; empty if it cannot be read."""
        self._version, self._kept = "", History()
        try:
            kept = await keyed_data.read_config_map(self.client, self.path)
        except ApiError as error:
            self._problems.update([f"{error}; the history of past jobs is lost at the next start"])
            return self._kept
        self._version = kept.version
        text, place = kept.data.get(KEY, ""), f"{self.namespace}/{NAME}"
        try:
            self._kept = history.read(text, field=f"ConfigMap {place}, key {KEY}")
        except InputError as error:
            self._problems.update([str(error)])
        return self._kept

    async def save(self, newest: History) -> History:
        """Write the history if it is new and the pause is over; return the merged history.

        If another replica has written meanwhile, its history is read and merged with ours, and
        written the next time.
        """
        now = self.clock.monotonic()
        if newest == self._kept or now < self._again_at:
            return newest
        self._again_at = now + PAUSE_SECONDS
        if not self._version:
            return history.merged(await self.load(), newest)
        try:
            await self._write(newest)
        except ConflictError:
            return history.merged(await self.load(), newest)
        except ApiError as error:
            self._problems.update([f"{error}; the history of past jobs is not kept"])
        return newest

    async def _write(self, newest: History) -> None:
        changes = {KEY: history.text(newest)}
        path, version = self.path, self._version
        written = await keyed_data.write_config_map(self.client, path, version, changes)
        self._version, self._kept = written.version, newest
        self._problems.update(())
