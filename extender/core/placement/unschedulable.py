"""Why a gang cannot be placed, from a closed vocabulary (docs/policies/gang.md)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.nodes.node_table import BoolVector, IntVector, NodeTable
from extender.core.placement.allocation import Seating
from extender.core.placement.members import Group, Need

_STEP: Final = 1024
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_IN_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


@dataclass(frozen=True)
class Misfit:
    """A gang cannot be placed.

    Attributes:
        reason: ``NoSuchNode``, ``GangDoesNotFit``, ``Fragmented`` or ``TopologyPlacementFailed``.
        detail: What is missing and how much of it, for people; changes with the nodes.
    """

    reason: Reason
    detail: str


def amount(resource: str, value: int) -> str:
    """Return an amount in base units as people write it: ``1500m cpu``, ``1.5Gi memory``."""
    if resource == "cpu":
        return f"{value // 1000} cpu" if value % 1000 == 0 else f"{value}m cpu"
    if not resource.startswith(_IN_BYTES):
        return f"{value} {resource}"
    size, unit = float(value), 0
    while abs(size) >= _STEP and unit + 1 < len(_BINARY):
        size, unit = size / _STEP, unit + 1
    return f"{size:.4g}{_BINARY[unit]} {resource}"


def never(groups: Iterable[Group], room: NodeTable) -> Misfit | None:
    """Return NoSuchNode if a pod could run on no node even if every node were empty."""
    for group in groups:
        need = group.need
        detail = _unknown_resource(need, room) or _no_node_allowed(need) or _too_large(need, room)
        if detail:
            return Misfit(Reason.NO_SUCH_NODE, f"{_pods(group)} {detail}")
    return None


def too_much(groups: Sequence[Group], room: NodeTable) -> Misfit | None:
    """Return GangDoesNotFit if the pods together ask for more than is free on nodes they may use.

    The pods of each group are counted alone, and all of them together; the resource of which the
    largest share is missing is named.
    """
    worst: tuple[float, str] = (0.0, "")
    for part in [[group] for group in groups] + [list(groups)]:
        usable = np.any([group.need.mask for group in part], axis=0)
        wanted = np.sum([group.need.request * len(group) for group in part], axis=0)
        worst = max(worst, _shortage(wanted, usable, room), key=lambda found: found[0])
    worst = max([worst, *map(_port_shortage, groups)], key=lambda found: found[0])
    return Misfit(Reason.GANG_DOES_NOT_FIT, worst[1]) if worst[1] else None


def fragmented(left: Sequence[Group], seating: Seating) -> Misfit:
    """Return Fragmented for the pods that the first try left without a seat."""
    group = left[0]
    need, free = group.need, seating.free[group.need.mask]
    asked = np.flatnonzero(need.request)
    enough = [int(np.count_nonzero(free[:, column] >= need.request[column])) for column in asked]
    column = int(asked[np.argmin(enough)])
    resource = seating.room.resources[column]
    most = max(int(free[:, column].max()), 0)
    wanted = int(need.request[column])
    short = (
        f"{amount(resource, wanted)} each, and the most left on a node is {amount(resource, most)}"
        f" ({amount(resource, wanted - most)} missing)"
        if most < wanted
        else "resources or host ports that no node has left together"
    )
    return Misfit(Reason.FRAGMENTED, f"{_pods(group)} without a node ask for {short}")


def _pods(group: Group) -> str:
    role = f"{group.role} " if group.role else ""
    return f"{len(group)} {role}pod{'s' if len(group) > 1 else ''}"


def _unknown_resource(need: Need, room: NodeTable) -> str | None:
    missing = [(name, value) for name, value in need.shape.requests if name not in room.resources]
    if not missing:
        return None
    return f"ask for {amount(*missing[0])} each, and no node has any"


def _no_node_allowed(need: Need) -> str | None:
    if need.mask.any():
        return None
    return "find no node that their selectors, affinity and tolerations allow"


def _too_large(need: Need, room: NodeTable) -> str | None:
    capacity = room.allocatable[need.mask]
    asked = np.flatnonzero(need.request)
    if not asked.size or np.all(need.request[asked] <= capacity[:, asked], axis=1).any():
        return None
    largest = capacity.max(axis=0)
    for column in asked.tolist():
        wanted, most = int(need.request[column]), int(largest[column])
        if wanted > most:
            name = room.resources[column]
            return (
                f"ask for {amount(name, wanted)} each, and the largest node that they may use has "
                f"{amount(name, most)} ({amount(name, wanted - most)} missing)"
            )
    names = " and ".join(room.resources[column] for column in asked)
    return f"ask for more {names} than any node that they may use has together"


def _shortage(wanted: IntVector, usable: BoolVector, room: NodeTable) -> tuple[float, str]:
    """Return the largest missing share and its text; (0, "") if nothing is missing."""
    free = np.maximum(room.free[usable], 0).sum(axis=0)
    missing = np.where(wanted > 0, np.maximum(wanted - free, 0) / np.maximum(wanted, 1), 0.0)
    column = int(missing.argmax())
    if not missing[column]:
        return (0.0, "")
    name, asked, left = room.resources[column], int(wanted[column]), int(free[column])
    empty = int(room.allocatable[usable][:, column].sum())
    never_enough = f", and {amount(name, empty)} if they were empty" if empty < asked else ""
    text = (
        f"{amount(name, asked)} needed, {amount(name, left)} free on the nodes that may be used"
        f"{never_enough} ({amount(name, asked - left)} missing)"
    )
    return (float(missing[column]), text)


def _port_shortage(group: Group) -> tuple[float, str]:
    nodes = int(np.count_nonzero(group.need.open))
    if not group.need.ports or len(group) <= nodes:
        return (0.0, "")
    ports = ", ".join(f"{port.protocol} {port.port}" for port in group.need.ports)
    missing = len(group) - nodes
    text = (
        f"{_pods(group)} need a node each for host port {ports}, {nodes} nodes have it free "
        f"({missing} missing)"
    )
    return (missing / len(group), text)
