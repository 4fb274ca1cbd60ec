"""Chronus: jobs of the Philly cluster with deadlines and values, and measured locality by model.

A job is a gang with one worker per GPU. A job without GPUs is one worker with CPU alone (the
artifact leaves those out). A job of type ``best`` has no deadline: its times only repeat the
submission, so it gets no utility. Deadlines count from the submission.

Source:
    Gao, Ye, Sun, Wen, Zhang: Chronus, SoCC 2021; artifact S-Lab-System-Group/ChronusArtifact, whose
    defaults are the machines: 75 with 8 GPUs, 128 CPUs and 256 GiB.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from extender.core.cluster.utility import Steps
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.rows import Row, read_csv
from simulator.traces.shapes import Located
from simulator.workload import GIB, GPU, Job, Workload, equal_machines, kubernetes_name

COLUMNS: Final = (
    "job_id",
    "user",
    "num_gpu",
    "submit_time",
    "model_name",
    "duration",
    "expect_time_list",
    "expect_value_list",
    "job_type",
)
LOCALITY_FILE: Final = "model_info.json"
"""File beside the trace: model → GPUs → nodes → speed relative to one node."""

Locality = Mapping[str, Mapping[int, Mapping[int, float]]]

_NODES, _GPUS, _CPU, _MEMORY = 75, 8, 128_000, 256 * GIB
_BEST = "best"


def read(path: Path, faults: Faults) -> Workload:
    """Return the workload of a Chronus trace.

    Raises:
        TraceError: A line or the locality table cannot be read.
    """
    locality = _locality(path.parent / LOCALITY_FILE)
    jobs = faults.kept(read_csv(path, COLUMNS, faults), lambda row: _job(row, locality))
    machines = equal_machines(_NODES, gpus=_GPUS, cpu_milli=_CPU, memory=_MEMORY)
    ordered = sorted(jobs, key=lambda job: (job.submitted_at, job.name))
    return Workload(tuple(ordered), machines, f"chronus {path.name}")


def _locality(path: Path) -> Locality:
    expected = f"the locality table {LOCALITY_FILE} beside the trace"
    if not path.is_file():
        raise TraceError(path, 0, "file", "", expected)
    try:
        text = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, dict[str, float]]])
        return {
            model: {
                int(gpus): {int(nodes): factor for nodes, factor in by_nodes.items()}
                for gpus, by_nodes in by_gpus.items()
            }
            for model, by_gpus in text.items()
        }
    except (msgspec.MsgspecError, ValueError) as error:
        raise TraceError(path, 0, "file", str(error), expected) from error


def _job(row: Row, locality: Locality) -> Job:
    gpus = row.whole("num_gpu")
    workers = max(1, gpus)
    seconds = row.above_zero("duration")
    steps = _steps(row)
    share = _CPU // _GPUS, _MEMORY // _GPUS
    return Job(
        name=kubernetes_name(f"chronus-{row.text('job_id')}"),
        namespace=kubernetes_name(row.text("user")),
        submitted_at=row.number("submit_time"),
        workers=workers,
        worker={"cpu": share[0], "memory": share[1], **({GPU: 1} if gpus else {})},
        work=workers * seconds,
        speed=_speed(row, locality, workers),
        expected_seconds=seconds,
        worth=steps,
        deadline_seconds=steps.steps[0][0] if steps else None,
        movable=True,
    )


def _speed(row: Row, locality: Locality, workers: int) -> Located:
    """Return the speed; an unmeasured count uses the next smaller measured one, or the smallest.

    More GPUs than a machine has need several nodes: the factor counts the nodes beyond those.
    """
    by_gpus = locality.get(row.text("model_name"))
    if not by_gpus:
        row.wrong("model_name", f"a model of {LOCALITY_FILE}: {', '.join(sorted(locality))}")
    if workers == 1:
        return Located({1: 1.0})
    measured = max((g for g in by_gpus if g <= workers), default=min(by_gpus))
    return Located(by_gpus[measured], math.ceil(workers / _GPUS))


def _steps(row: Row) -> Steps | None:
    kind = row.text("job_type")
    if kind not in {"strict", "soft", _BEST}:
        row.wrong("job_type", "strict, soft or best")
    if kind == _BEST:
        return None
    deadlines = _list(row, "expect_time_list")
    values = _list(row, "expect_value_list")
    if len(deadlines) != len(values):
        row.wrong("expect_value_list", f"as many values as there are deadlines ({len(deadlines)})")
    if list(deadlines) != sorted(deadlines) or list(values) != sorted(values, reverse=True):
        row.wrong("expect_time_list", "deadlines that rise with values that fall")
    return Steps(tuple(zip(deadlines, values, strict=True)))


def _list(row: Row, field: str) -> tuple[float, ...]:
    parts = row.text(field).split("-")
    if not all(part.isdecimal() for part in parts):
        row.wrong(field, "whole numbers with - between them")
    return tuple(float(part) for part in parts)
