"""Errors of a run of the cluster model.

::

    ShuntyardError
    ├── IllegalActionError      the cluster cannot carry out a scheduler's action
    ├── EndlessDeciderError     a scheduler asks to run at one moment forever
    └── WorkloadError           jobs of a workload contradict each other
"""

from typing_extensions import override

from shared.errors import ShuntyardError


class IllegalActionError(ShuntyardError, ValueError):
    """An action that the cluster cannot carry out: a bug of the scheduler.

    Args:
        action: The action.
        why: Why it is impossible.
    """

    def __init__(self, action: object, why: str) -> None:
        super().__init__(f"{action}: {why}")
        self.action = action
        self.why = why

    @override
    def __reduce__(self) -> tuple[type["IllegalActionError"], tuple[object, str]]:
        """Return the constructor's arguments: the error crosses process boundaries."""
        return type(self), (self.action, self.why)


class EndlessDeciderError(ShuntyardError, RuntimeError):
    """A scheduler asks to run at one moment forever."""


class WorkloadError(ShuntyardError, ValueError):
    """Jobs of a workload contradict each other."""
