"""What the API server's answer to a dry run says: accepted, refused with the field, or not checked.

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

from cli.connection import Answer
from cli.errors import UnansweredError
from cli.harmless import answer as harmless

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
        missing: Kind (lower case, singular or plural) and name of an object that is not there; None
            if it is refused for something else.
        is_open: Whether only something is missing that a controller may fill in before it makes
            the object.
    """

    problems: tuple[str, ...]
    missing: tuple[str, str] | None = None
    is_open: bool = False


@dataclass(frozen=True)
class Exists:
    """There is an object of that name already."""


@dataclass(frozen=True)
class Unchecked:
    """Nobody knows.

    Attributes:
        reason: Why the API server did not check it.
        lasting: Whether it says the same of every object of the kind in the namespace.
    """

    reason: str
    lasting: bool = False


Verdict = Accepted | Refused | Exists | Unchecked


def of(answer: Answer, resource: str, where: str) -> Verdict:
    """Return the verdict of an answer.

    Args:
        answer: To a POST with ``dryRun=All``.
        resource: What was to be created, in the plural.
        where: Namespace, in words; empty for what is in none.

    Raises:
        UnansweredError: The API server does not accept the credentials, or answers with no JSON.
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
    said = status.message or status.reason or "no reason given"
    return Unchecked(f"the API server answered {answer.status}: {said}")


def _unasked(status: _Status, code: int, resource: str, where: str) -> Unchecked | None:
    """Return why an object was not looked at; None if it was, and is refused for what it is."""
    no_dry_run = _NO_DRY_RUN.search(status.message)
    if no_dry_run:
        return Unchecked(f"the admission webhook {no_dry_run[1]} does not support dry runs")
    if code == FORBIDDEN and _NO_RIGHT.search(status.message):
        return Unchecked(f"you may not create {resource}{where}", lasting=True)
    return None


def _not_found(status: _Status, resource: str) -> Verdict:
    missing = _missing(status.message)
    if missing is None:  # that is what a path says which is not served
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
    found = _MISSING.search(message)
    if found is None:
        return None
    return (found[1] or found[3]).lower(), found[2] or found[4]


def _status(answer: Answer) -> _Status:
    try:
        return msgspec.json.decode(harmless(answer.body), type=_Status)
    except msgspec.MsgspecError:  # something in between
        return _Status(harmless(answer.body)[:200].decode(errors="replace").strip())


def _decoded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except ValueError as error:
        raise UnansweredError(f"the API server's answer cannot be read: {error}") from error
