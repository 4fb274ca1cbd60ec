"""Whether a pod still fits on its node when it arrives (pure).

Source:
    The kubelet's ``lifecycle.predicateAdmitHandler``: reason ``OutOf<resource>``, phase Failed.
"""

from collections.abc import Iterable, Mapping

Requests = Iterable[tuple[str, int]]


def verdict(
    wanted: Requests, present: Iterable[Requests], allocatable: Mapping[str, int]
) -> tuple[str, str] | None:
    """Return reason and message if a pod does not fit beside those present; None if it does.

    Args:
        wanted: Effective requests of the pod in base units, ``pods`` included.
        present: Those of the pods that have not ended.
        allocatable: What the node offers, in base units.
    """
    used: dict[str, int] = {}
    for requests in present:
        for resource, amount in requests:
            used[resource] = used.get(resource, 0) + amount
    for resource, amount in wanted:
        capacity, taken = allocatable.get(resource, 0), used.get(resource, 0)
        if taken + amount > capacity:
            amounts = f"requested: {amount}, used: {taken}, capacity: {capacity}"
            message = f"Node didn't have enough resource: {resource}, {amounts}"
            return f"OutOf{resource}", message
    return None
