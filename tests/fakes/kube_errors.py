"""Error answers of the fake API server."""

from typing import Any


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault of the fake
    """An answer other than 2xx."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after_seconds: int | None = None,
        field: str = "",
    ) -> None:
        super().__init__(message)
        self.field = field
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds

    def body(self) -> dict[str, Any]:
        details: dict[str, Any] = {}
        if self.field:
            details["causes"] = [{"reason": "FieldValueInvalid", "field": self.field}]
        if self.retry_after_seconds is not None:
            details["retryAfterSeconds"] = self.retry_after_seconds
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.status,
            "details": details,
        }


def not_found(plural: str, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{plural} "{name}" not found')


def conflict(plural: str, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {plural} "{name}": {why}'
    return Refusal(409, "Conflict", message)


def already_exists(plural: str, name: str) -> Refusal:
    return Refusal(409, "AlreadyExists", f'{plural} "{name}" already exists')


def invalid(kind: str, name: str, field: str, why: str = "Required value") -> Refusal:
    message = f'{kind} "{name}" is invalid: {field}: {why}'
    return Refusal(422, "Invalid", message, field=field)


def gone(message: str = "too old resource version") -> Refusal:
    return Refusal(410, "Expired", message)
