"""A kind that may be missing: not installed, or not ours to read. Then there are none of it.

It is read from when it appears, without a restart, and forgotten when it goes. That it is missing
is logged once. The catalog lists the server's API groups by one small request for all such kinds;
while it lacks a group, no request is made for the kinds of that group.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from shared.clock import Clock
from shared.kube import discovery, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ForbiddenError, NotFoundError, transient
from shared.kube.reflector import Reflector
from shared.kube.resources import ResourceKind
from shared.model import Delta, Replace

CATALOG_SECONDS = 10.0
"""A kind is noticed at most so long after its definition."""


FIRST_SECONDS = 1.0
"""Between two tries until the server has answered once."""


@dataclass
class Catalog:
    """The served versions of API groups; ``versions`` is None while they are not known.

    Where the server refuses to list them, every version counts as served, and each kind is tried.
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
        """Wait until groups came or went; return False if none did in that time."""
        try:
            async with asyncio.timeout(within_seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """List the groups again and again; returns only by cancellation."""
        while True:
            try:
                self._learn(await discovery.group_versions(self.client))
            except ApiError as error:
                log.log(self._level(error), "asking for the API groups: %s", error)
                if not transient(error):
                    self._hide()
            await asyncio.sleep(CATALOG_SECONDS if self.known else FIRST_SECONDS)

    def _learn(self, versions: frozenset[str]) -> None:
        if versions != self.versions or self._hidden:
            self.versions, self._hidden = versions, False
            self._wake()

    def _level(self, error: ApiError) -> int:
        """Return the log level: a refusal that stays is logged once."""
        return logging.WARNING if transient(error) or not self._hidden else logging.DEBUG

    def _hide(self) -> None:
        if not self._hidden:
            self._hidden = True
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


ABSENT = (NotFoundError, ForbiddenError)
"""Answers that mean: there are none."""


SOON_SECONDS = 2.0
"""After the first refusal: a group may be listed a moment before its resources are served."""


RETRY_SECONDS = 60.0
"""After further ones: the group is there without this kind, or we may not read it."""


log = logging.getLogger(__name__)


@dataclass
class OptionalKind:
    """Mirrors a collection while it is there.

    Attributes:
        kind: The collection.
        without: Consequence of its absence, for the log.
        sink: Takes each delta, and an empty collection when it goes.
        connect: Makes the reflector: the kind, its sink, what is called with an error that does
            not mean missing, and the errors that end it.
        catalog: What the server has.
        patience_seconds: If the server fails to list it for so long, by a broken conversion for
            example, decisions begin without it; None: they wait.
    """

    kind: ResourceKind
    without: str
    sink: Callable[[Delta], None]
    connect: Callable[
        [ResourceKind, Callable[[Delta], None], tuple[type[ApiError], ...]], Reflector
    ]
    catalog: Catalog
    clock: Clock
    patience_seconds: float | None = None
    reflector: Reflector = field(init=False)
    _present: bool | None = None
    _begun_at: float | None = None

    def __post_init__(self) -> None:
        self.reflector = self.connect(self.kind, self._take, ABSENT)

    @property
    def present(self) -> bool:
        """It was listed, and has not gone since."""
        return self._present is True

    @property
    def known(self) -> bool:
        """Whether it is there is known; or decisions wait for that no longer."""
        if self._present is not None:
            return True
        if self._begun_at is None or self.patience_seconds is None:
            return False
        return self.clock.monotonic() - self._begun_at >= self.patience_seconds

    async def run(self) -> None:
        """Mirror it whenever it is there; returns only by cancellation."""
        news = True
        while True:
            wait_seconds = RETRY_SECONDS
            if self.catalog.known:
                served = self.catalog.served(self.kind)
                error = await self._mirror(served)
                self._lacks(error)
                if served and news:
                    wait_seconds = SOON_SECONDS
            news = await self.catalog.changed(wait_seconds)

    async def _mirror(self, served: tuple[str, ...]) -> ApiError | None:
        """Follow the first path that answers; return the refusal of the last one."""
        refusal: ApiError | None = None
        for path in served:
            self.reflector.kind = replace(self.kind, path=path)
            if self._begun_at is None:
                self._begun_at = self.clock.monotonic()
            try:
                await self.reflector.run()
            except ABSENT as error:
                refusal = error
        return refusal

    def _take(self, delta: Delta) -> None:
        if not self.present:
            log.info("%s can be read", self.kind.resource)
        self._present = True
        self.sink(delta)

    def _lacks(self, refusal: ApiError | None) -> None:
        if self._present is False:
            return
        if self.present:
            self.sink(Replace(self.kind.kind, self.kind.source, ()))
        self._present = False
        level = logging.WARNING if isinstance(refusal, ForbiddenError) else logging.INFO
        why = "not installed" if refusal is None else str(refusal)
        log.log(level, "%s cannot be read, %s: %s", self.kind.resource, self.without, why)
