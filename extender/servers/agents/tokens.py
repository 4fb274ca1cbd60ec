"""Who calls the agents' listener: the node of the pod that the caller's token is bound to.

A token is accepted only on the API server's word: authenticated, meant for us, of one of the
accounts that agents run under, bound to a pod that has a node.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from extender.metrics.extender import Reviewed
from extender.servers.auth.tokens import Tokens, Verdict, unaccepted
from shared.clock import Clock
from shared.kube.reviews import TokenVerdict
from shared.model import NodeName

MOST_ACCEPTED: Final = 20_000
"""Good verdicts kept: two tokens, the old one and the renewed one, of each of 10,000 nodes."""


class TokenCheck:
    """See the module.

    Args:
        review: Asks the API server about a token; raises ``ApiError`` where it gives no verdict.
        audience: Who a token must be meant for.
        accounts: User names of which one must be the token's.
        kept_seconds: How long a good verdict is kept.
        clock: Of this process.
        count: Counts what the API server was asked.
    """

    def __init__(
        self,
        review: Callable[[str], Awaitable[TokenVerdict]],
        audience: str,
        accounts: frozenset[str],
        kept_seconds: float,
        clock: Clock,
        count: Callable[[Reviewed], None],
    ) -> None:
        self._audience = audience
        self._accounts = accounts
        self.tokens = Tokens(
            review=review,
            judge=self._judged,
            most_kept=MOST_ACCEPTED,
            kept_seconds=kept_seconds,
            clock=clock,
            count=count,
        )

    async def node_of(self, authorization: str) -> NodeName:
        """Return the node that the caller may speak for; raises as ``Tokens.bearer``.

        Args:
            authorization: The request's header; empty if it has none.
        """
        node, _ = await self.tokens.bearer(authorization)
        return node

    def _judged(self, review: TokenVerdict) -> Verdict[NodeName]:
        if not review.authenticated or self._audience not in review.audiences:
            return unaccepted(review.error or f"it is not meant for {self._audience}")
        if review.user.username not in self._accounts:
            text = f"{review.user.username} is not an agent's account"
            return Verdict(None, Reviewed.FORBIDDEN, text)
        if not review.node:
            return Verdict(None, Reviewed.FORBIDDEN, "the token is not bound to a pod on a node")
        return Verdict(NodeName(review.node))
