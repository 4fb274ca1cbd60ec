"""Our own format, as CSV and as JSON lines, with the same fields (docs/traces.md).

A line is a job. Empty or missing optional fields have the default of ``FIELDS``. Machines are in a
second file beside the first, ``NAME.machines.csv`` or ``.jsonl``.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from extender.core.cluster.utility import Sigmoid, Steps
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.rows import Row, read_csv, read_jsonl
from simulator.traces.shapes import Exponential, Measured, Proportional
from simulator.workload import GPU, Curve, Job, Machine, Speed, Workload, Worth, kubernetes_name

NEEDED: Final = ("name", "submitted_s", "workers", "duration_s")
OPTIONAL: Final[Mapping[str, str]] = {
    "namespace": "default",
    "gpus": "0",
    "cpu_milli": "1000",
    "memory_mib": "1024",
    "least_workers": "as workers",
    "most_workers": "as workers",
    "speedup": "proportional",
    "locality": "1",
    "servers": "0",
    "server_cpu_milli": "1000",
    "server_memory_mib": "1024",
    "user_priority": "5",
    "class_value": "50",
    "max_wait_s": "none",
    "expected_s": "none",
    "utility": "none",
    "deadline_s": "none",
    "curve": "none",
    "movable": "false",
    "pause_s": "5",
    "demand_milli": "as cpu_milli",
}
"""Optional field → its default, as docs/traces.md describes it."""
FIELDS: Final = (*NEEDED, *OPTIONAL)
MACHINE_FIELDS: Final = ("name", "gpus", "cpu_milli", "memory_mib")

_MIB: Final = 2**20
_PODS: Final = 110


def read(path: Path, faults: Faults) -> Workload:
    """Return the workload of a file in our format, by its ending ``.csv`` or ``.jsonl``.

    Raises:
        TraceError: A line cannot be read, two jobs have one name, or there are no machines.
    """
    jobs = tuple(faults.kept(_rows(path, NEEDED, faults), _job))
    _once(path, jobs)
    ordered = sorted(jobs, key=lambda job: (job.submitted_at, job.name))
    beside = path.with_name(f"{path.stem}.machines{path.suffix}")
    if not beside.is_file():
        raise TraceError(beside, 0, "file", "", "the machines beside the jobs")
    machines = tuple(faults.kept(_rows(beside, MACHINE_FIELDS, faults), _machine))
    return Workload(tuple(ordered), machines, path.name)


def _rows(path: Path, needed: tuple[str, ...], faults: Faults) -> Iterator[Row]:
    return read_jsonl(path, faults) if path.suffix == ".jsonl" else read_csv(path, needed, faults)


def _once(path: Path, jobs: tuple[Job, ...]) -> None:
    names = [job.name for job in jobs]
    for name in sorted({name for name in names if names.count(name) > 1} if names else ()):
        raise TraceError(path, 0, "name", name, "a name that only one job has")


def _machine(row: Row) -> Machine:
    row.only(MACHINE_FIELDS)
    return Machine(kubernetes_name(row.text("name")), {**_asked(row, ""), "pods": _PODS})


def _asked(row: Row, prefix: str) -> dict[str, int]:
    gpus = 0 if prefix else row.whole("gpus", default=0)
    return {
        "cpu": row.whole(f"{prefix}cpu_milli", default=1000),
        "memory": row.whole(f"{prefix}memory_mib", default=1024) * _MIB,
        **({GPU: gpus} if gpus else {}),
    }


def _job(row: Row) -> Job:
    row.only(FIELDS)
    workers = row.whole("workers", least=1)
    speed = _speed(row)
    utility = row.text("utility", "")
    servers = row.whole("servers", default=0)
    try:
        return Job(
            name=kubernetes_name(row.text("name")),
            namespace=kubernetes_name(row.text("namespace", "default")),
            submitted_at=row.number("submitted_s"),
            workers=workers,
            least_workers=row.whole("least_workers", least=1, default=workers),
            most_workers=row.whole("most_workers", least=1, default=workers),
            worker=_asked(row, ""),
            servers=servers,
            server=_asked(row, "server_") if servers else {},
            work=row.above_zero("duration_s") * speed.rate(workers, 1),
            speed=speed,
            user_priority=row.whole("user_priority", least=1, default=5),
            class_value=row.whole("class_value", default=50),
            max_wait_seconds=_optional(row, "max_wait_s"),
            expected_seconds=_optional(row, "expected_s"),
            worth=_worth(row, "utility", utility) if utility else None,
            deadline_seconds=_optional(row, "deadline_s"),
            curve=_curve(row),
            movable=row.flag("movable", default=False),
            pause_seconds=row.number("pause_s", default=5.0),
            demand_milli=row.whole("demand_milli", default=0),
        )
    except ValueError as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(row.path, row.line, "workers", str(workers), f"a job ({error})") from error


def _optional(row: Row, field: str) -> float | None:
    return row.number(field) if row.has(field) else None


def _speed(row: Row) -> Speed:
    """Parse ``proportional``, or ``1=1;2=1.9;4=3.2``: speed by workers."""
    locality = row.number("locality", default=1.0)
    if not 0.0 < locality <= 1.0:
        row.wrong("locality", "a factor above 0 and at most 1")
    text = row.text("speedup", "proportional")
    if text == "proportional":
        return Proportional(locality)
    pairs = _pairs(row, "speedup", text)
    workers = tuple(w for w, _ in pairs)
    if list(workers) != sorted(set(workers)) or workers[0] < 1 or any(s <= 0 for _, s in pairs):
        row.wrong("speedup", "workers that rise from 1, each with a speed above 0")
    return Measured(workers, tuple(s for _, s in pairs), locality)


def _curve(row: Row) -> Curve | None:
    """Parse ``exponential:SPEED`` or ``exponential:SPEED;FLOOR``."""
    if not row.has("curve"):
        return None
    kind, _, rest = row.text("curve").partition(":")
    expected = "exponential:SPEED;FLOOR with a speed above 0 and a floor within 0…1"
    numbers = [_number(row, "curve", part, expected) for part in rest.split(";")]
    if kind != "exponential" or not 1 <= len(numbers) <= 2 or numbers[0] <= 0:  # noqa: PLR2004 - speed, floor
        row.wrong("curve", expected)
    return Exponential(*numbers)


_EXPECTED: Final = (
    "sigmoid:γ1;γ2;γ3 (γ2 a second, γ3 in seconds) or steps:SECONDS=VALUE;… "
    "(seconds rise, values fall)"
)
_SIGMOID_NUMBERS: Final = 3


def _worth(row: Row, field: str, text: str) -> Worth:
    """Parse a utility of seconds after the submission.

    Either ``sigmoid:γ1;γ2;γ3`` or ``steps:SECONDS=VALUE;…``.

    Raises:
        TraceError: It is neither.
    """
    kind, _, rest = text.partition(":")
    if kind == "sigmoid":
        numbers = [_number(row, field, part, _EXPECTED) for part in rest.split(";")]
        if len(numbers) != _SIGMOID_NUMBERS or min(numbers) < 0:
            row.wrong(field, _EXPECTED)
        return Sigmoid(*numbers)
    if kind != "steps":
        row.wrong(field, _EXPECTED)
    steps = _pairs(row, field, rest)
    deadlines, values = [d for d, _ in steps], [v for _, v in steps]
    falling = sorted(values, reverse=True) == values and values[-1] >= 0
    if sorted(set(deadlines)) != deadlines or deadlines[0] <= 0 or not falling:
        row.wrong(field, _EXPECTED)
    return Steps(steps)


def _pairs(row: Row, field: str, text: str) -> tuple[tuple[float, float], ...]:
    """Return ``A=B;C=D`` as pairs of numbers.

    Raises:
        TraceError: It is something else.
    """
    expected = "pairs A=B with ; between them"
    pairs = []
    for part in text.split(";"):
        left, sign, right = part.partition("=")
        if not sign:
            row.wrong(field, expected)
        pairs.append((_number(row, field, left, expected), _number(row, field, right, expected)))
    return tuple(pairs)


def _number(row: Row, field: str, text: str, expected: str) -> float:
    """Return one finite number of a field.

    Raises:
        TraceError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        row.wrong(field, expected)
    if not math.isfinite(value):
        row.wrong(field, expected)
    return value
