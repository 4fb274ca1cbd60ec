"""Paths of a pod's metrics and checkpoints on the shared volume, from its annotations. Pure.

A job has its own directory ``<namespace>/<job>`` on the volume. Annotations have paths below it and
cannot lead out of it (links are refused when files are opened). A path may have the variables
``$(POD_NAME)``, ``$(POD_UID)``, ``$(ROLE)`` and ``$(INDEX)``.

``shuntyard.io/checkpoint: <path>``: the checkpoint directory; empty: ``checkpoints``.

``shuntyard.io/metrics: key=value; key=value; …`` with the keys

==============  ==================================================================================
``path``        file below the job's directory, ``*`` allowed in its last three parts; or ``log``:
                the container's log
``format``      ``jsonl``, ``csv``, ``tfevents``, ``trainer-state``, ``keras``, ``huggingface``,
                ``lightning``, ``torchrun``, ``megatron``, ``deepspeed``, ``regex``; or ``auto``
``metric``      name of the series; default: the first of ``eval_loss``, ``val_loss``, ``loss``
``goal``        ``min`` or ``max``; default: by the metric's name
``total-steps`` where the run ends
``container``   whose log is read; default: the first that has one
``regex``       must be last; named groups ``value`` and, if it has one, ``step``
==============  ==================================================================================
"""

import posixpath
from dataclasses import dataclass
from typing import Final

from shared import labels
from shared.errors import InputError
from shared.progress import Goal

DEFAULT_CHECKPOINTS: Final = "checkpoints"
LOG: Final = "log"
FORMATS: Final = (
    "auto",
    "jsonl",
    "csv",
    "tfevents",
    "trainer-state",
    "keras",
    "huggingface",
    "lightning",
    "torchrun",
    "megatron",
    "deepspeed",
    "boxes",
    "table",
    "ultralytics",
    "mllog",
    "mlflow",
    "wandb",
    "printed",
    "regex",
)
LONGEST_ANNOTATION: Final = 2048
"""Characters of each annotation; enough for a long path and a pattern of 500."""
LONGEST_PATH: Final = 1024
"""Characters of a path after its variables are replaced."""
LONGEST_METRIC: Final = 200
"""Characters of a metric's name."""
_KEYS: Final = ("path", "format", "metric", "goal", "total-steps", "container", "regex")
_MOST_DIGITS: Final = 18
"""Digits of a number of steps, so that it fits 64 bits."""
_METRICS_FIELD: Final = f"annotation {labels.METRICS}"
_CHECKPOINT_FIELD: Final = f"annotation {labels.CHECKPOINT}"


@dataclass(frozen=True)
class PathVariables:
    """Values of the variables in the paths of one pod."""

    namespace: str
    job: str
    pod: str
    uid: str
    role: str = ""
    index: int | None = None


@dataclass(frozen=True)
class MetricsPlace:
    """The parsed metrics annotation.

    Attributes:
        path: Below the volume's root; ``log`` for the container's log; None: by convention.
        format: One of ``FORMATS``.
        metric: Name of the series; None: the default ones.
        goal: None: by the metric's name.
        total_steps: None if not stated.
        container: None: the first that has a log.
        regex: Only with the format ``regex``.
    """

    path: str | None = None
    format: str = "auto"
    metric: str | None = None
    goal: Goal | None = None
    total_steps: int | None = None
    container: str | None = None
    regex: str | None = None


def job_directory(variables: PathVariables) -> str:
    """Return the job's own directory below the volume's root: ``<namespace>/<job>``."""
    return f"{variables.namespace}/{variables.job}"


def checkpoint_directory(annotation: str, variables: PathVariables) -> str:
    """Return the checkpoint directory below the volume's root.

    Raises:
        InputError: The path is absolute or leads out of the job's directory.
    """
    _refuse_long(annotation, LONGEST_ANNOTATION, _CHECKPOINT_FIELD)
    return _below(annotation.strip() or DEFAULT_CHECKPOINTS, variables, _CHECKPOINT_FIELD)


def conventional_metrics(variables: PathVariables) -> str:
    """Return the pattern of metrics files where the annotation names none."""
    return f"{job_directory(variables)}/metrics/{variables.pod}*"


def metrics_place(annotation: str | None, variables: PathVariables) -> MetricsPlace:
    """Parse the metrics annotation; None: everything by convention.

    Raises:
        InputError: A key or value is invalid; names it.
    """
    _refuse_long(annotation or "", LONGEST_ANNOTATION, _METRICS_FIELD)
    values = _pairs(annotation or "")
    _refuse_long(values.get("metric", ""), LONGEST_METRIC, f"{_METRICS_FIELD}, metric")
    path = values.get("path")
    if path is not None and path != LOG:
        path = _below(path, variables, f"{_METRICS_FIELD}, path")
    kind = _one_of(
        values.get("format", "regex" if "regex" in values else "auto"), "format", FORMATS
    )
    if (kind == "regex") != ("regex" in values):
        raise InputError(_METRICS_FIELD, annotation or "", "format=regex together with regex=…")
    goal = values.get("goal")
    return MetricsPlace(
        path=path,
        format=kind,
        metric=values.get("metric"),
        goal=Goal(_one_of(goal, "goal", ("min", "max"))) if goal is not None else None,
        total_steps=_steps(values["total-steps"]) if "total-steps" in values else None,
        container=values.get("container"),
        regex=values.get("regex"),
    )


def shortened(annotation: str | None) -> str | None:
    """Return an annotation as it is sent to the agent: one that is too long stays too long."""
    return None if annotation is None else annotation[: LONGEST_ANNOTATION + 1]


def _refuse_long(text: str, most: int, field: str) -> None:
    if len(text) > most:
        raise InputError(field, text, f"a text of at most {most} characters")


def _pairs(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    rest = text.strip()
    while rest:
        key, equals, after = rest.partition("=")
        key = key.strip()
        if not equals or key not in _KEYS or key in values:
            expected = f"key=value with the keys {', '.join(_KEYS)}, each once, separated by ';'"
            raise InputError(_METRICS_FIELD, text, expected)
        value, rest = (after, "") if key == "regex" else _cut(after)
        if not value.strip():
            raise InputError(f"{_METRICS_FIELD}, {key}", value, "a value that is not empty")
        values[key] = value.strip()
    return values


def _cut(text: str) -> tuple[str, str]:
    value, _, rest = text.partition(";")
    return value, rest.strip()


def _one_of(value: str, key: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InputError(f"{_METRICS_FIELD}, {key}", value, f"one of {', '.join(allowed)}")
    return value


def _steps(text: str) -> int:
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise InputError(f"{_METRICS_FIELD}, total-steps", text, "an integer above 0")
    return int(text)


def _below(path: str, variables: PathVariables, field: str) -> str:
    expanded = (
        path.replace("$(POD_NAME)", variables.pod)
        .replace("$(POD_UID)", variables.uid)
        .replace("$(ROLE)", variables.role or "none")
        .replace("$(INDEX)", str(variables.index if variables.index is not None else 0))
    )
    outside = ".." in expanded.split("/") or expanded.startswith("/") or "\0" in expanded
    if outside or posixpath.normpath(expanded) == ".":
        expected = f"a relative path below the job's directory {job_directory(variables)!r}"
        raise InputError(field, path, expected)
    _refuse_long(expanded, LONGEST_PATH, field)
    return posixpath.join(job_directory(variables), posixpath.normpath(expanded))
