"""Who calls the agents' listener: the node of the pod that the caller's token is bound to.

A token is accepted only on the API server's word: authenticated, meant for us, of one of the
accounts that agents run under, bound to a pod that has a node. While the API server does not answer
nobody new gets in. Verdicts are kept by the SHA-256 of the token, never the token; a good one for a
minute, and not beyond the token's own end; a bad one for some seconds.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import hdrs, web

from extender.http.verdicts import Verdict, Verdicts
from extender.metrics.extender import Reviewed
from shared.clock import Clock
from shared.kube import token_review
from shared.kube.errors import ApiError, InvalidError
from shared.kube.token_review import Review
from shared.model import NodeName

REFUSED_SECONDS: Final = 5.0
"""How long a bad verdict is kept."""
REVIEW_SECONDS: Final = 10.0
"""How long a caller waits for a verdict, its turn included."""
MOST_ACCEPTED: Final = 20_000
"""Good verdicts kept: two tokens, the old one and the renewed one, of each of 10,000 nodes."""
MOST_REFUSED: Final = 1000
"""Bad verdicts kept; apart, so that bad tokens never drive good ones out."""
MOST_AT_ONCE: Final = 16
"""Reviews on their way at a time: the API server has other work, and so have we."""
MOST_WAITING: Final = 4096
"""Callers that may wait for a review; further ones are told to come again."""

log = logging.getLogger(__name__)


_NO_ANSWER: Final = Verdict(None, Reviewed.UNAVAILABLE, "the API server gives no verdict on tokens")


@dataclass
class TokenCheck:
    """See the module.

    Attributes:
        review: Asks the API server about a token; raises ``ApiError`` where it gives no verdict.
        audience: Who a token must be meant for.
        accounts: User names of which one must be the token's.
        kept_seconds: How long a good verdict is kept.
        count: Counts what the API server was asked.
    """

    review: Callable[[str], Awaitable[Review]]
    audience: str
    accounts: frozenset[str]
    kept_seconds: float
    clock: Clock
    count: Callable[[Reviewed], None]
    _accepted: Verdicts = field(default_factory=lambda: Verdicts(MOST_ACCEPTED))
    _refused: Verdicts = field(default_factory=lambda: Verdicts(MOST_REFUSED))
    _asked: dict[bytes, asyncio.Future[Verdict]] = field(default_factory=dict)
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    async def node_of(self, authorization: str) -> NodeName:
        """Return the node that the caller may speak for.

        Args:
            authorization: The request's header; empty if it has none.

        Raises:
            HTTPUnauthorized: There is no token, or not one that is good and meant for us.
            HTTPForbidden: It is somebody's who is no agent on a node.
            HTTPServiceUnavailable: Nobody can say.
        """
        token = _bearer(authorization)
        key = hashlib.sha256(token.encode()).digest()
        verdict = self._known(key) or await self._asked_about(key, token)
        if verdict.node is None:
            raise _refusal(verdict)
        return verdict.node

    def _known(self, key: bytes) -> Verdict | None:
        monotonic = self.clock.monotonic()
        return self._accepted.get(key, monotonic) or self._refused.get(key, monotonic)

    async def _asked_about(self, key: bytes, token: str) -> Verdict:
        """Ask, or wait for who asks already: one review of a token at a time."""
        asked = self._asked.get(key)
        if asked is not None:
            return await asyncio.shield(asked)
        if len(self._asked) >= MOST_WAITING:
            return _NO_ANSWER
        answer = self._asked[key] = asyncio.get_running_loop().create_future()
        verdict = _NO_ANSWER
        try:
            verdict = await self._reviewed(token)
            self._keep(key, token, verdict)
        finally:
            del self._asked[key]
            answer.set_result(verdict)
        return verdict

    async def _reviewed(self, token: str) -> Verdict:
        try:
            async with asyncio.timeout(REVIEW_SECONDS), self._at_once:
                review = await self.review(token)
        except InvalidError as error:
            verdict = Verdict(None, Reviewed.UNAUTHENTICATED, f"no token: {error.message}")
        except (ApiError, TimeoutError) as error:
            log.warning("a token could not be checked: %s", str(error) or "no answer in time")
            verdict = _NO_ANSWER
        else:
            verdict = self._judged(review)
        self.count(verdict.status)
        return verdict

    def _judged(self, review: Review) -> Verdict:
        if not review.authenticated or self.audience not in review.audiences:
            why = review.error or f"it is not meant for {self.audience}"
            return Verdict(None, Reviewed.UNAUTHENTICATED, f"the token is not accepted: {why}")
        if review.user.username not in self.accounts:
            text = f"{review.user.username} is not an agent's account"
            return Verdict(None, Reviewed.FORBIDDEN, text)
        if not review.node:
            return Verdict(None, Reviewed.FORBIDDEN, "the token is not bound to a pod on a node")
        return Verdict(NodeName(review.node))

    def _keep(self, key: bytes, token: str, verdict: Verdict) -> None:
        monotonic = self.clock.monotonic()
        if verdict.node is not None:
            end = token_review.expires_at(token)
            left = self.kept_seconds if end is None else end - self.clock.now()
            self._accepted.put(key, verdict, monotonic + min(self.kept_seconds, left))
        elif verdict is not _NO_ANSWER:
            self._refused.put(key, verdict, monotonic + REFUSED_SECONDS)


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or not token.isascii():
        text = "expected the header Authorization: Bearer <token of the agent's service account>"
        raise _refusal(Verdict(None, Reviewed.UNAUTHENTICATED, text))
    return token


def _refusal(verdict: Verdict) -> web.HTTPException:
    match verdict.status:
        case Reviewed.FORBIDDEN:
            return web.HTTPForbidden(text=verdict.text)
        case Reviewed.UNAVAILABLE:
            return web.HTTPServiceUnavailable(text=verdict.text, headers={hdrs.RETRY_AFTER: "1"})
        case _:
            headers = {hdrs.WWW_AUTHENTICATE: "Bearer"}
            return web.HTTPUnauthorized(text=verdict.text, headers=headers)
