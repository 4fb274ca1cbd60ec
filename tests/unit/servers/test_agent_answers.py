"""Answers to agents: commands from the leader, and the pods of their node."""

import threading
from typing import Any, get_args

import pytest
from prometheus_client import CollectorRegistry

from extender.core.agents.heartbeats import NodeHeartbeat, merged
from extender.core.cluster.snapshot import Snapshot
from extender.metrics.extender import ExtenderMetrics, Happening
from extender.servers.agents import answers
from extender.servers.agents.answers import INDEX_SECONDS, AgentAnswers, Cause
from shared import wire
from shared.model import (
    JobKey,
    Migration,
    MigrationMember,
    MigrationPhase,
    Mover,
    NodeName,
    Trigger,
    Uid,
    Upsert,
)
from shared.progress import Category, PodReport, Progress
from tests.fakes.builders import make_node, make_pod, make_shape
from tests.fakes.clock import FakeClock
from tests.unit.core.clusters import store_of

PODS = [make_pod("train-0", job="train", node="node-0"), make_pod("train-1", job="train", node="b")]


class Listener:
    """Answers over a real store; ``notified`` counts the notifications."""

    def __init__(self) -> None:
        self.store = store_of(make_node("node-0"), make_node("b"), PODS)
        self.clock, self.metrics = FakeClock(), ExtenderMetrics()
        self.synced = self.acting = True
        self.notified = 0
        self.answers = AgentAnswers(
            self.store,
            self.clock,
            self.metrics,
            check=self._check,
            take=self._take,
            synced=lambda: self.synced,
            acting=lambda: self.acting,
            notify=self._notify,
        )

    def beat(self, sequence: int = 1, *, node: str = "node-0", **fields) -> wire.HeartbeatAnswer:
        given = {"boot": "b", "sent_at": 1.0, "full": True, **fields}
        heartbeat = wire.Heartbeat(node=node, sequence=sequence, **given)
        return self.answers.heartbeat(heartbeat)

    def counted(self, name: str, **labels: str) -> float | None:
        registry: CollectorRegistry = self.metrics.registry
        return registry.get_sample_value(f"shuntyard_{name}_total", labels)

    def _take(self, heartbeat: NodeHeartbeat):
        report = merged(self.store.reported(heartbeat.node), heartbeat)
        self.store.report(report)
        return report

    def _notify(self) -> None:
        self.notified += 1

    async def _check(self, authorization: str) -> NodeName:
        return NodeName(authorization)


@pytest.fixture
def listener() -> Listener:
    return Listener()


def migration(phase: MigrationPhase, name: str = "m", **fields) -> Migration:
    member = MigrationMember(
        pod="train-0",
        uid=PODS[0].uid,
        source=NodeName("node-0"),
        target=NodeName("b"),
        shape=make_shape(),
    )
    return Migration(
        namespace="default",
        name=name,
        uid=Uid(name),
        job=JobKey("default/group/train"),
        trigger=Trigger.CONVERGED,
        mover=Mover.EVICT,
        why="x" * 2000,
        phase=phase,
        request="r-1",
        ask_until=50.0,
        hold_until=100.0,
        members=(member,),
        **fields,
    )


def test_the_leader_requests_checkpoints_of_the_nodes_trainers(listener: Listener) -> None:
    listener.store.apply(Upsert(migration(MigrationPhase.CHECKPOINT_REQUESTED)))
    (command,) = listener.beat(1).commands
    assert command == wire.CheckpointRequest(
        id="r-1", uid=PODS[0].uid, deadline=50.0, hold_deadline=100.0, reason="x" * 1024
    )
    assert listener.beat(2, node="b").commands == ()
    assert listener.beat(2).commands == (command,), "until the migration no longer needs it"


def test_a_request_that_is_no_longer_needed_is_cancelled(listener: Listener) -> None:
    listener.store.apply(Upsert(migration(MigrationPhase.ABORTED)))
    assert listener.beat().commands == (wire.CheckpointCancel(id="r-1", uid=PODS[0].uid),)


def test_a_standby_merges_heartbeats_and_gives_no_commands(listener: Listener) -> None:
    listener.acting = False
    listener.store.apply(Upsert(migration(MigrationPhase.CHECKPOINT_REQUESTED)))
    answer = listener.beat()
    assert (answer.acting, answer.commands) == (False, ())
    assert listener.store.snapshot().reports["node-0"].complete


async def test_heartbeats_are_refused_before_the_cluster_is_observed(listener: Listener) -> None:
    listener.synced = False
    assert listener.beat().cause is Cause.NOT_SYNCED
    assert (await listener.answers.pods(NodeName("node-0"))).cause is Cause.NOT_SYNCED
    assert listener.store.snapshot().reports == {}


def test_a_repeated_heartbeat_is_answered_and_changes_nothing(listener: Listener) -> None:
    event = wire.Event(uid="u", at=1.0, kind="restart")
    first = listener.beat(1, events=(event,))
    generation = listener.store.generation
    assert listener.beat(1, events=(event,)) == first
    assert listener.store.generation == generation
    assert listener.counted("heartbeats", kind="full") == 1
    assert listener.counted("heartbeats", kind="repeated") == 1
    assert listener.counted("agent_events", kind="restart") == 1


def test_controllers_are_notified_of_news_and_not_of_steps(listener: Listener) -> None:
    def pod(**fields) -> PodReport:
        given = {"metric": "loss", "source": "jsonl", "updated_at": 1.0, **fields}
        return PodReport(uid=PODS[0].uid, progress=Progress(**given))

    listener.beat(1, pods=(pod(step=1),))
    assert listener.notified == 1
    listener.beat(2, pods=(pod(step=2),), full=False)
    assert listener.notified == 1
    listener.beat(3, pods=(pod(step=3, category=Category.CONVERGED),), full=False)
    assert listener.notified == 2


def test_the_age_of_a_report_counts_from_its_arrival(listener: Listener) -> None:
    listener.clock.reading = 1234.5
    listener.beat()
    assert listener.store.snapshot().reports["node-0"].received_at == 1234.5


async def test_pods_are_indexed_by_node_at_most_once_a_second(listener: Listener) -> None:
    async def names() -> list[str]:
        return [pod.name for pod in (await listener.answers.pods(NodeName("node-0"))).pods]

    assert await names() == ["train-0"]
    listener.store.apply(Upsert(make_pod("train-2", job="train", node="node-0")))
    assert await names() == ["train-0"]
    listener.clock.pass_by(INDEX_SECONDS)
    assert await names() == ["train-0", "train-2"]


async def test_pods_are_indexed_beside_the_event_loop(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(defect A8): the index has every pod of the cluster."""
    real, names = answers._by_node, set()

    def watched(snapshot: Snapshot) -> Any:
        names.add(threading.current_thread().name)
        return real(snapshot)

    monkeypatch.setattr(answers, "_by_node", watched)
    await listener.answers.pods(NodeName("node-0"))
    assert [name.startswith("shuntyard-agents") for name in names] == [True]


def test_every_kind_of_event_is_counted() -> None:
    assert set(get_args(wire.Happening)) == {kind.value for kind in Happening}
