"""Which API groups the server has: one small request now and then for all kinds that may lack."""

import asyncio
import logging
from dataclasses import dataclass, field

from shared.kube import discovery, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from shared.kube.resources import ResourceKind
from shared.kube.retry import transient

LOOK_SECONDS = 10.0
"""So much later than its definition, at most, a kind is noticed."""

FIRST_SECONDS = 1.0
"""From one try to the next until the server has answered once."""

log = logging.getLogger(__name__)


@dataclass
class Catalog:
    """The served versions of API groups; ``versions`` is None while they are not known.

    Where the server will not say, every version counts as served: the kinds find out one by one.
    """

    client: KubeClient
    versions: frozenset[str] | None = None
    _hidden: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def known(self) -> bool:
        """The server has answered."""
        return self._hidden or self.versions is not None

    def served(self, kind: ResourceKind) -> tuple[str, ...]:
        """Return those paths of a kind whose group version is there, the best first."""
        every = (kind.path, *kind.later_paths)
        if self._hidden:
            return every
        versions = self.versions or frozenset()
        return tuple(path for path in every if paths.group_version(path) in versions)

    async def changed(self, within_seconds: float) -> bool:
        """Wait until groups came or went, at most so long; say whether they did."""
        try:
            async with asyncio.timeout(within_seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Look again and again; returns only by cancellation."""
        while True:
            try:
                self._learn(await discovery.group_versions(self.client))
            except ApiError as error:
                log.log(self._level(error), "asking for the API groups: %s", error)
                if not transient(error):
                    self._hide()
            await asyncio.sleep(LOOK_SECONDS if self.known else FIRST_SECONDS)

    def _learn(self, versions: frozenset[str]) -> None:
        if versions != self.versions or self._hidden:
            self.versions, self._hidden = versions, False
            self._wake()

    def _level(self, error: ApiError) -> int:
        """Return how loud to be: what stays as it is is said once."""
        return logging.WARNING if transient(error) or not self._hidden else logging.DEBUG

    def _hide(self) -> None:
        if not self._hidden:
            self._hidden = True
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
