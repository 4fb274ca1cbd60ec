"""What can be wrong with a run.

::

    ShuntyardError
    ├── IllegalActionError      a scheduler wants what the cluster cannot do
    ├── EndlessDeciderError     a scheduler wants to look at one moment for ever
    └── WorkloadError           jobs of a workload contradict each other
"""

from typing_extensions import override

from shared.errors import ShuntyardError


class IllegalActionError(ShuntyardError, ValueError):
    """An action that the cluster cannot carry out: the scheduler has a fault.

    Args:
        action: What it wanted.
        why: What is against it.
    """

    def __init__(self, action: object, why: str) -> None:
        super().__init__(f"{action}: {why}")
        self.action = action
        self.why = why

    @override
    def __reduce__(self) -> tuple[type["IllegalActionError"], tuple[object, str]]:
        """Return how it is made again: runs of other processes end with it too."""
        return type(self), (self.action, self.why)


class EndlessDeciderError(ShuntyardError, RuntimeError):
    """A scheduler wants to look at one moment for ever."""


class WorkloadError(ShuntyardError, ValueError):
    """Jobs of a workload contradict each other."""
