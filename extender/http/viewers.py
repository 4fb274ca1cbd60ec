"""Who reads, and what he may see: what the API server would show him, and no more.

The API server says whose a token is and what its bearer may do; we remember both for a while, by
the SHA-256 of the token. While it does not answer, nobody new gets in, and nothing new is shown.

An answer may speak of every namespace, and each is a question. So what somebody may not see is
remembered longer than what he may, and there is a limit for each caller and for all together.
"""

import asyncio
import hashlib
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from aiohttp import hdrs, web

from extender.http.budget import Budget
from extender.http.remembered import Remembered
from extender.metrics.extender import Access, ExtenderMetrics, Reviewed
from shared.clock import Clock
from shared.kube import token_review
from shared.kube.access_review import Act
from shared.kube.errors import ApiError, InvalidError
from shared.kube.token_review import Review, User

REVIEW_SECONDS: Final = 10.0
"""How long a caller waits for a verdict, its turn included."""
REFUSED_SECONDS: Final = 5.0
"""How long it is remembered that a token is not good."""
MOST_TOKENS: Final = 4096
MOST_REFUSED: Final = 1000
MOST_ACTS: Final = 65_536
"""Verdicts remembered: of tokens, of bad ones, and of what their bearers may do."""
MOST_AT_ONCE: Final = 16
"""Reviews on their way at a time: the API server has other work."""
MOST_WAITING: Final = 1024
"""Reviews that may wait for their turn; further callers are told to come again."""

SERVICE_ACCOUNTS: Final = "system:serviceaccount:"
"""What user names of service accounts begin with; namespace and name follow."""
DENIED_LONGER: Final = 10
"""So many times longer than a right it is remembered that somebody has none."""
CALLER_AT_ONCE: Final = 1000
CALLER_PER_SECOND: Final = 10.0
ALL_AT_ONCE: Final = 5000
ALL_PER_SECOND: Final = 100.0
"""Questions about rights, of one caller and of all: what a first look takes where there are a
thousand namespaces, and then what watching three thousand takes."""

_Verdict = TypeVar("_Verdict")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bearer:
    """Who shows a token."""

    user: User
    digest: bytes
    viewers: "Viewers"

    async def may(self, act: Act) -> bool:
        """See ``Viewers.may``."""
        return await self.viewers.may(self, act)


@dataclass
class Viewers:
    """See the module.

    Attributes:
        review: Asks whose a token is.
        access: Asks whether somebody may do something.
        audience: Who tokens must be meant for; None: the API server itself.
        kept_seconds: How long a verdict is remembered.
    """

    review: Callable[[str], Awaitable[Review]]
    access: Callable[[User, Act], Awaitable[bool]]
    audience: str | None
    kept_seconds: float
    clock: Clock
    metrics: ExtenderMetrics
    _users: Remembered[bytes, User] = field(default_factory=lambda: Remembered(MOST_TOKENS))
    _refused: Remembered[bytes, str] = field(default_factory=lambda: Remembered(MOST_REFUSED))
    _acts: Remembered[tuple[bytes, Act], bool] = field(
        default_factory=lambda: Remembered(MOST_ACTS)
    )
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))
    _waiting: int = 0
    _each: Budget[str] = field(default_factory=lambda: Budget(CALLER_AT_ONCE, CALLER_PER_SECOND))
    _all: Budget[None] = field(default_factory=lambda: Budget(ALL_AT_ONCE, ALL_PER_SECOND))

    async def bearer(self, authorization: str) -> Bearer:
        """Return whose token a request's header shows.

        Raises:
            HTTPUnauthorized: Nobody's.
            HTTPServiceUnavailable: Nobody can say.
        """
        token = _token(authorization)
        digest = hashlib.sha256(token.encode()).digest()
        monotonic = self.clock.monotonic()
        if problem := self._refused.get(digest, monotonic):
            raise _unauthorized(problem)
        user = self._users.get(digest, monotonic) or await self._reviewed(token, digest)
        return Bearer(user, digest, self)

    async def may(self, bearer: Bearer, act: Act) -> bool:
        """Say whether somebody may do something.

        Raises:
            HTTPServiceUnavailable: Nobody can say.
            HTTPTooManyRequests: He, or all together, asked too much.
        """
        question, monotonic = (bearer.digest, act), self.clock.monotonic()
        verdict = self._acts.get(question, monotonic)
        if verdict is None:
            self._pay(bearer.user, monotonic)
            verdict = await self._judged(bearer.user, act)
            kept_seconds = self.kept_seconds * (1 if verdict else DENIED_LONGER)
            self._acts.put(question, verdict, monotonic + kept_seconds)
        return verdict

    def _pay(self, user: User, monotonic: float) -> None:
        """Take one question out of the caller's budget and everybody's, or raise."""
        caller = caller_of(user)
        alone = self._each.wait_seconds(caller, monotonic)
        together = self._all.wait_seconds(None, monotonic)
        if alone or together:
            self.metrics.access_reviews.labels(verdict=Access.THROTTLED.value).inc()
            raise _too_much(caller if alone else "all callers together", max(alone, together))
        self._each.spend(caller, monotonic)
        self._all.spend(None, monotonic)

    async def _judged(self, user: User, act: Act) -> bool:
        try:
            verdict = await self._in_turn(partial(self.access, user, act))
        except ApiError as error:
            self.metrics.access_reviews.labels(verdict=Access.UNAVAILABLE.value).inc()
            raise _no_verdict(error) from error
        told = Access.ALLOWED if verdict else Access.DENIED
        self.metrics.access_reviews.labels(verdict=told.value).inc()
        return verdict

    async def _reviewed(self, token: str, digest: bytes) -> User:
        monotonic = self.clock.monotonic()
        try:
            review = await self._in_turn(partial(self.review, token))
        except InvalidError as error:
            review = Review(error=error.message)
        except ApiError as error:
            self.metrics.token_reviews.labels(verdict=Reviewed.UNAVAILABLE.value).inc()
            raise _no_verdict(error) from error
        problem = self._problem(review)
        status = Reviewed.UNAUTHENTICATED if problem else Reviewed.ACCEPTED
        self.metrics.token_reviews.labels(verdict=status.value).inc()
        if problem:
            self._refused.put(digest, problem, monotonic + REFUSED_SECONDS)
            raise _unauthorized(problem)
        end = token_review.expires_at(token)
        left_seconds = self.kept_seconds if end is None else end - self.clock.now()
        self._users.put(digest, review.user, monotonic + min(self.kept_seconds, left_seconds))
        return review.user

    def _problem(self, review: Review) -> str:
        """Return why a token does not count; "" if it does."""
        meant = self.audience is None or self.audience in review.audiences
        if review.authenticated and meant:
            return ""
        return f"the token is not accepted: {review.error or f'it is not for {self.audience}'}"

    async def _in_turn(self, ask: Callable[[], Awaitable[_Verdict]]) -> _Verdict:
        """Ask when it is our turn; raises ``HTTPServiceUnavailable`` if that is not in time."""
        if self._waiting >= MOST_WAITING:
            raise _no_verdict(TimeoutError(f"{MOST_WAITING} callers wait already"))
        self._waiting += 1
        try:
            async with asyncio.timeout(REVIEW_SECONDS), self._at_once:
                return await ask()
        except TimeoutError as error:
            raise _no_verdict(error) from error
        finally:
            self._waiting -= 1


def caller_of(user: User) -> str:
    """Return whose budget a question is paid from.

    Whoever may write in a namespace makes as many service accounts in it as he likes: they have one
    together.
    """
    if not user.username.startswith(SERVICE_ACCOUNTS):
        return user.username
    namespace, _, _ = user.username.removeprefix(SERVICE_ACCOUNTS).partition(":")
    return f"{SERVICE_ACCOUNTS}{namespace}"


def _token(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or not token.isascii():
        raise _unauthorized("expected the header Authorization: Bearer <token>")
    return token


def _unauthorized(problem: str) -> web.HTTPUnauthorized:
    return web.HTTPUnauthorized(text=problem, headers={hdrs.WWW_AUTHENTICATE: "Bearer"})


def _no_verdict(error: Exception) -> web.HTTPServiceUnavailable:
    log.warning("who may read could not be asked: %s", str(error) or "no answer in time")
    text = "the API server does not say who may read"
    return web.HTTPServiceUnavailable(text=text, headers={hdrs.RETRY_AFTER: "1"})


def _too_much(who: str, wait_seconds: float) -> web.HTTPTooManyRequests:
    text = (
        f"what {who} may see had to be asked of the API server too often; "
        "ask for one namespace (?namespace=…, shuntyard -n …), or again in a while"
    )
    return web.HTTPTooManyRequests(
        text=text, headers={hdrs.RETRY_AFTER: str(math.ceil(wait_seconds))}
    )
