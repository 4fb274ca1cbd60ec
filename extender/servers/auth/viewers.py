"""Callers of the read API, and what they may see: what the API server would show them, no more.

The API server authenticates the token and decides what its bearer may do; both verdicts are cached
by the SHA-256 of the token. While it does not answer, no new token is accepted and nothing new is
shown.

An answer may cover every namespace, and each needs an access review. So a denial is cached longer
than a permission, and reviews are limited for each caller and for all together.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from aiohttp import hdrs, web

from extender.metrics.extender import Access, ExtenderMetrics, Reviewed
from extender.servers.auth.tokens import TokenReviews, Verdict, rejected
from extender.servers.caches import ExpiringCache
from shared.clock import Clock
from shared.kube.errors import ApiError
from shared.kube.reviews import Act, TokenVerdict, User
from shared.readapi.answer import VIEWERS_AUDIENCE

REVIEW_SECONDS: Final = 10.0
"""How long a caller waits for a verdict, including for its turn."""
MOST_TOKENS: Final = 4096
MOST_ACTS: Final = 65_536
"""Verdicts in the caches: on tokens, and on what their bearers may do."""
MOST_AT_ONCE: Final = 16
"""Concurrent reviews: the API server has other work."""
MOST_WAITING: Final = 1024
"""Reviews that may wait for their turn; callers with further ones get 503."""

SERVICE_ACCOUNTS: Final = "system:serviceaccount:"
"""Prefix of service accounts' user names; namespace and name follow."""
DENIED_LONGER: Final = 10
"""A denial is cached so many times longer than a permission,"""
DENIED_SECONDS: Final = 600.0
"""but no longer than this: a user with a new permission waits for it."""
CALLER_AT_ONCE: Final = 1000
CALLER_PER_SECOND: Final = 10.0
ALL_AT_ONCE: Final = 5000
ALL_PER_SECOND: Final = 100.0
"""Access reviews of one caller and of all: what the first answer takes where there are a thousand
namespaces, and then what watching three thousand takes."""
FEW_AT_ONCE: Final = 20
FEW_PER_SECOND: Final = 0.2
"""So many of one caller do not count towards the common limit: a scrape of the metrics, or a read
of a namespace or two, is answered while others use up the common limit."""
MOST_CALLERS: Final = 10_000
"""Callers whose use is known; those that asked longest ago are dropped."""
ROUNDING_SECONDS: Final = 1e-6
"""Sums of times are not exact; a wait this short is no wait."""

Caller = TypeVar("Caller", bound=Hashable)

log = logging.getLogger(__name__)


@dataclass
class RateLimit(Generic[Caller]):
    """A token bucket for each caller.

    Attributes:
        at_once: Capacity of a bucket.
        per_second: How fast it is filled again.
    """

    at_once: int
    per_second: float
    _full_at: ExpiringCache[Caller, float] = field(
        default_factory=lambda: ExpiringCache(MOST_CALLERS)
    )

    def wait_seconds(self, caller: Caller, monotonic: float) -> float:
        """Return how long until a caller's bucket is not empty; 0: it is not."""
        full_at = self._full_at.get(caller, monotonic)
        if full_at is None:
            return 0.0
        left_seconds = full_at - monotonic - (self.at_once - 1) / self.per_second
        return left_seconds if left_seconds > ROUNDING_SECONDS else 0.0

    def spend(self, caller: Caller, monotonic: float) -> None:
        """Take one token out of a caller's bucket."""
        full_at = max(self._full_at.get(caller, monotonic) or 0.0, monotonic) + 1 / self.per_second
        self._full_at.put(caller, full_at, full_at)


@dataclass(frozen=True)
class Bearer:
    """A caller with a token; implements ``authorizer.Viewer``."""

    user: User
    digest: bytes
    viewers: "Viewers"

    async def may(self, act: Act) -> bool:
        """See ``Viewers.may``."""
        return await self.viewers.may(self, act)

    @property
    def caller(self) -> str:
        """Name of the rate limits that apply."""
        return caller_of(self.user)

    @property
    def key(self) -> str:
        """Digest of the token: no other token need see the same."""
        return self.digest.hex()


@dataclass(frozen=True)
class RoleHolder:
    """A caller with the Role ``shuntyard-viewer``, for which the API server issued a token.

    It sees everything, as that Role allows. ``caller`` is derived from the token: the API server
    issues one to each user who requests it, and all are of one account.
    """

    caller: str
    key: str = "role"

    async def may(self, act: Act) -> bool:  # noqa: ARG002 - the signature of every viewer
        """Return True."""
        return True


@dataclass(kw_only=True)
class Viewers:
    """Authenticates viewers and caches what they may do.

    Attributes:
        review: Asks the API server about a token.
        access: Asks the API server whether a user may do something.
        audience: Audience that tokens must have; None: the API server's own.
        kept_seconds: How long a verdict is cached.
        proxied_review: Like ``review`` for ``VIEWERS_AUDIENCE``; None: no such token is accepted.
        accounts: User names whose token for that audience stands for the Role ``shuntyard-viewer``.
    """

    review: Callable[[str], Awaitable[TokenVerdict]]
    access: Callable[[User, Act], Awaitable[bool]]
    audience: str | None
    kept_seconds: float
    clock: Clock
    metrics: ExtenderMetrics
    proxied_review: Callable[[str], Awaitable[TokenVerdict]] | None = None
    accounts: frozenset[str] = frozenset()
    _tokens: TokenReviews[User] = field(init=False)
    _proxied: TokenReviews[User] = field(init=False)
    _acts: ExpiringCache[tuple[bytes, Act], bool] = field(
        default_factory=lambda: ExpiringCache(MOST_ACTS)
    )
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))
    _waiting: int = 0
    _each: RateLimit[str] = field(
        default_factory=lambda: RateLimit(CALLER_AT_ONCE, CALLER_PER_SECOND)
    )
    _few: RateLimit[str] = field(default_factory=lambda: RateLimit(FEW_AT_ONCE, FEW_PER_SECOND))
    _all: RateLimit[None] = field(default_factory=lambda: RateLimit(ALL_AT_ONCE, ALL_PER_SECOND))

    def __post_init__(self) -> None:
        seconds = self.kept_seconds
        self._tokens = TokenReviews(
            review=self.review,
            judge=partial(_judged, audience=self.audience),
            most_kept=MOST_TOKENS,
            kept_seconds=seconds,
            clock=self.clock,
            count=self._count,
        )
        self._proxied = TokenReviews(
            review=self.proxied_review or _reject_all,
            judge=partial(_judged, audience=VIEWERS_AUDIENCE),
            most_kept=MOST_TOKENS,
            kept_seconds=seconds,
            clock=self.clock,
            count=self._count,
        )

    async def authenticate(self, authorization: str) -> Bearer:
        """Return the bearer of a token; raises as ``TokenReviews.authenticate``."""
        user, digest = await self._tokens.authenticate(authorization)
        return Bearer(user, digest, self)

    async def authenticate_proxied(self, authorization: str) -> Bearer | RoleHolder:
        """Return the bearer of a token for ``VIEWERS_AUDIENCE``; raises as ``authenticate``."""
        user, digest = await self._proxied.authenticate(authorization)
        if user.username in self.accounts:
            return RoleHolder(f"{user.username}/{digest.hex()[:12]}")
        return Bearer(user, digest, self)

    async def may(self, bearer: Bearer, act: Act) -> bool:
        """Return True if the API server allows the act.

        Raises:
            HTTPServiceUnavailable: The API server gives no verdict.
            HTTPTooManyRequests: The caller, or all together, needed too many reviews.
        """
        question, monotonic = (bearer.digest, act), self.clock.monotonic()
        verdict = self._acts.get(question, monotonic)
        if verdict is None:
            self._spend(bearer.user, monotonic)
            verdict = await self._reviewed(bearer.user, act)
            denied_seconds = min(self.kept_seconds * DENIED_LONGER, DENIED_SECONDS)
            kept_seconds = self.kept_seconds if verdict else denied_seconds
            self._acts.put(question, verdict, monotonic + kept_seconds)
        return verdict

    def _spend(self, user: User, monotonic: float) -> None:
        """Count a review towards the limits of the caller and of all, or raise."""
        caller = caller_of(user)
        alone = self._each.wait_seconds(caller, monotonic)
        is_one_of_few = self._few.wait_seconds(caller, monotonic) == 0
        together = 0.0 if is_one_of_few else self._all.wait_seconds(None, monotonic)
        if alone or together:
            self.metrics.access_reviews.labels(verdict=Access.THROTTLED.value).inc()
            raise _throttled(caller if alone else "all callers together", max(alone, together))
        self._each.spend(caller, monotonic)
        if is_one_of_few:
            self._few.spend(caller, monotonic)
        else:
            self._all.spend(None, monotonic)

    async def _reviewed(self, user: User, act: Act) -> bool:
        try:
            verdict = await self._in_turn(partial(self.access, user, act))
        except ApiError as error:
            self.metrics.access_reviews.labels(verdict=Access.UNAVAILABLE.value).inc()
            raise _no_verdict(error) from error
        label = Access.ALLOWED if verdict else Access.DENIED
        self.metrics.access_reviews.labels(verdict=label.value).inc()
        return verdict

    def _count(self, verdict: Reviewed) -> None:
        self.metrics.token_reviews.labels(verdict=verdict.value).inc()

    async def _in_turn(self, review: Callable[[], Awaitable[bool]]) -> bool:
        """Run a review in its turn; raises ``HTTPServiceUnavailable`` if that is too late."""
        if self._waiting >= MOST_WAITING:
            raise _no_verdict(TimeoutError(f"{MOST_WAITING} callers wait already"))
        self._waiting += 1
        try:
            async with asyncio.timeout(REVIEW_SECONDS), self._at_once:
                return await review()
        except TimeoutError as error:
            raise _no_verdict(error) from error
        finally:
            self._waiting -= 1


def _judged(review: TokenVerdict, audience: str | None) -> Verdict[User]:
    meant_for_us = audience is None or audience in review.audiences
    if review.authenticated and meant_for_us:
        return Verdict(review.user)
    return rejected(review.error or f"it is not for {audience}")


async def _reject_all(_token: str) -> TokenVerdict:
    return TokenVerdict(error="no token is accepted in this header")


def caller_of(user: User) -> str:
    """Return the caller as which a user is counted.

    All service accounts of a namespace are one caller: a user with write access to the namespace
    can create as many as they like.
    """
    if not user.username.startswith(SERVICE_ACCOUNTS):
        return user.username
    namespace, _, _ = user.username.removeprefix(SERVICE_ACCOUNTS).partition(":")
    return f"{SERVICE_ACCOUNTS}{namespace}"


def _no_verdict(error: Exception) -> web.HTTPServiceUnavailable:
    log.warning("an access review failed: %s", str(error) or "no answer in time")
    text = "the API server does not answer access reviews"
    return web.HTTPServiceUnavailable(text=text, headers={hdrs.RETRY_AFTER: "1"})


def _throttled(caller: str, wait_seconds: float) -> web.HTTPTooManyRequests:
    text = (
        f"too many access reviews were needed for {caller}; "
        "ask for one namespace (?namespace=…, shuntyard -n …), or try again in a while"
    )
    return web.HTTPTooManyRequests(
        text=text, headers={hdrs.RETRY_AFTER: str(math.ceil(wait_seconds))}
    )
