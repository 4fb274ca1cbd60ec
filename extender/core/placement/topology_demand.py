"""What a job asks of the topology, by the levels of the settings (docs/policies/topology.md)."""

from collections.abc import Collection

import numpy as np

from extender.core.cluster.jobs import Job, Member, State
from extender.core.kinds.problem import Problem
from extender.core.nodes.node_table import BoolVector, NodeTable
from extender.core.parameters.placement import TopologyParameters
from extender.core.placement.domains import Domains, domains
from extender.core.placement.topology import Wanted
from shared.errors import InputError
from shared.model import Uid


def wanted(job: Job, room: NodeTable, params: TopologyParameters) -> Wanted | None:
    """Return by what the members are to be placed that have no seat yet; None for nothing.

    Raises:
        InputError: The annotation names no level.
    """
    request = job.spec.topology
    if request is None:
        return None
    level = params.level(request.text, f"annotation {request.key}")
    anchors: tuple[int, ...] = ()
    if request.required and (loose := job.having(State.LOOSE)):
        found = domains(room, params.levels[: level + 1])
        anchors = tuple(i for m in loose if (i := _anchor(m, room, found)) is not None)
    return Wanted(level, request.required, anchors)


def problem(job: Job, params: TopologyParameters) -> Problem | None:
    """Return what is wrong with the level that the job names; None if nothing is."""
    request = job.spec.topology
    try:
        if request is not None:
            params.level(request.text, f"annotation {request.key}")
    except InputError as error:
        return Problem.of(error)
    return None


def absent(job: Job, room: NodeTable, params: TopologyParameters) -> str | None:
    """Return that no node has the level that the job requires, and what helps; None if some has.

    None also where there are no nodes at all: the level is not what is missing.
    """
    request, found = job.spec.topology, required(job, room, params)
    if request is None or found is None or found.all or not room.nodes:
        return None
    level = found.level
    there = [one for one in params.levels if any(one.label in n.labels for n in room.nodes)]
    known = " or ".join(f"{one.name} ({one.label})" for one in there)
    instead = f", or require a level that nodes have: {known}" if known else ""
    return (
        f"{level.name} is the label {level.label} (annotation {request.key}); "
        f"label the nodes with it{instead}"
    )


def required(job: Job, room: NodeTable, params: TopologyParameters) -> Domains | None:
    """Return the domains of which one must hold the whole job; None if it asks for none."""
    request = job.spec.topology
    if request is None or not request.required or problem(job, params):
        return None
    return domains(room, params.levels[: params.level(request.text, request.key) + 1])


def home(job: Job, leaving: Collection[Uid], room: NodeTable, found: Domains) -> BoolVector:
    """Return the nodes to which members may go so that one domain still holds the whole job.

    Those of the domain of the members that stay; where none stays, all nodes with the label.

    Args:
        job: A job.
        leaving: The members that move.
        room: The nodes.
        found: The domains of which one must hold the job.
    """
    staying = [m for m in job.having(State.BOUND, State.SEATED) if m.pod.uid not in leaving]
    nodes = [room.index[m.node] for m in staying if m.node is not None and m.node in room.index]
    mask: BoolVector = found.of_node >= 0
    for node in nodes:
        mask = mask & (found.of_node == found.of_node[node])
    return mask


def _anchor(member: Member, room: NodeTable, found: Domains) -> int | None:
    """Return a node of the one domain that a released pod may still go to; None if of several."""
    allowed = np.flatnonzero(room.classes.mask(member.pod.shape))
    here = np.unique(found.of_node[allowed])
    return int(allowed[0]) if len(here) == 1 and here[0] >= 0 else None
