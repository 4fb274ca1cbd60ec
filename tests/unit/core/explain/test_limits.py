"""Limits of one explanation: how much it tries, and that it runs in a thread of its own."""

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
from tests.unit.core.explain.situation import running

KEY = JobKey("default/job/j")
NOW = Reading(1000.0, 1000.0)
PARAMS = CoreParameters()


def test_a_large_gang_on_many_nodes_is_explained_with_few_placements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [make_node(f"n{i:04}", cpu="8", unschedulable=i % 2 == 0) for i in range(400)]
    others = running("other", [node.name for node in nodes], cpu="5")
    snapshot = snapshot_of(nodes, others, queued_job("j", 300, cpu="4", memory="20Gi"))
    cycle = queue_pass(snapshot, QueueState(), NOW, PARAMS)
    calls: list[int] = []
    plan = planner.plan
    monkeypatch.setattr(planner, "plan", lambda *a, **k: calls.append(1) or plan(*a, **k))
    session = core_explain.isolated(Session(snapshot, NOW, PARAMS), cycle)
    assert core_explain.job(session, KEY).changes
    assert len(calls) < LEAST_PLACEMENTS


class SizedScenario:
    """A scenario with a number of pods and nodes, and nothing else."""

    def __init__(self, pods: int, nodes: int) -> None:
        self.waiting, self.node_table = range(pods), self
        self.nodes = range(nodes)


@pytest.mark.parametrize(
    ("pods", "nodes", "want"), [(8, 20, MOST_PLACEMENTS), (10_000, 5000, LEAST_PLACEMENTS)]
)
def test_larger_scenarios_have_fewer_trials(pods: int, nodes: int, want: int) -> None:
    assert Trials(SizedScenario(pods, nodes)).left == want  # type: ignore[arg-type] - a stand-in


def test_without_trials_left_no_scenario_runs() -> None:
    trials = Trials(SizedScenario(1, 1))  # type: ignore[arg-type] - a stand-in
    trials.left = 0
    assert not trials.runs(object())  # type: ignore[arg-type] - never read


async def test_explanations_are_computed_in_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = store_of(make_node("a"), queued_job("j", 9))
    read = ReadAnswers(store, PARAMS, FakeClock(), lambda: True, lambda: None)
    threads: list[str] = []
    explain = core_explain.job

    def recorded(session: core_explain.ExplainSession, key: JobKey) -> object:
        threads.append(threading.current_thread().name)
        return explain(session, key)

    monkeypatch.setattr(core_explain, "job", recorded)
    answer = await read.explain_job("default", "j", "")
    assert answer is not None
    assert (answer.needs, answer.fits) == (9, 8)
    assert threads != [threading.main_thread().name]


async def test_an_ambiguous_name_is_an_error_that_lists_the_kinds() -> None:
    twin = make_owner("j", kind="StatefulSet")
    store = store_of(make_node("a"), queued_job("j", 1), twin, make_pod("j-twin", owner=twin))
    read = ReadAnswers(store, PARAMS, FakeClock(), lambda: True, lambda: None)
    with pytest.raises(InputError, match="job or statefulset"):
        await read.explain_job("default", "j", "")
    answer = await read.explain_job("default", "j", "statefulset")
    assert answer is not None
    assert answer.job == "default/statefulset/j"
    assert await read.explain_job("default", "gone", "") is None
    assert await read.explain("default", "gone") is None


def test_an_isolated_session_shares_no_mutable_state_with_the_store() -> None:
    snapshot = snapshot_of(make_node("a"), queued_job("j", 1))
    session = core_explain.isolated(Session(snapshot, NOW, PARAMS), None)
    assert session.snapshot.cache is not snapshot.cache
    assert session.snapshot.node_table.classes is not snapshot.node_table.classes
    same = replace(session.snapshot, cache=snapshot.cache, node_table=snapshot.node_table)
    assert same == snapshot
