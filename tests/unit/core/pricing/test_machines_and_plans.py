"""The machines of admission, the nodes of workers by index, and plans as annotations."""

import numpy as np
import pytest
from msgspec.structs import replace

from extender.core.pricing import machines
from extender.core.queue import slot_gate
from extender.core.records import slot_plan
from extender.core.records.slot_plan import JobRequest, SlotPlan, Span
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, NodeName, PodShape
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.pricing.priced_cluster import slots

A, B, C = (NodeName(name) for name in "abc")
REQUEST = JobRequest("sigmoid:1,0,1h", "epochs=1,chunks=1,batches=1,step=1s", PodShape())


def plan_of(*spans):
    last = spans[-1].last if spans else 0
    return SlotPlan(JobKey("default/job/a"), REQUEST, 600.0, 1, last, last, 2.0, 0.5, spans)


TARGETS = {
    "the worker that stays longest comes first": (
        [Span(1, 1, {A: 1, B: 2}), Span(2, 2, {B: 1})],
        (B, A, B),
    ),
    "a pause ends every stay": ([Span(1, 1, {A: 1, B: 1}), Span(3, 3, {B: 1})], (A, B)),
    "two spans in a row are one stay": (
        [Span(1, 1, {A: 1, B: 1}), Span(2, 2, {B: 1}), Span(3, 3, {B: 1, C: 1})],
        (B, A),
    ),
    "nothing in this slot": ([Span(2, 2, {A: 1})], ()),
}


@pytest.mark.parametrize(("spans", "want"), TARGETS.values(), ids=TARGETS)
def test_workers_by_index(spans, want):
    assert slot_gate.worker_nodes(plan_of(*spans), 1) == want


def test_nodes_in_use_are_left_out_and_unplanned_nodes_take_none():
    assert slot_gate.left((A, B, A), (A, C)) == (B, A)


def test_a_share_is_rounded_down_to_whole_base_units():
    snapshot = snapshot_of(make_node("n", cpu="1001m", memory="7", pods=3))
    table = snapshot.node_table
    shares = dict(
        zip(table.resources, slot_gate.priced_share(snapshot, 1 / 3)[0].tolist(), strict=True)
    )
    assert (shares["cpu"], shares["memory"], shares["pods"]) == (333, 2, 1)
    assert np.array_equal(slot_gate.priced_share(snapshot, 1.0), table.allocatable)


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_requests_of_pods_that_belong_to_a_node_are_subtracted_first(kind):
    owner = make_owner("d", kind=kind)
    pod = make_pod("d", owner=owner, node="n", cpu="2", scheduler_name="another")
    snapshot = snapshot_of(make_node("n", cpu="4"), pod, make_pod("x", node="n", cpu="1"))
    cpu = snapshot.node_table.resources.index("cpu")
    assert slot_gate.priced_share(snapshot, 0.5)[0, cpu] == 1000


def test_nodes_for_servers_hold_no_workers():
    nodes = [make_node("a"), make_node("b", labels={"ps": ""})]
    nodes_read = machines.read_machines(snapshot_of(*nodes), slots(server_label="ps"))
    assert (nodes_read.names, nodes_read.server_names, nodes_read.cluster.common) == (
        ("a",),
        ("b",),
        False,
    )
    nodes_read = machines.read_machines(snapshot_of(*nodes), slots(server_label="other"))
    assert (nodes_read.names, nodes_read.cluster.common) == (("a", "b"), True)
    assert machines.read_machines(snapshot_of(nodes[1]), slots(server_label="ps")) is None


def test_other_machines_have_another_mark():
    marks = {
        machines.read_machines(snapshot_of(*nodes), slots(share=share)).mark
        for nodes in ([make_node("a")], [make_node("b")], [make_node("a", cpu="9")])
        for share in (0.5, 1.0)
    }
    assert len(marks) == 6


def test_a_plan_is_read_as_it_was_written():
    plan = plan_of(Span(1, 2, {A: 1}, {B: 2}), Span(4, 4, {A: 3}))
    owner = replace(make_owner(), annotations={labels.SLOT_PLAN: slot_plan.text(plan)})
    assert slot_plan.read(owner) == plan
    assert [plan.workers_at(slot) for slot in range(6)] == [0, 1, 1, 0, 3, 0]
    assert plan.payoff == 1.5
    assert slot_plan.read(make_owner()) is None
    with pytest.raises(InputError, match=labels.SLOT_PLAN):
        slot_plan.read(replace(owner, annotations={labels.SLOT_PLAN: "{}"}))
