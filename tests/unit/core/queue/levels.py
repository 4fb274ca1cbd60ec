"""Clusters with racks, and jobs that request levels of them."""

from extender.core.cluster import job_views
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import topology
from extender.core.queue.state import QueueState
from shared import foreign_labels, labels
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import released_job, snapshot_of
from tests.unit.core.policies.racks import racks

MUST, SHOULD = labels.REQUIRED_TOPOLOGY, labels.PREFERRED_TOPOLOGY
KUEUE_MUST = foreign_labels.KUEUE_REQUIRED_TOPOLOGY
KUEUE_SHOULD = foreign_labels.KUEUE_PREFERRED_TOPOLOGY
OF_SLICES, SIZE = labels.SLICE_REQUIRED_TOPOLOGY, labels.SLICE_SIZE
KUEUE_OF_SLICES = foreign_labels.KUEUE_SLICE_REQUIRED_TOPOLOGY
KUEUE_SIZE = foreign_labels.KUEUE_SLICE_SIZE
IN_A_RACK = {MUST: "rack"}
PARAMS = CoreParameters()


def run_pass(*entities, params=PARAMS):
    return queue_pass(snapshot_of(*entities), QueueState(), Reading(10, 10), params)


def released(outcome):
    """The pods of the only gang that was released."""
    (gang,) = [command for command in outcome.commands if isinstance(command, ReleaseGang)]
    return gang.pods


def only_job(*entities):
    snapshot = snapshot_of(*entities)
    return job_views.view(snapshot, next(iter(snapshot.jobs))), snapshot.node_table


APART = {"unmodelled": ["podAntiAffinity"]}


def beside(*nodes, leaving=(), wish=IN_A_RACK):
    """Where pods of a job may move whose pods are on these nodes."""
    room_nodes = racks({"r1": [8, 8], "r2": [8, 8], "": [8]})
    job, room = only_job(room_nodes, released_job("j", list(nodes), bound=9, annotations=wish))
    member = job.members[leaving[0] if leaving else 0]
    gone = {f"default-j-{i}" for i in leaving}
    mask = topology.nodes_beside(job, member, gone, room, PARAMS.topology)
    return None if mask is None else names_of(room, mask)


def names_of(room, mask):
    return [node.name for node, may in zip(room.nodes, mask, strict=True) if may]
