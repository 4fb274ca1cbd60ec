import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube import errors
from shared.kube.errors import ApiError, Backoff, transient


def body(code: int, reason: str, **details: object) -> bytes:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "m", "details": details}
    return json.dumps(status).encode()


CASES: dict[str, tuple[int, bytes, type[ApiError]]] = {
    "bad request": (400, body(400, "BadRequest"), errors.InvalidError),
    "unauthorized": (401, body(401, "Unauthorized"), errors.UnauthorizedError),
    "forbidden": (403, body(403, "Forbidden"), errors.ForbiddenError),
    "not found": (404, body(404, "NotFound"), errors.NotFoundError),
    "conflict": (409, body(409, "Conflict"), errors.ConflictError),
    "already exists": (409, body(409, "AlreadyExists"), errors.AlreadyExistsError),
    "expired": (410, body(410, "Expired"), errors.GoneError),
    "invalid": (422, body(422, "Invalid"), errors.InvalidError),
    "patch of another uid": (
        422,
        body(422, "Invalid", causes=[{"field": "metadata.uid"}]),
        errors.ConflictError,
    ),
    "throttled": (429, body(429, "TooManyRequests"), errors.ThrottledError),
    "server": (500, body(500, "InternalError"), errors.ServerError),
    "timeout": (504, body(504, "Timeout"), errors.ServerError),
    "odd": (418, body(418, ""), ApiError),
    "a proxy's page": (502, b"<html>Bad \xff Gateway</html>", errors.ServerError),
    "nothing": (503, b"", errors.ServerError),
}


@pytest.mark.parametrize(("code", "answer", "kind"), CASES.values(), ids=CASES)
def test_an_answer_becomes_the_error_of_its_kind(
    code: int, answer: bytes, kind: type[ApiError]
) -> None:
    error = errors.from_response(code, answer)
    assert type(error) is kind
    assert error.status == code


WAITS: dict[str, tuple[bytes, str | None, float | None]] = {
    "header": (b"", "7", 7.0),
    "body": (body(429, "TooManyRequests", retryAfterSeconds=3), None, 3.0),
    "header wins": (body(429, "TooManyRequests", retryAfterSeconds=3), "7", 7.0),
    "a date is not read": (b"", "Wed, 21 Oct 2026 07:28:00 GMT", None),
    "none": (b"", None, None),
}


@pytest.mark.parametrize(("answer", "header", "seconds"), WAITS.values(), ids=WAITS)
def test_an_error_has_the_wait_that_the_server_asks_for(
    answer: bytes, header: str | None, seconds: float | None
) -> None:
    assert errors.from_response(429, answer, header).retry_after_seconds == seconds


def test_an_error_has_the_message_of_the_server() -> None:
    error = errors.from_response(
        404, b'{"kind": "Status", "reason": "NotFound", "message": "pods \\"a\\" not found"}'
    )
    assert str(error) == '404 NotFound: pods "a" not found'
    assert str(errors.OddObjectError("n/a", "bad")) == "n/a: bad"


TRANSIENT = {
    "lost": (errors.ConnectionLostError("x"), True),
    "throttled": (errors.ThrottledError(429, "", ""), True),
    "server": (errors.ServerError(500, "", ""), True),
    "conflict": (errors.ConflictError(409, "", ""), False),
    "gone": (errors.GoneError(410, "", ""), False),
    "forbidden": (errors.ForbiddenError(403, "", ""), False),
    "another": (ValueError(), False),
}


@pytest.mark.parametrize(("error", "expected"), TRANSIENT.values(), ids=TRANSIENT)
def test_only_errors_that_may_pass_are_transient(error: Exception, expected: bool) -> None:
    assert transient(error) is expected


@given(st.integers(), st.integers(0, 20))
def test_waits_grow_up_to_the_limit(seed: int, failures: int) -> None:
    backoff = Backoff(first_seconds=1, most_seconds=8, rng=random.Random(seed))
    for count in range(failures):
        assert 0 <= backoff.next_seconds() <= min(2**count, 8)
    backoff.reset()
    assert backoff.next_seconds() <= 1
