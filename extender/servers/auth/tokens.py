"""Whose is the token that a caller shows? The API server says, and it is remembered for a while.

While the API server does not answer nobody new gets in. Verdicts are kept by the SHA-256 of the
token, never the token; a good one for its time, and not beyond the token's own end; a bad one for
some seconds.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from aiohttp import hdrs, web

from extender.metrics.extender import Reviewed
from extender.servers.auth.remembered import Remembered
from shared.clock import Clock
from shared.kube import reviews
from shared.kube.errors import ApiError, InvalidError
from shared.kube.reviews import TokenVerdict

REFUSED_SECONDS: Final = 5.0
"""How long a bad verdict is kept."""
REVIEW_SECONDS: Final = 10.0
"""How long a caller waits for a verdict, its turn included."""
MOST_REFUSED: Final = 1000
"""Bad verdicts kept; apart, so that bad tokens never drive good ones out."""
MOST_AT_ONCE: Final = 16
"""Reviews on their way at a time: the API server has other work, and so have we."""
MOST_WAITING: Final = 4096
"""Callers that may wait for a review; further ones are told to come again."""

Who = TypeVar("Who")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Verdict(Generic[Who]):
    """What a token is worth: somebody, or why it is refused."""

    who: Who | None
    status: Reviewed = Reviewed.ACCEPTED
    text: str = ""


@dataclass
class Tokens(Generic[Who]):
    """See the module.

    Attributes:
        review: Asks the API server about a token; raises ``ApiError`` where it gives no verdict.
        judge: Returns what its answer is worth.
        most_kept: Good verdicts that are kept.
        kept_seconds: How long.
        count: Counts what the API server was asked.
    """

    review: Callable[[str], Awaitable[TokenVerdict]]
    judge: Callable[[TokenVerdict], Verdict[Who]]
    most_kept: int
    kept_seconds: float
    clock: Clock
    count: Callable[[Reviewed], None]
    _accepted: Remembered[bytes, Verdict[Who]] = field(init=False)
    _refused: Remembered[bytes, Verdict[Who]] = field(
        default_factory=lambda: Remembered(MOST_REFUSED)
    )
    _asked: dict[bytes, asyncio.Future[Verdict[Who] | None]] = field(default_factory=dict)
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    def __post_init__(self) -> None:
        self._accepted = Remembered(self.most_kept)

    async def bearer(self, authorization: str) -> tuple[Who, bytes]:
        """Return whose token a request's header shows, and the token's digest.

        Args:
            authorization: The header; empty if there is none.

        Raises:
            HTTPUnauthorized: There is no token, or not one that is good and meant for us.
            HTTPForbidden: It is somebody's who has nothing to do here.
            HTTPServiceUnavailable: Nobody can say.
        """
        token = _token(authorization)
        key = hashlib.sha256(token.encode()).digest()
        verdict = self._known(key) or await self._asked_about(key, token)
        if verdict.who is None:
            raise _refusal(verdict.status, verdict.text)
        return verdict.who, key

    def _known(self, key: bytes) -> Verdict[Who] | None:
        monotonic = self.clock.monotonic()
        return self._accepted.get(key, monotonic) or self._refused.get(key, monotonic)

    async def _asked_about(self, key: bytes, token: str) -> Verdict[Who]:
        """Ask, or wait for who asks already: one review of a token at a time.

        If that one has gone away before there was a verdict, the next one asks.
        """
        while (asked := self._asked.get(key)) is not None:
            if (found := await asyncio.shield(asked)) is not None:
                return found
        if len(self._asked) >= MOST_WAITING:
            return _no_answer()
        verdict: Verdict[Who] | None = None
        answer = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            verdict = await self._reviewed(token)
            self._keep(key, token, verdict)
        finally:
            del self._asked[key]
            answer.set_result(verdict)
        return verdict

    async def _reviewed(self, token: str) -> Verdict[Who]:
        verdict: Verdict[Who]
        try:
            async with asyncio.timeout(REVIEW_SECONDS), self._at_once:
                review = await self.review(token)
        except InvalidError as error:
            verdict = unaccepted(error.message)
        except (ApiError, TimeoutError) as error:
            log.warning("a token could not be checked: %s", str(error) or "no answer in time")
            verdict = _no_answer()
        else:
            verdict = self.judge(review)
        self.count(verdict.status)
        return verdict

    def _keep(self, key: bytes, token: str, verdict: Verdict[Who]) -> None:
        monotonic = self.clock.monotonic()
        if verdict.who is not None:
            end = reviews.expires_at(token)
            left_seconds = self.kept_seconds if end is None else end - self.clock.now()
            until = monotonic + min(self.kept_seconds, left_seconds)
            self._accepted.put(key, verdict, until)
        elif verdict.status is not Reviewed.UNAVAILABLE:
            self._refused.put(key, verdict, monotonic + REFUSED_SECONDS)


def unaccepted(why: str) -> Verdict[Who]:
    """Return the verdict on a token that is not good, or not meant for us."""
    return Verdict(None, Reviewed.UNAUTHENTICATED, f"the token is not accepted: {why}")


def _no_answer() -> Verdict[Who]:
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
