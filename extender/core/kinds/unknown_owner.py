"""Pods of an owner whose kind we do not know: grouped by owner, size only by annotation."""

from extender.core.kinds.base import NO_MARKS, Owners
from shared.model import Pod


class UnknownOwner:
    """The last resort, so that every pod has a job key."""

    kind = "owner"
    marks = NO_MARKS

    def claims(self, pod: Pod) -> bool:
        """Every pod with a controller."""
        return pod.controller is not None

    def job_name(self, pod: Pod) -> str:
        """The owner's kind and name."""
        return (
            f"{pod.controller.kind.lower()}.{pod.controller.name}" if pod.controller else pod.name
        )

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Unknown."""
        return None
