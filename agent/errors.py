"""The agent's branch of our error tree.

::

    ShuntyardError (shared.errors)
    ├── NoGpuError              no GPU of this node can be read
    └── ReplicaError            a request to a replica of the extender failed
        ├── UnreachableError    no response
        └── RefusedError        an error response, or an unreadable one
"""

import logging
from http import HTTPStatus

from shared.errors import ShuntyardError


class NoGpuError(ShuntyardError):
    """No GPU of this node can be read; the text is the reason, for the log."""


class ReplicaError(ShuntyardError):
    """A request to a replica of the extender failed.

    Attributes:
        level: Level of the log line about it.
    """

    level = logging.WARNING


class UnreachableError(ReplicaError):
    """No response: no connection, no verified certificate, or a timeout."""


class RefusedError(ReplicaError):
    """An error response, or an unreadable one.

    Args:
        status: HTTP status.
        text: Text of the response, shortened.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"status {status}: {text}")
        self.status = status
        if (
            HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        ):  # a retry will not help
            self.level = logging.ERROR
