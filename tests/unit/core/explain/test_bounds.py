"""How much is tried for one explanation, and that it is worked out beside the loop."""

import threading
from dataclasses import replace

import pytest

from extender.core import explain as core_explain
from extender.core.cluster.session import Reading, Session
from extender.core.explain.trials import LEAST_PLACEMENTS, MOST_PLACEMENTS, Trials
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.queue.state import QueueState
from extender.servers.readapi.answers import ReadAnswers
from shared.errors import InputError
from shared.model import JobKey
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.clock import FakeClock
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, snapshot_of, store_of
from tests.unit.core.explain.situations import running

KEY = JobKey("default/job/j")
NOW = Reading(1000.0, 1000.0)
PARAMS = CoreParameters()


def test_a_large_gang_on_many_nodes_is_explained_by_few_placements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [make_node(f"n{i:04}", cpu="8", unschedulable=i % 2 == 0) for i in range(400)]
    others = running("other", [node.name for node in nodes], cpu="5")
    snapshot = snapshot_of(nodes, others, queued_job("j", 300, cpu="4", memory="20Gi"))
    cycle = queue_pass(snapshot, QueueState(), NOW, PARAMS)
    calls: list[int] = []
    plan = planner.plan
    monkeypatch.setattr(planner, "plan", lambda *a, **k: calls.append(1) or plan(*a, **k))
    told = core_explain.job(core_explain.isolated(Session(snapshot, NOW, PARAMS), cycle), KEY)
    assert told.changes
    assert len(calls) < LEAST_PLACEMENTS


class Sized:
    """A situation of a size, of which nothing else is asked."""

    def __init__(self, pods: int, nodes: int) -> None:
        self.waiting, self.node_table = range(pods), self
        self.nodes = range(nodes)


@pytest.mark.parametrize(
    ("pods", "nodes", "want"), [(8, 20, MOST_PLACEMENTS), (10_000, 5000, LEAST_PLACEMENTS)]
)
def test_the_larger_the_fewer_placements_may_be_tried(pods: int, nodes: int, want: int) -> None:
    assert Trials(Sized(pods, nodes)).left == want  # type: ignore[arg-type] - a stand-in


def test_nothing_is_offered_that_was_not_tried() -> None:
    trials = Trials(Sized(1, 1))  # type: ignore[arg-type] - a stand-in
    trials.left = 0
    assert not trials.runs(object())  # type: ignore[arg-type] - never looked at


async def test_explanations_are_worked_out_by_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = store_of(make_node("a"), queued_job("j", 9))
    read = ReadAnswers(store, PARAMS, FakeClock(), lambda: True, lambda: None)
    threads: list[str] = []
    explain = core_explain.job

    def watched(asked: core_explain.ExplainSession, key: JobKey) -> object:
        threads.append(threading.current_thread().name)
        return explain(asked, key)

    monkeypatch.setattr(core_explain, "job", watched)
    told = await read.explain_job("default", "j", "")
    assert told is not None
    assert (told.needs, told.fits) == (9, 8)
    assert threads != [threading.main_thread().name]


async def test_a_name_of_several_kinds_is_answered_by_naming_them() -> None:
    twin = make_owner("j", kind="StatefulSet")
    store = store_of(make_node("a"), queued_job("j", 1), twin, make_pod("j-twin", owner=twin))
    read = ReadAnswers(store, PARAMS, FakeClock(), lambda: True, lambda: None)
    with pytest.raises(InputError, match="job or statefulset"):
        await read.explain_job("default", "j", "")
    told = await read.explain_job("default", "j", "statefulset")
    assert told is not None
    assert told.job == "default/statefulset/j"
    assert await read.explain_job("default", "gone", "") is None
    assert await read.explain("default", "gone") is None


def test_an_explanation_shares_nothing_that_changes_with_the_store() -> None:
    snapshot = snapshot_of(make_node("a"), queued_job("j", 1))
    asked = core_explain.isolated(Session(snapshot, NOW, PARAMS), None)
    assert asked.snapshot.cache is not snapshot.cache
    assert asked.snapshot.node_table.classes is not snapshot.node_table.classes
    same = replace(asked.snapshot, cache=snapshot.cache, node_table=snapshot.node_table)
    assert same == snapshot
