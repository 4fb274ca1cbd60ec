"""Faults of a node's GPUs in words: facts for people, no decision reads them."""

from shared.progress import GpuHealth


def faults(health: GpuHealth) -> tuple[str, ...]:
    """Return what is wrong, each in a few words; empty if nothing is."""
    errors = health.uncorrected_errors or 0
    found = {
        f"{health.lost} of {health.devices} lost": health.lost,
        f"{errors} uncorrected error{'' if errors == 1 else 's'}": errors,
        f"{health.pending_remaps} to be reset": health.pending_remaps,
        f"{health.failed_remaps} to be replaced": health.failed_remaps,
    }
    return tuple(words for words, count in found.items() if count)
