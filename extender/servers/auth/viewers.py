"""Who reads, and what he may see: what the API server would show him, and no more.

The API server says whose a token is and what its bearer may do; we remember both for a while, by
the SHA-256 of the token. While it does not answer, nobody new gets in, and nothing new is shown.

An answer may speak of every namespace, and each is a question. So what somebody may not see is
remembered longer than what he may, and there is a limit for each caller and for all together.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from aiohttp import hdrs, web

from extender.metrics.extender import Access, ExtenderMetrics, Reviewed
from extender.servers.auth.budget import Budget
from extender.servers.auth.remembered import Remembered
from extender.servers.auth.tokens import Tokens, Verdict, unaccepted
from shared.answer import VIEWERS_AUDIENCE
from shared.clock import Clock
from shared.kube.errors import ApiError
from shared.kube.reviews import Act, TokenVerdict, User

REVIEW_SECONDS: Final = 10.0
"""How long a caller waits for a verdict, its turn included."""
MOST_TOKENS: Final = 4096
MOST_ACTS: Final = 65_536
"""Verdicts remembered: of tokens, and of what their bearers may do."""
MOST_AT_ONCE: Final = 16
"""Reviews on their way at a time: the API server has other work."""
MOST_WAITING: Final = 1024
"""Reviews that may wait for their turn; further callers are told to come again."""

SERVICE_ACCOUNTS: Final = "system:serviceaccount:"
"""What user names of service accounts begin with; namespace and name follow."""
DENIED_LONGER: Final = 10
"""So many times longer than a right it is remembered that somebody has none."""
DENIED_SECONDS: Final = 600.0
"""But no longer than this: who was given a right waits for it."""
CALLER_AT_ONCE: Final = 1000
CALLER_PER_SECOND: Final = 10.0
ALL_AT_ONCE: Final = 5000
ALL_PER_SECOND: Final = 100.0
"""Questions about rights, of one caller and of all: what a first look takes where there are a
thousand namespaces, and then what watching three thousand takes."""
FEW_AT_ONCE: Final = 20
FEW_PER_SECOND: Final = 0.2
"""So many of one caller do not count among those of all: a scrape of the metrics, or a look at a
namespace or two, is answered while others use up what is for all."""

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

    @property
    def caller(self) -> str:
        """Whose budget he uses."""
        return caller_of(self.user)

    @property
    def key(self) -> str:
        """Of his token: what he sees may be its bearer's alone."""
        return self.digest.hex()


@dataclass(frozen=True)
class RoleHolder:
    """Somebody who has the Role ``shuntyard-viewer``: the API server gave him a token for it.

    He sees everything, as that Role says. ``caller`` is of his token: the API server gives one to
    each who asks, and they are of one account.
    """

    caller: str
    key: str = "role"

    async def may(self, act: Act) -> bool:  # noqa: ARG002 - as every viewer is asked
        """Say yes."""
        return True


@dataclass
class Viewers:
    """See the module.

    Attributes:
        review: Asks whose a token is.
        access: Asks whether somebody may do something.
        audience: Who tokens must be meant for; None: the API server itself.
        kept_seconds: How long a verdict is remembered.
        proxied_review: Asks whose a token for ``VIEWERS_AUDIENCE`` is; None: none is accepted.
        accounts: User names whose token for that audience is worth the Role ``shuntyard-viewer``.
    """

    review: Callable[[str], Awaitable[TokenVerdict]]
    access: Callable[[User, Act], Awaitable[bool]]
    audience: str | None
    kept_seconds: float
    clock: Clock
    metrics: ExtenderMetrics
    proxied_review: Callable[[str], Awaitable[TokenVerdict]] | None = None
    accounts: frozenset[str] = frozenset()
    _tokens: Tokens[User] = field(init=False)
    _proxied: Tokens[User] = field(init=False)
    _acts: Remembered[tuple[bytes, Act], bool] = field(
        default_factory=lambda: Remembered(MOST_ACTS)
    )
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))
    _waiting: int = 0
    _each: Budget[str] = field(default_factory=lambda: Budget(CALLER_AT_ONCE, CALLER_PER_SECOND))
    _few: Budget[str] = field(default_factory=lambda: Budget(FEW_AT_ONCE, FEW_PER_SECOND))
    _all: Budget[None] = field(default_factory=lambda: Budget(ALL_AT_ONCE, ALL_PER_SECOND))

    def __post_init__(self) -> None:
        seconds = self.kept_seconds
        self._tokens = Tokens(
            review=self.review,
            judge=partial(_judged, audience=self.audience),
            most_kept=MOST_TOKENS,
            kept_seconds=seconds,
            clock=self.clock,
            count=self._count,
        )
        self._proxied = Tokens(
            review=self.proxied_review or _nobodys,
            judge=partial(_judged, audience=VIEWERS_AUDIENCE),
            most_kept=MOST_TOKENS,
            kept_seconds=seconds,
            clock=self.clock,
            count=self._count,
        )

    async def bearer(self, authorization: str) -> Bearer:
        """Return whose token a request's header shows; raises as ``Tokens.bearer``."""
        user, digest = await self._tokens.bearer(authorization)
        return Bearer(user, digest, self)

    async def proxied(self, authorization: str) -> Bearer | RoleHolder:
        """Return who shows a token for ``VIEWERS_AUDIENCE``; raises as ``Tokens.bearer``."""
        user, digest = await self._proxied.bearer(authorization)
        if user.username in self.accounts:
            return RoleHolder(f"{user.username}/{digest.hex()[:12]}")
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
            verdict = await self._asked(bearer.user, act)
            denied_seconds = min(self.kept_seconds * DENIED_LONGER, DENIED_SECONDS)
            kept_seconds = self.kept_seconds if verdict else denied_seconds
            self._acts.put(question, verdict, monotonic + kept_seconds)
        return verdict

    def _pay(self, user: User, monotonic: float) -> None:
        """Take one question out of the caller's budget and everybody's, or raise."""
        caller = caller_of(user)
        alone = self._each.wait_seconds(caller, monotonic)
        is_one_of_few = self._few.wait_seconds(caller, monotonic) == 0
        together = 0.0 if is_one_of_few else self._all.wait_seconds(None, monotonic)
        if alone or together:
            self.metrics.access_reviews.labels(verdict=Access.THROTTLED.value).inc()
            raise _too_much(caller if alone else "all callers together", max(alone, together))
        self._each.spend(caller, monotonic)
        if is_one_of_few:
            self._few.spend(caller, monotonic)
        else:
            self._all.spend(None, monotonic)

    async def _asked(self, user: User, act: Act) -> bool:
        try:
            verdict = await self._in_turn(partial(self.access, user, act))
        except ApiError as error:
            self.metrics.access_reviews.labels(verdict=Access.UNAVAILABLE.value).inc()
            raise _no_verdict(error) from error
        told = Access.ALLOWED if verdict else Access.DENIED
        self.metrics.access_reviews.labels(verdict=told.value).inc()
        return verdict

    def _count(self, verdict: Reviewed) -> None:
        self.metrics.token_reviews.labels(verdict=verdict.value).inc()

    async def _in_turn(self, ask: Callable[[], Awaitable[bool]]) -> bool:
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


def _judged(review: TokenVerdict, audience: str | None) -> Verdict[User]:
    meant = audience is None or audience in review.audiences
    if review.authenticated and meant:
        return Verdict(review.user)
    return unaccepted(review.error or f"it is not for {audience}")


async def _nobodys(_token: str) -> TokenVerdict:
    return TokenVerdict(error="no token is accepted in this header")


def caller_of(user: User) -> str:
    """Return whose budget a question is paid from.

    Whoever may write in a namespace makes as many service accounts in it as he likes: they have one
    together.
    """
    if not user.username.startswith(SERVICE_ACCOUNTS):
        return user.username
    namespace, _, _ = user.username.removeprefix(SERVICE_ACCOUNTS).partition(":")
    return f"{SERVICE_ACCOUNTS}{namespace}"


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
