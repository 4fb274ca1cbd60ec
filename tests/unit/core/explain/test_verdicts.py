"""What each node says to waiting pods, and which cause decides."""

import pytest

from extender.core.cluster.job_views import view
from extender.core.cluster.session import Reading, Session
from extender.core.explain import verdicts
from extender.core.explain.corrections import as_queued
from extender.core.explain.trials import Scenario
from extender.core.parameters.combined import CoreParameters
from shared.model import Entity, JobKey, Node
from tests.fakes.builders import make_node, make_shape
from tests.unit.core.clusters import queued_job, snapshot_of
from tests.unit.core.explain.situations import running

KEY = JobKey("default/job/j")


def look(*parts: Entity | list[Entity]) -> verdicts.Verdict:
    snapshot = snapshot_of(*parts)
    session = Session(snapshot, Reading(0, 0), CoreParameters())
    job = as_queued(view(snapshot, KEY))
    situation = Scenario(session, job, snapshot.node_table)
    (found,) = verdicts.judge(situation.groups, situation.node_table)
    return found


def said(found: verdicts.Verdict) -> dict[str, int]:
    return {group.says: len(group.nodes) for group in verdicts.tried(found).nodes}


def test_nodes_are_counted_by_what_they_say() -> None:
    shape = make_shape(cpu="2", node_selector={"disk": "ssd"}, host_ports=[80])
    ssd = {"disk": "ssd"}
    found = look(
        [make_node(f"fit-{i}", labels=ssd) for i in range(4)],
        [make_node(f"tainted-{i}", labels=ssd, taints=["a=b:NoSchedule"]) for i in range(3)],
        [make_node(f"busy-{i}", cpu="3", labels=ssd) for i in range(2)],
        make_node("cordoned", labels=ssd, unschedulable=True),
        make_node("hdd"),
        make_node("port", labels=ssd),
        running("other", ["busy-0", "busy-1"], cpu="2500m"),
        running("server", ["port"], shape=make_shape(host_ports=[80])),
        queued_job("j", 6, shape=shape),
    )
    assert said(found) == {
        "fit": 4,
        "taint a=b:NoSchedule": 3,
        "cpu short by 1500m": 2,
        "cordoned": 1,
        "label selector disk=ssd": 1,
        "host port TCP 80 taken": 1,
    }
    assert (found.fits, found.missing) == (4, 2)


def test_a_node_that_could_never_hold_the_pod_is_told_from_one_that_is_busy() -> None:
    found = look(
        make_node("small", cpu="2"),
        make_node("busy", cpu="8"),
        running("other", ["busy"], cpu="6"),
        queued_job("j", 1, cpu="4"),
    )
    assert set(said(found)) == {"too small: cpu short by 2", "cpu short by 2"}
    assert verdicts.deciding_cause([found]) == "cpu"


def test_a_cordoned_nodes_own_taint_is_not_told_twice() -> None:
    taint = "node.kubernetes.io/unschedulable:NoSchedule"
    found = look(make_node("a", unschedulable=True, taints=[taint]), queued_job("j", 1))
    assert set(said(found)) == {"cordoned"}


def test_nodes_that_say_one_of_many_things_are_put_together() -> None:
    nodes = [make_node(f"n{i:02}", taints=[f"k{i}=v:NoSchedule"]) for i in range(30)]
    told = verdicts.tried(look(nodes, queued_job("j", 1))).nodes
    assert len(told) == verdicts.MOST_GROUPS + 1
    assert (told[-1].says, len(told[-1].nodes)) == ("other causes", 10)


TAINTED = ["a=b:NoSchedule"]
DECIDES: dict[str, tuple[list[Node], str, str]] = {
    "what keeps most pods away": (
        [make_node("a", taints=TAINTED, cpu="2"), make_node("b", unschedulable=True)],
        "1",
        "cordoned",
    ),
    "the one on most nodes, where several stand together": (
        [
            make_node("a", taints=TAINTED, unschedulable=True),
            make_node("b", cpu="0"),
            make_node("c", taints=TAINTED, cpu="0"),
        ],
        "1",
        "taint",
    ),
    "the resource, where nodes hold some and not all": ([make_node("a", cpu="2")], "1", "cpu"),
}


@pytest.mark.parametrize(("nodes", "cpu", "want"), DECIDES.values(), ids=DECIDES.keys())
def test_the_cause_decides_that_alone_keeps_most_pods_away(
    nodes: list[Node], cpu: str, want: str
) -> None:
    assert verdicts.deciding_cause([look(nodes, queued_job("j", 8, cpu=cpu))]) == want


def test_nothing_decides_where_all_fit() -> None:
    assert verdicts.deciding_cause([look(make_node("a"), queued_job("j", 2))]) == ""


def test_the_scarcest_resource_decides_where_nodes_lack_several() -> None:
    """All GPUs are taken and some CPU is left: GPUs decide (defect B5)."""
    gpu = {"nvidia.com/gpu": "4"}
    nodes = [make_node(f"n{i}", cpu="8", allocatable=gpu) for i in range(2)]
    taken = make_shape(cpu="6", requests=gpu)
    wanted = make_shape(cpu="4", requests={"nvidia.com/gpu": "2"})
    found = look(nodes, running("r", ["n0", "n1"], shape=taken), queued_job("j", 2, shape=wanted))
    assert verdicts.tried(found).nodes[0].causes == ("cpu", "nvidia.com/gpu")
    assert verdicts.deciding_cause([found]) == "nvidia.com/gpu"
    assert verdicts.scarcest_resource([found]) == "nvidia.com/gpu"


def test_a_resource_that_no_node_has_is_scarcer_than_one_that_is_full() -> None:
    shape = make_shape(cpu="4", requests={"example.com/fpga": "1"})
    found = look(
        make_node("a", cpu="4"), running("r", ["a"], cpu="4"), queued_job("j", 1, shape=shape)
    )
    assert verdicts.deciding_cause([found]) == "example.com/fpga"
