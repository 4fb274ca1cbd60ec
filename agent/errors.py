"""The agent's branch of our error tree.

::

    ShuntyardError (shared.errors)
    ├── MalformedError          a document is not what is looked for
    └── ReplicaError            a replica of the extender was asked in vain
        ├── UnreachableError    it did not answer
        └── RefusedError        it answered no, or something that is no answer
"""

import logging
from http import HTTPStatus

from shared.errors import ShuntyardError


class MalformedError(ShuntyardError):
    """A document is not what is looked for, or not complete; the message says why."""


class ReplicaError(ShuntyardError):
    """A replica of the extender was asked in vain.

    Attributes:
        level: Of the log line that says so.
    """

    level = logging.WARNING


class UnreachableError(ReplicaError):
    """No answer: no connection, no trust, or no time left."""


class RefusedError(ReplicaError):
    """An answer that is not the one asked for.

    Args:
        status: HTTP status.
        text: What the replica said, cut to a bearable length.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"status {status}: {text}")
        self.status = status
        if (
            HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        ):  # it will not mend itself
            self.level = logging.ERROR
