"""Why evictions of a job do not wait for its checkpoint: a closed vocabulary."""

from enum import StrEnum
from typing import Self


class NoBudget(StrEnum):
    """Why a job that would be parked has no budget of ours: its value is the token.

    Attributes:
        text: What it means.
    """

    text: str

    OTHER_BUDGET = (
        "OtherBudget",
        "another PodDisruptionBudget selects its pods, and the API server evicts no pod of two",
    )
    NO_LABEL = (
        "NoLabel",
        "no label tells its pods from those of other jobs: give them shuntyard.io/job",
    )

    def __new__(cls, token: str, text: str) -> Self:
        """Build the member."""
        member = str.__new__(cls, token)
        member._value_ = token
        member.text = text
        return member
