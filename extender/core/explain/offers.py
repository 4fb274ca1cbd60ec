"""A change that was tried, on its way to the people."""

from collections.abc import Sequence
from dataclasses import dataclass

from extender.core.placement.placement import amount
from shared.explanation import Change, Step, StepKind

MOST_NAMED = 5
"""Names in a sentence; the steps hold all."""


@dataclass(frozen=True)
class Offer:
    """Steps that together make the job run, and a sentence without its full stop."""

    steps: tuple[Step, ...]
    says: str

    @property
    def kind(self) -> StepKind:
        """The kind of its last step."""
        return self.steps[-1].kind

    def after(self, steps: Sequence[Step], says: Sequence[str]) -> "Offer":
        """Return the offer with what has to be mended first."""
        return Offer((*steps, *self.steps), ", and then ".join((*says, self.says)))

    def told(self) -> Change:
        """Return it as people are told."""
        return Change(kind=self.kind, says=self.says, steps=self.steps)


def names(all_names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(all_names[:MOST_NAMED])
    more = len(all_names) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def value(resource: str, number: int) -> str:
    """Return an amount as it stands in a manifest: ``1500m``, ``1.5Gi``."""
    return amount(resource, number).removesuffix(f" {resource}")
