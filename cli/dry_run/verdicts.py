"""The API server's verdict on a dry run: accepted, refused with the field, or not checked.

Source:
    https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run, and k8s.io/apiserver
    v0.36.3: pkg/endpoints/handlers/responsewriters/errors.go (what RBAC answers),
    pkg/admission/plugin/webhook/errors/statuserror.go (webhooks that refuse dry runs).
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Struct

from cli import sanitize
from cli.connection import Answer
from cli.errors import UnansweredError

UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
_ACCEPTED: Final = frozenset({200, 201})
_REFUSED: Final = frozenset({400, 403, 422})
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_NO_RIGHT: Final = re.compile(r'User ".*" cannot create resource ".*"')
_NO_DRY_RUN: Final = re.compile(r'admission webhook "(.*)" does not support dry run')
_STRICT: Final = re.compile(r'(unknown|duplicate) field "([^"]+)"')
_MISSING: Final = re.compile(
    r'(\w+)(?:\.[\w.-]+)? "([^"]+)" not found|no (PriorityClass) with name (\S+) was found'
)
_OPEN_CAUSES: Final = frozenset({"FieldValueRequired", "FieldValueNotFound"})


class Cause(Struct):
    """``details.causes[]`` of a Status."""

    field: str = ""
    message: str = ""
    reason: str = ""


class _Details(Struct):
    name: str = ""
    kind: str = ""
    causes: list[Cause] | None = None


class _Status(Struct):
    message: str = ""
    reason: str = ""
    details: _Details | None = None


@dataclass(frozen=True)
class Accepted:
    """The object as it would be stored."""

    document: dict[str, Any]


@dataclass(frozen=True)
class Refused:
    """It would be refused.

    Attributes:
        problems: Each names the field where there is one.
        missing: Kind (lower case, singular or plural) and name of a missing object; None if it is
            refused for another reason.
        is_open: Whether it only lacks fields that a controller may fill in before it creates the
            object.
    """

    problems: tuple[str, ...]
    missing: tuple[str, str] | None = None
    is_open: bool = False


@dataclass(frozen=True)
class Exists:
    """An object of that name exists."""


@dataclass(frozen=True)
class Unchecked:
    """It was not checked.

    Attributes:
        reason: Why the API server did not check it.
        lasting: Whether the reason holds for every object of the kind in the namespace.
    """

    reason: str
    lasting: bool = False


Verdict = Accepted | Refused | Exists | Unchecked


def parse(answer: Answer, resource: str, where: str) -> Verdict:
    """Return the verdict of an answer.

    Args:
        answer: To a POST with ``dryRun=All``.
        resource: Its kind, plural.
        where: Its namespace, in words; empty for an object without one.

    Raises:
        UnansweredError: The API server does not accept the credentials, or its answer is not JSON.
    """
    if answer.status in _ACCEPTED:
        return Accepted(_decoded(answer.body, dict[str, Any]))
    if answer.status == UNAUTHORIZED:
        hint = "log in again, or use others"
        raise UnansweredError(f"the API server does not accept the credentials: {hint}")
    status = _status(answer)
    if answer.status == _CONFLICT and status.reason == "AlreadyExists":
        return Exists()
    if answer.status == _NOT_FOUND:
        return _not_found(status, resource)
    if answer.status in _REFUSED:
        return _unasked(status, answer.status, resource, where) or _refused(status)
    reason = status.message or status.reason or "no reason given"
    return Unchecked(f"the API server answered {answer.status}: {reason}")


def _unasked(status: _Status, code: int, resource: str, where: str) -> Unchecked | None:
    """Return why an object was not checked; None if it was checked and refused."""
    no_dry_run = _NO_DRY_RUN.search(status.message)
    if no_dry_run:
        return Unchecked(f"the admission webhook {no_dry_run[1]} does not support dry runs")
    if code == FORBIDDEN and _NO_RIGHT.search(status.message):
        return Unchecked(f"you may not create {resource}{where}", lasting=True)
    return None


def _not_found(status: _Status, resource: str) -> Verdict:
    missing = _missing(status.message)
    if missing is None:  # as of a path that is not served
        return Unchecked(f"the API server does not serve {resource}", lasting=True)
    return Refused((status.message,), missing)


def _refused(status: _Status) -> Refused:
    strict = [f"{word} field {name}" for word, name in _STRICT.findall(status.message)]
    causes = (status.details.causes if status.details else None) or []
    named = [f"{one.field}: {one.message}" for one in causes if one.field and one.message]
    return Refused(
        problems=tuple(dict.fromkeys(strict or named)) or (status.message or status.reason,),
        missing=_missing(status.message),
        is_open=bool(causes) and all(one.reason in _OPEN_CAUSES for one in causes),
    )


def _missing(message: str) -> tuple[str, str] | None:
    match = _MISSING.search(message)
    if match is None:
        return None
    return (match[1] or match[3]).lower(), match[2] or match[4]


def _status(answer: Answer) -> _Status:
    try:
        return msgspec.json.decode(sanitize.json_texts(answer.body), type=_Status)
    except msgspec.MsgspecError:  # from a proxy on the way
        return _Status(sanitize.json_texts(answer.body)[:200].decode(errors="replace").strip())


def _decoded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except ValueError as error:
        raise UnansweredError(
            f"the API server's answer cannot be read: {error}; does `kubectl version` work?"
        ) from error
