"""Progress in the status of a TrainJob: valid fields are read, others are reported."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube import kinds
from shared.model import Owner, OwnProgress

DECODE = next(kind.decode for kind in kinds.OWNERS if kind.kind == "TrainJob")
AT = "2025-01-23T10:30:45Z"
AT_SECONDS = 1737628245.0
METRICS = [{"name": "loss", "value": "0.2347"}]


def decoded(status: Any) -> Owner:
    meta = {"name": "llama", "namespace": "team", "uid": "u"}
    text = json.dumps({"metadata": meta, "spec": {"suspend": False}, "status": status})
    return DECODE(text.encode())


def trainer_status(**fields: Any) -> dict[str, Any]:
    return {"conditions": [], "trainerStatus": {"lastUpdatedTime": AT, **fields}}


READ: dict[str, tuple[Any, OwnProgress | None]] = {
    "everything": (
        trainer_status(progressPercentage=45, estimatedRemainingSeconds=795649, metrics=METRICS),
        OwnProgress(percent=45.0, remaining_seconds=795649.0, written_at=AT_SECONDS),
    ),
    "nothing but the time": (trainer_status(), OwnProgress(written_at=AT_SECONDS)),
    "an end that is there": (
        trainer_status(progressPercentage=100, estimatedRemainingSeconds=0),
        OwnProgress(percent=100.0, remaining_seconds=0.0, written_at=AT_SECONDS),
    ),
    "another zone": (
        trainer_status(lastUpdatedTime="2025-01-23T11:30:45+01:00"),
        OwnProgress(written_at=AT_SECONDS),
    ),
    "the gate is off": ({"conditions": []}, None),
    "no status": (None, None),
    "it is null": ({"trainerStatus": None}, None),
}


@pytest.mark.parametrize(("status", "want"), READ.values(), ids=READ)
def test_the_status_is_read(status: Any, want: OwnProgress | None) -> None:
    assert decoded(status).progress == want


PERCENT, SECONDS, TIME = "progressPercentage", "estimatedRemainingSeconds", "lastUpdatedTime"
BAD: dict[str, tuple[str, Any]] = {
    "below none": (PERCENT, -1),
    "above all": (PERCENT, 101),
    "a text": (PERCENT, "45"),
    "a truth value": (PERCENT, True),
    "a list": (PERCENT, [45]),
    "no time left and less": (SECONDS, -0.5),
    "more time than its definition can hold": (SECONDS, 2**31),
    "more than any integer": (SECONDS, 10**30),
    "a text as time left": (SECONDS, "soon"),
    "no time": (TIME, None),
    "no such day": (TIME, "2025-02-30T10:30:45Z"),
    "a time without a zone": (TIME, "2025-01-23T10:30:45"),
    "Go's zero time": (TIME, "0001-01-01T00:00:00Z"),
    "a number as time": (TIME, 1737628245),
    "a time of nothing": (TIME, ""),
}


@pytest.mark.parametrize(("field", "value"), BAD.values(), ids=BAD)
def test_an_invalid_field_is_named_and_the_status_ignored(field: str, value: Any) -> None:
    owner = decoded(trainer_status(**{PERCENT: 45, SECONDS: 60, field: value}))
    assert owner.progress is not None
    assert owner.progress.problem.startswith(f"status.trainerStatus.{field}: ")
    assert owner.progress == OwnProgress(problem=owner.progress.problem)
    assert owner.suspend_field == "/spec/suspend"


@pytest.mark.parametrize("status", [7, "done", [], {"trainerStatus": "45%"}])
def test_a_train_job_without_a_valid_status_stays_an_owner(status: Any) -> None:
    owner = decoded(status)
    assert (owner.name, owner.suspend_field) == ("llama", "/spec/suspend")
    assert owner.progress is not None
    assert owner.progress.problem.startswith("status.trainerStatus: ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)  # fmt: skip


@given(st.fixed_dictionaries({}, optional={PERCENT: JSON, SECONDS: JSON, TIME: JSON | st.just(AT)}))
def test_any_status_is_used_within_bounds_or_reported(fields: dict[str, Any]) -> None:
    found = decoded({"trainerStatus": fields}).progress
    assert found is not None
    if not found.problem:
        assert 0 <= (found.percent or 0) <= 100
        assert 0 <= (found.remaining_seconds or 0) < 2**31
        assert found.written_at == AT_SECONDS or TIME in fields
