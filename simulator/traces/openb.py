"""openb: pods and nodes of an Alibaba cluster with GPUs, 2023.

Each pod is a job of one worker. A fraction of a GPU counts as a whole one: a device plugin gives
whole devices only. A job runs from its scheduling to its deletion; one that was never scheduled
(``Pending`` in the trace) is assumed to run as long as it existed, and a note counts those.

Source:
    Weng et al., USENIX ATC 2023; hkust-adsl/kubernetes-scheduler-simulator, data/csv.
"""

from pathlib import Path
from typing import Final

from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.rows import Row, read_csv
from simulator.traces.shapes import Proportional
from simulator.workload import GPU, Job, Machine, Workload, kubernetes_name

POD_COLUMNS: Final = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "qos",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
NODE_FILE: Final = "openb_node_list_gpu_node.csv"
"""File beside the list of pods."""
GPU_MODEL: Final = "nvidia.com/gpu.product"

_MIB: Final = 2**20
_PODS: Final = 256
_LEAST_SECONDS: Final = 1.0
"""Times are whole seconds; some pods are deleted in the second in which they start."""
_CLASSES: Final = {"BE": 1, "Burstable": 50, "LS": 100, "Guaranteed": 100}
"""PriorityClass value by quality of service: best effort, burstable, latency-sensitive."""


def read(path: Path, faults: Faults) -> Workload:
    """Return the workload of an openb list of pods.

    Raises:
        TraceError: A line or the list of nodes cannot be read.
    """
    nodes = path.parent / NODE_FILE
    if not nodes.is_file():
        raise TraceError(nodes, 0, "file", "", "the list of nodes beside the list of pods")
    machines = tuple(faults.kept(read_csv(nodes, NODE_COLUMNS, faults), _machine))
    jobs = tuple(faults.kept(read_csv(path, POD_COLUMNS, faults), lambda row: _job(row, faults)))
    ordered = sorted(jobs, key=lambda job: (job.submitted_at, job.name))
    return Workload(tuple(ordered), machines, f"openb {path.name}")


def _machine(row: Row) -> Machine:
    gpus = row.whole("gpu")
    has = {
        "cpu": row.whole("cpu_milli", least=1),
        "memory": row.whole("memory_mib", least=1) * _MIB,
        "pods": _PODS,
        **({GPU: gpus} if gpus else {}),
    }
    return Machine(kubernetes_name(row.text("sn")), has, {GPU_MODEL: row.text("model", "none")})


def _job(row: Row, faults: Faults) -> Job:
    created, deleted = row.number("creation_time"), row.number("deletion_time")
    begun = row.number("scheduled_time", default=created)
    seconds = deleted - begun
    if seconds < 0:
        row.wrong("deletion_time", "a time not before scheduled_time, or creation_time")
    if not row.has("scheduled_time"):
        faults.notes.append(f"{row.text('name')}: never scheduled; taken to run for its whole life")
    quality = row.text("qos")
    if quality not in _CLASSES:
        row.wrong("qos", ", ".join(_CLASSES))
    gpus = row.whole("num_gpu")
    return Job(
        name=kubernetes_name(row.text("name")),
        submitted_at=created,
        workers=1,
        worker={
            "cpu": row.whole("cpu_milli"),
            "memory": row.whole("memory_mib") * _MIB,
            **({GPU: gpus} if gpus else {}),
        },
        work=max(seconds, _LEAST_SECONDS),
        speed=Proportional(),
        class_value=_CLASSES[quality],
    )
