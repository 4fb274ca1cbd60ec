"""Errors of requests to the API server, and when to retry a request.

::

    ApiError
    ├── UnauthorizedError     401
    ├── ForbiddenError        403
    ├── NotFoundError         404
    ├── ConflictError         409: a precondition did not hold; 422 for a patch with another uid
    │   ├── AlreadyExistsError
    │   └── NotLeaderError    the extender sent no write: another replica leads (leader_writer)
    ├── GoneError             410: the resource version or continue token has expired, list again
    ├── InvalidError          400, 422: the object cannot be accepted as it is
    ├── ThrottledError        429
    ├── ServerError           500 and above
    ├── ConnectionLostError   no response, or an incomplete one: the write may have happened
    └── BrokenAnswerError     an unreadable response
    OddObjectError            an object from the server that we cannot read
"""

import random
from typing import Final

import msgspec
from typing_extensions import override

from shared.errors import ShuntyardError


class ApiError(ShuntyardError):
    """A request to the API server failed.

    Attributes:
        status: HTTP status; 0 if there was none.
        reason: ``reason`` of the server's Status object, e.g. ``NotFound``; empty if another
            program than the API server answered.
        message: The server's message.
        retry_after_seconds: The server's ``Retry-After``; None if there was none.
    """

    def __init__(
        self, status: int, reason: str, message: str, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(status, reason, message, retry_after_seconds)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds

    @override
    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}"


class UnauthorizedError(ApiError):
    """401: the credentials are not accepted."""


class ForbiddenError(ApiError):
    """403: RBAC or admission refuses."""


class NotFoundError(ApiError):
    """404: no such object, or the server does not know the resource."""


class ConflictError(ApiError):
    """409: uid or resourceVersion is not the one we expected, or the pod is bound already."""


class AlreadyExistsError(ConflictError):
    """409 with reason AlreadyExists."""


class GoneError(ApiError):
    """410: list again."""


class InvalidError(ApiError):
    """400 or 422: sending the same again will not help."""


class ThrottledError(ApiError):
    """429: too many requests, or an eviction that a disruption budget holds back."""


class ServerError(ApiError):
    """500 and above."""


class ConnectionLostError(ApiError):
    """There was no complete response; a write may or may not have happened."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "ConnectionLost", message)


class BrokenAnswerError(ApiError):
    """A response is neither a page of a list nor an event: from a proxy, or half a line."""

    def __init__(self, problem: str) -> None:
        super().__init__(0, "BrokenAnswer", problem)


class OddObjectError(ShuntyardError):
    """An object cannot be read; it is skipped, everything else works.

    Attributes:
        key: ``namespace/name`` of the object, ``?`` where even that cannot be read.
        problem: What is wrong with it.
    """

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(key, problem)
        self.key = key
        self.problem = problem

    @override
    def __str__(self) -> str:
        return f"{self.key}: {self.problem}"


class StatusCause(msgspec.Struct):
    """``details.causes[]`` of a Status."""

    field: str = ""


class StatusDetails(msgspec.Struct, rename="camel"):
    """``details`` of a Status."""

    retry_after_seconds: float | None = None
    causes: list[StatusCause] | None = None


class Status(msgspec.Struct):
    """The API server's Status object, as far as we read it."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: ThrottledError,
}


STATUS: Final = "Status"
"""Kind of the API server's refusals."""
_SERVER_SIDE: Final = 500
_DECODER: Final = msgspec.json.Decoder(Status)


def from_status(status: Status, retry_after_seconds: float | None = None) -> ApiError:
    """Return the error of a Status object."""
    if retry_after_seconds is None and status.details is not None:
        retry_after_seconds = status.details.retry_after_seconds
    kind = _BY_STATUS.get(status.code, ServerError if status.code >= _SERVER_SIDE else ApiError)
    if status.reason == "AlreadyExists":
        kind = AlreadyExistsError
    elif kind is InvalidError and _other_uid(status):
        kind = ConflictError  # the server reports a patch with another uid as Invalid
    return kind(status.code, status.reason, status.message, retry_after_seconds)


def _other_uid(status: Status) -> bool:
    causes = (status.details.causes if status.details else None) or ()
    return any(cause.field == "metadata.uid" for cause in causes)


def from_response(code: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Return the error of an HTTP response; ``retry_after`` is the header in seconds."""
    try:
        status = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = Status()
    if status.kind != STATUS:  # from a proxy, not from the API server
        status = Status(message=body[:200].decode("utf-8", "replace"))
    status.code = code
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return from_status(status, seconds)


_TRANSIENT: Final = (ConnectionLostError, ServerError, ThrottledError)


def transient(error: Exception) -> bool:
    """Return True if the same request may succeed later although nothing was changed."""
    return isinstance(error, _TRANSIENT)


class Backoff:
    """Exponential back-off with full jitter: uniform between 0 and a ceiling that doubles.

    Args:
        first_seconds: The first ceiling.
        most_seconds: The ceiling never grows beyond this.
        rng: Source of the jitter.

    Source:
        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    def __init__(
        self, *, first_seconds: float = 0.8, most_seconds: float = 30.0, rng: random.Random
    ) -> None:
        self._first_seconds = first_seconds
        self._most_seconds = most_seconds
        self._rng = rng
        self._ceiling_seconds = first_seconds

    def next_seconds(self) -> float:
        """Return how long to wait now; the next ceiling is twice as high."""
        ceiling = self._ceiling_seconds
        self._ceiling_seconds = min(ceiling * 2, self._most_seconds)
        return self._rng.uniform(0.0, ceiling)

    def reset(self) -> None:
        """Start again at the first ceiling, after a success."""
        self._ceiling_seconds = self._first_seconds
