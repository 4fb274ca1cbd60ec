"""What past jobs taught, in a ConfigMap: it outlives the extender, and decides nothing by itself.

It is read when this replica begins to act, and written at most once a minute, only if it is still
what was read. What cannot be read or written is said once, and admission goes on all the same.
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
"""From one try to write to the next."""

log = logging.getLogger(__name__)

_TEXT: Final = "history of admission: %s"


@dataclass
class HistoryKeeper:
    """See the module; ``namespace`` is that of the ConfigMap."""

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
        """Where it is."""
        return paths.namespaced(paths.CONFIG_MAPS, self.namespace, NAME)

    async def load(self) -> History:
        """Return what is kept; nothing where it cannot be read."""
        self._version, self._kept = "", History()
        try:
            found = await keyed_data.read_config_map(self.client, self.path)
        except ApiError as error:
            self._problems.update(
                [f"{error}; what past jobs taught is forgotten at the next start"]
            )
            return self._kept
        self._version = found.version
        text, place = found.data.get(KEY, ""), f"{self.namespace}/{NAME}"
        try:
            self._kept = history.read(text, field=f"ConfigMap {place}, key {KEY}")
        except InputError as error:
            self._problems.update([str(error)])
        return self._kept

    async def save(self, known: History) -> History:
        """Write the history if it is new and the time has come; return all that is known then.

        Where somebody else has written meanwhile, theirs is read first, and written with ours the
        next time.
        """
        now = self.clock.monotonic()
        if known == self._kept or now < self._again_at:
            return known
        self._again_at = now + PAUSE_SECONDS
        if not self._version:
            return history.merged(await self.load(), known)
        try:
            await self._write(known)
        except ConflictError:
            return history.merged(await self.load(), known)
        except ApiError as error:
            self._problems.update([f"{error}; what past jobs taught is not kept"])
        return known

    async def _write(self, known: History) -> None:
        changes = {KEY: history.text(known)}
        path, version = self.path, self._version
        written = await keyed_data.write_config_map(self.client, path, version, changes)
        self._version, self._kept = written.version, known
        self._problems.update(())
