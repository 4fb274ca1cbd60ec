"""Verdicts of the nodes on waiting pods, and the deciding cause."""

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
from tests.unit.core.explain.situation import running

KEY = JobKey("default/job/j")


def verdict_on(*parts: Entity | list[Entity]) -> verdicts.Verdict:
    """Return the verdict on the job ``j``."""
    snapshot = snapshot_of(*parts)
    session = Session(snapshot, Reading(0, 0), CoreParameters())
    job = as_queued(view(snapshot, KEY))
    scenario = Scenario(session, job, snapshot.node_table)
    (verdict,) = verdicts.judge(scenario.groups, scenario.node_table)
    return verdict


def counts(verdict: verdicts.Verdict) -> dict[str, int]:
    """Return the number of nodes by the text of their causes."""
    return {group.says: len(group.nodes) for group in verdicts.tried(verdict).nodes}


def test_nodes_are_grouped_by_their_causes() -> None:
    shape = make_shape(cpu="2", node_selector={"disk": "ssd"}, host_ports=[80])
    ssd = {"disk": "ssd"}
    verdict = verdict_on(
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
    assert counts(verdict) == {
        "fit": 4,
        "taint a=b:NoSchedule": 3,
        "lacks 1.5 CPUs": 2,
        "cordoned": 1,
        "label selector disk=ssd": 1,
        "host port TCP 80 taken": 1,
    }
    assert (verdict.fits, verdict.missing) == (4, 2)


def test_a_node_that_is_too_small_has_another_text_than_a_busy_one() -> None:
    verdict = verdict_on(
        make_node("small", cpu="2"),
        make_node("busy", cpu="8"),
        running("other", ["busy"], cpu="6"),
        queued_job("j", 1, cpu="4"),
    )
    assert set(counts(verdict)) == {"too small: lacks 2 CPUs", "lacks 2 CPUs"}
    assert verdicts.deciding_cause([verdict]) == "cpu"


def test_the_taint_of_a_cordoned_node_is_no_second_cause() -> None:
    taint = "node.kubernetes.io/unschedulable:NoSchedule"
    verdict = verdict_on(make_node("a", unschedulable=True, taints=[taint]), queued_job("j", 1))
    assert set(counts(verdict)) == {"cordoned"}


def test_nodes_of_rare_causes_are_one_group() -> None:
    nodes = [make_node(f"n{i:02}", taints=[f"k{i}=v:NoSchedule"]) for i in range(30)]
    groups = verdicts.tried(verdict_on(nodes, queued_job("j", 1))).nodes
    assert len(groups) == verdicts.MOST_GROUPS + 1
    assert (groups[-1].says, len(groups[-1].nodes)) == ("other causes", 10)


TAINTED = ["a=b:NoSchedule"]
DECIDES: dict[str, tuple[list[Node], str, str]] = {
    "the cause that alone keeps most pods away": (
        [make_node("a", taints=TAINTED, cpu="2"), make_node("b", unschedulable=True)],
        "1",
        "cordoned",
    ),
    "the cause of most nodes, where several apply together": (
        [
            make_node("a", taints=TAINTED, unschedulable=True),
            make_node("b", cpu="0"),
            make_node("c", taints=TAINTED, cpu="0"),
        ],
        "1",
        "taint",
    ),
    "the resource, where nodes hold some pods and not all": ([make_node("a", cpu="2")], "1", "cpu"),
}


@pytest.mark.parametrize(("nodes", "cpu", "want"), DECIDES.values(), ids=DECIDES.keys())
def test_deciding_cause(nodes: list[Node], cpu: str, want: str) -> None:
    assert verdicts.deciding_cause([verdict_on(nodes, queued_job("j", 8, cpu=cpu))]) == want


def test_nothing_decides_where_all_fit() -> None:
    assert verdicts.deciding_cause([verdict_on(make_node("a"), queued_job("j", 2))]) == ""


def test_the_scarcest_resource_decides_where_nodes_lack_several() -> None:
    """All GPUs are taken and some CPU is left: GPUs decide (defect B5)."""
    gpu = {"nvidia.com/gpu": "4"}
    nodes = [make_node(f"n{i}", cpu="8", allocatable=gpu) for i in range(2)]
    taken = make_shape(cpu="6", requests=gpu)
    requested = make_shape(cpu="4", requests={"nvidia.com/gpu": "2"})
    verdict = verdict_on(
        nodes, running("r", ["n0", "n1"], shape=taken), queued_job("j", 2, shape=requested)
    )
    assert verdicts.tried(verdict).nodes[0].causes == ("cpu", "nvidia.com/gpu")
    assert verdicts.deciding_cause([verdict]) == "nvidia.com/gpu"
    assert verdicts.scarcest_resource([verdict]) == "nvidia.com/gpu"


def test_a_resource_that_no_node_has_is_scarcer_than_one_that_is_full() -> None:
    shape = make_shape(cpu="4", requests={"example.com/fpga": "1"})
    verdict = verdict_on(
        make_node("a", cpu="4"), running("r", ["a"], cpu="4"), queued_job("j", 1, shape=shape)
    )
    assert verdicts.deciding_cause([verdict]) == "example.com/fpga"
