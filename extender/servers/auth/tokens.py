"""Bearer tokens: reviewed by the API server, the verdict cached for a while.

While the API server does not answer, no new token is accepted. Verdicts are cached by the SHA-256
of the token, never by the token. A token that is accepted is cached for ``kept_seconds``, but not
beyond its own end; one that is rejected for some seconds.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from aiohttp import hdrs, web

from extender.metrics.extender import Reviewed
from extender.servers.caches import ExpiringCache
from shared.clock import Clock
from shared.kube import reviews
from shared.kube.errors import ApiError, InvalidError
from shared.kube.reviews import TokenVerdict

REFUSED_SECONDS: Final = 5.0
"""How long a rejection is cached."""
REVIEW_SECONDS: Final = 10.0
"""How long a caller waits for a verdict, including for its turn."""
MOST_REFUSED: Final = 1000
"""Rejections in the cache; their own cache, so that bad tokens never displace good ones."""
MOST_AT_ONCE: Final = 16
"""Concurrent reviews: the API server has other work."""
MOST_WAITING: Final = 4096
"""Tokens that may wait for a review; callers with further ones get 503."""

Identity = TypeVar("Identity")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Verdict(Generic[Identity]):
    """Identity of a token's bearer; None if the token is refused, with the reason."""

    identity: Identity | None
    status: Reviewed = Reviewed.ACCEPTED
    text: str = ""


@dataclass(kw_only=True)
class TokenReviews(Generic[Identity]):
    """Authenticates callers by their tokens.

    Attributes:
        review: Asks the API server about a token; raises ``ApiError`` where it gives no verdict.
        judge: Returns our verdict on what the API server answers.
        most_kept: Capacity of the cache of accepted tokens.
        kept_seconds: How long an accepted token is cached.
        count: Counts the reviews.
    """

    review: Callable[[str], Awaitable[TokenVerdict]]
    judge: Callable[[TokenVerdict], Verdict[Identity]]
    most_kept: int
    kept_seconds: float
    clock: Clock
    count: Callable[[Reviewed], None]
    _accepted: ExpiringCache[bytes, Verdict[Identity]] = field(init=False)
    _refused: ExpiringCache[bytes, Verdict[Identity]] = field(
        default_factory=lambda: ExpiringCache(MOST_REFUSED)
    )
    _pending: dict[bytes, asyncio.Future[Verdict[Identity] | None]] = field(default_factory=dict)
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    def __post_init__(self) -> None:
        self._accepted = ExpiringCache(self.most_kept)

    async def authenticate(self, authorization: str) -> tuple[Identity, bytes]:
        """Return the identity behind a request's header, and the token's digest.

        Args:
            authorization: The header; empty if there is none.

        Raises:
            HTTPUnauthorized: There is no token, or not one that is valid and meant for us.
            HTTPForbidden: Its bearer may not use this listener.
            HTTPServiceUnavailable: The API server gives no verdict.
        """
        token = _token(authorization)
        key = hashlib.sha256(token.encode()).digest()
        verdict = self._cached(key) or await self._reviewed_once(key, token)
        if verdict.identity is None:
            raise _refusal(verdict.status, verdict.text)
        return verdict.identity, key

    def _cached(self, key: bytes) -> Verdict[Identity] | None:
        monotonic = self.clock.monotonic()
        return self._accepted.get(key, monotonic) or self._refused.get(key, monotonic)

    async def _reviewed_once(self, key: bytes, token: str) -> Verdict[Identity]:
        """Review a token, or wait for the review that is under way: one at a time for each token.

        If the caller of that review goes away before there is a verdict, the next caller begins
        another one.
        """
        while (pending := self._pending.get(key)) is not None:
            if (shared := await asyncio.shield(pending)) is not None:
                return shared
        if len(self._pending) >= MOST_WAITING:
            return _no_answer()
        verdict: Verdict[Identity] | None = None
        answer = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            verdict = await self._reviewed(token)
            self._keep(key, token, verdict)
        finally:
            del self._pending[key]
            answer.set_result(verdict)
        return verdict

    async def _reviewed(self, token: str) -> Verdict[Identity]:
        verdict: Verdict[Identity]
        try:
            async with asyncio.timeout(REVIEW_SECONDS), self._at_once:
                review = await self.review(token)
        except InvalidError as error:
            verdict = rejected(error.message)
        except (ApiError, TimeoutError) as error:
            log.warning("a token could not be checked: %s", str(error) or "no answer in time")
            verdict = _no_answer()
        else:
            verdict = self.judge(review)
        self.count(verdict.status)
        return verdict

    def _keep(self, key: bytes, token: str, verdict: Verdict[Identity]) -> None:
        monotonic = self.clock.monotonic()
        if verdict.identity is not None:
            end = reviews.expires_at(token)
            left_seconds = self.kept_seconds if end is None else end - self.clock.now()
            until = monotonic + min(self.kept_seconds, left_seconds)
            self._accepted.put(key, verdict, until)
        elif verdict.status is not Reviewed.UNAVAILABLE:
            self._refused.put(key, verdict, monotonic + REFUSED_SECONDS)


def rejected(why: str) -> Verdict[Identity]:
    """Return the verdict on a token that is not valid, or not meant for us."""
    return Verdict(None, Reviewed.UNAUTHENTICATED, f"the token is not accepted: {why}")


def _no_answer() -> Verdict[Identity]:
    text = "the API server gives no verdict on tokens"
    return Verdict(None, Reviewed.UNAVAILABLE, text)


def _token(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or not token.isascii():
        text = "expected the header Authorization: Bearer <token>"
        raise _refusal(Reviewed.UNAUTHENTICATED, text)
    return token


def _refusal(status: Reviewed, text: str) -> web.HTTPException:
    match status:
        case Reviewed.FORBIDDEN:
            return web.HTTPForbidden(text=text)
        case Reviewed.UNAVAILABLE:
            return web.HTTPServiceUnavailable(text=text, headers={hdrs.RETRY_AFTER: "1"})
        case _:
            return web.HTTPUnauthorized(text=text, headers={hdrs.WWW_AUTHENTICATE: "Bearer"})
