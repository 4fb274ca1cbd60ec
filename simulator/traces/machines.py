"""Clusters of equal machines, for traces that have jobs but no machines."""

from typing import Final

from simulator.workload import Machine

GPU: Final = "nvidia.com/gpu"
GIB: Final = 2**30
_PODS: Final = 110


def equal(count: int, *, gpus: int, cpu_milli: int, memory: int) -> tuple[Machine, ...]:
    """Return ``count`` machines, named in the order of their names.

    Args:
        count: How many.
        gpus: Of each.
        cpu_milli: Of each.
        memory: Bytes of each.
    """
    width = len(str(max(0, count - 1)))
    has = {"cpu": cpu_milli, "memory": memory, "pods": _PODS, **({GPU: gpus} if gpus else {})}
    return tuple(Machine(f"node-{number:0{width}d}", has) for number in range(count))
