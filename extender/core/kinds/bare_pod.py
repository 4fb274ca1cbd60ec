"""A pod that nobody controls and no group label names: a job of one."""

from extender.core.kinds.base import NO_MARKS, Owners
from shared.model import Pod


class BarePod:
    """The one case in which a gang size of 1 needs nobody's word."""

    kind = "pod"
    marks = NO_MARKS

    def claims(self, pod: Pod) -> bool:
        """The pod has no controller."""
        return pod.controller is None

    def job_name(self, pod: Pod) -> str:
        """The pod's own name."""
        return pod.name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """A single pod has no index."""
        return None

    def size(self, pod: Pod, above: Owners) -> int | None:
        """One."""
        return 1
