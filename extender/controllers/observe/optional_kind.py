"""One kind that may be missing: not installed, or not ours to read. Then there are none of it.

It is read from when it appears, without a restart, and forgotten when it goes. That it is missing
is said once. While the server's list of API groups (``catalog``) lacks its group, not one request
is made for it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from extender.controllers.observe.catalog import Catalog
from shared.clock import Clock
from shared.kube.errors import ApiError, ForbiddenError, NotFoundError
from shared.kube.reflector import Reflector
from shared.kube.resources import ResourceKind
from shared.model import Delta, Replace

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
        without: What follows when it is missing, for the log.
        sink: Takes each delta, and an empty collection when it goes.
        connect: Makes the reflector: the kind, its sink, what is called with an error that does
            not mean missing, and the errors that end it.
        catalog: What the server has.
        patience_seconds: A server that fails for so long to list it, a broken conversion for
            example, keeps nobody waiting; None: everybody waits.
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
        """It was found out whether it is there; or nobody waits for that any longer."""
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
