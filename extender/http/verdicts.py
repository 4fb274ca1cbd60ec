"""What tokens of agents are worth, remembered by a digest of theirs for a while."""

from dataclasses import dataclass

from extender.http.remembered import Remembered
from extender.metrics.extender import Reviewed
from shared.model import NodeName


@dataclass(frozen=True)
class Verdict:
    """What a token is worth: a node, or why it is refused."""

    node: NodeName | None
    status: Reviewed = Reviewed.ACCEPTED
    text: str = ""


class Verdicts(Remembered[bytes, Verdict]):
    """By the SHA-256 of the token."""
