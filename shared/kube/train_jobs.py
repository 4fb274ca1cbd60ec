"""A TrainJob of Kubeflow Trainer: its suspension, and its own progress.

The training posts ``status.trainerStatus`` to the operator, which stores it unchanged (feature gate
``TrainJobStatus``). Its metrics are not read: curves come from the agents.

Source:
    Kubeflow Trainer v2.2.1 pkg/apis/trainer/v1alpha1/trainjob_types.go (``TrainerStatus``),
    pkg/statusserver/server.go, docs/proposals/2779-trainjob-progress.
"""

import math
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, field

from shared.errors import InputError
from shared.kube import wire
from shared.kube.changes import NO_CHANGES, Changes, suspendable
from shared.kube.pod_templates import Noted, Template
from shared.model import OwnProgress

FIELD: Final = "status.trainerStatus"
MOST_SECONDS: Final = 2**31 - 1
"""Limit of the field's type (``int32``)."""


class Spec(Struct, rename="camel"):
    """``spec``; its annotations go to the JobSet and the Jobs that are made of it."""

    suspend: bool | None = None
    managed_by: str | None = None
    annotations: dict[str, Raw] | None = None
    pod_template_overrides: list[Template] | None = None


class TrainJob(Struct):
    """``status`` is decoded separately: whatever it has, the TrainJob stays an owner."""

    metadata: wire.Meta
    spec: Spec | None = None
    api_version: str = field(default="", name="apiVersion")
    status: Raw = Raw(b"null")


class TrainerStatus(Struct, rename="camel"):
    """``status.trainerStatus``; values of any type until checked."""

    progress_percentage: Any = None
    estimated_remaining_seconds: Any = None
    last_updated_time: Any = None


class Status(Struct, rename="camel"):
    """``status``."""

    trainer_status: TrainerStatus | None = None


_STATUS: Final = msgspec.json.Decoder(Status | None)


def changes(job: TrainJob) -> Changes:
    """Return its suspension; ``numNodes`` does not change an existing JobSet.

    Source:
        Kubeflow Trainer v2.0.0 and v2.2.1 pkg/runtime/framework/plugins/jobset/jobset.go
        (``Build``).
    """
    spec = job.spec
    if spec is None:
        return NO_CHANGES
    return suspendable(suspended=spec.suspend, managed_by=spec.managed_by)


def templates(job: TrainJob) -> list[Template]:
    """Return its pod overrides and annotations; the rest of the template is its runtime's.

    Source:
        Kubeflow Trainer v2.1.0 pkg/apis/trainer/v1alpha1/trainjob_types.go
        (``TrainJobSpec.Annotations``, ``PodTemplateOverride``).
    """
    spec = job.spec or Spec()
    return [*(spec.pod_template_overrides or ()), Template(Noted(spec.annotations))]


def progress(job: TrainJob) -> OwnProgress | None:
    """Return the training's own progress; None if it reports none."""
    try:
        status = _STATUS.decode(job.status)
        reported = status.trainer_status if status else None
        return None if reported is None else _read(reported)
    except InputError as error:
        return OwnProgress(problem=str(error))
    except (msgspec.DecodeError, RecursionError) as error:
        return OwnProgress(problem=f"{FIELD}: {error}")


def _read(reported: TrainerStatus) -> OwnProgress:
    """Return the progress, all of it or nothing.

    Raises:
        InputError: A part of it is invalid.
    """
    seconds = _number(
        "estimatedRemainingSeconds", reported.estimated_remaining_seconds, MOST_SECONDS
    )
    return OwnProgress(
        percent=_number("progressPercentage", reported.progress_percentage, 100),
        remaining_seconds=seconds,
        written_at=_time("lastUpdatedTime", reported.last_updated_time),
    )


def _number(name: str, value: Any, most: int) -> float | None:
    if value is None:
        return None
    # True is an int to Python
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        raise InputError(f"{FIELD}.{name}", str(value), f"a number from 0 to {most}")
    return float(value)


def _time(name: str, value: Any) -> float:
    try:
        at = datetime.fromisoformat(value)
        seconds = (
            math.nan if at.tzinfo is None else at.timestamp()
        )  # without a zone it is ambiguous
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not seconds >= 0:  # not before 1970: Go's zero time means unset
        raise InputError(f"{FIELD}.{name}", str(value), "a time such as 2026-01-23T10:30:45Z")
    return seconds
