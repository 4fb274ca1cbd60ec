"""Errors of a process node.

::

    ProcessNodeError (DevclusterError)
    ├── ConfigError     something that the pod names is missing or cannot be used; tried again
    ├── RefusedError    the pod asks for something that a process node does not have; it waits
    ├── StartError      the container's process could not be started
    └── AddressError    no address is left
"""

from devcluster.errors import DevclusterError


class ProcessNodeError(DevclusterError):
    """Base of all errors of a process node."""


class ConfigError(ProcessNodeError):
    """A ConfigMap, Secret, claim or field that the pod names is missing or cannot be used (yet)."""


class RefusedError(ProcessNodeError):
    """The pod needs a feature that a process node lacks.

    Args:
        reason: One word for the waiting state, e.g. ``VolumeNotSupported``.
        message: The feature, and an alternative.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class StartError(ProcessNodeError):
    """The container's process could not be started; the message is the system's."""


class AddressError(ProcessNodeError):
    """No address of the block is free."""
