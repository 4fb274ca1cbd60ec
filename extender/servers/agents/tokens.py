"""Authentication of agents: the node of the pod that the caller's token is bound to.

A token is accepted only if the API server authenticates it, it is meant for us, it belongs to one
of the accounts that agents run under, and it is bound to a pod that has a node.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from extender.metrics.extender import Reviewed
from extender.servers.auth.tokens import TokenReviews, Verdict, rejected
from shared.clock import Clock
from shared.kube.reviews import TokenVerdict
from shared.model import NodeName

MOST_ACCEPTED: Final = 20_000
"""Capacity of the cache: two tokens, the old one and the renewed one, of each of 10,000 nodes."""


class AgentTokens:
    """Maps tokens of agents to nodes.

    Args:
        review: Asks the API server about a token; raises ``ApiError`` where it gives no verdict.
        audience: Audience that a token must have.
        accounts: User names of which one must be the token's.
        kept_seconds: How long an accepted token is cached.
        clock: Clock of this process.
        count: Counts the reviews.
    """

    def __init__(
        self,
        *,
        review: Callable[[str], Awaitable[TokenVerdict]],
        audience: str,
        accounts: frozenset[str],
        kept_seconds: float,
        clock: Clock,
        count: Callable[[Reviewed], None],
    ) -> None:
        self._audience = audience
        self._accounts = accounts
        self.tokens = TokenReviews(
            review=review,
            judge=self._judged,
            most_kept=MOST_ACCEPTED,
            kept_seconds=kept_seconds,
            clock=clock,
            count=count,
        )

    async def node_of(self, authorization: str) -> NodeName:
        """Return the node for which the caller may report; raises as ``TokenReviews``.

        Args:
            authorization: The request's header; empty if it has none.
        """
        node, _ = await self.tokens.authenticate(authorization)
        return node

    def _judged(self, review: TokenVerdict) -> Verdict[NodeName]:
        if not review.authenticated or self._audience not in review.audiences:
            return rejected(review.error or f"it is not meant for {self._audience}")
        if review.user.username not in self._accounts:
            text = f"{review.user.username} is not an agent's account"
            return Verdict(None, Reviewed.FORBIDDEN, text)
        if not review.node:
            return Verdict(None, Reviewed.FORBIDDEN, "the token is not bound to a pod on a node")
        return Verdict(NodeName(review.node))
