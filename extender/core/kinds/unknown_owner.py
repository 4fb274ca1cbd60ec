"""Pods of an owner whose kind we do not know: grouped by owner, size only by annotation."""

from typing_extensions import override

from extender.core.kinds.base import JobKind
from shared.model import Pod


class UnknownOwner(JobKind):
    """The last resort, so that every pod has a job key."""

    kind = "owner"

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True for every pod with a controller."""
        return pod.controller is not None

    @override
    def job_name(self, pod: Pod) -> str:
        """Return kind and name of the owner."""
        return (
            f"{pod.controller.kind.lower()}.{pod.controller.name}" if pod.controller else pod.name
        )
