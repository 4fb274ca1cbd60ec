"""What agents are told: commands from the replica that acts, and which pods are on their node."""

import threading
from typing import Any

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
from tests.fakes.builders import make_node, make_pod, make_shape
from tests.fakes.clock import FakeClock
from tests.unit.core.clusters import store_of

PODS = [make_pod("train-0", job="train", node="node-0"), make_pod("train-1", job="train", node="b")]


class Desk:
    """Answers over a real store; ``notified`` counts who was woken."""

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

    def _take(self, heard: NodeHeartbeat):
        report = merged(self.store.reported(heard.node), heard)
        self.store.report(report)
        return report

    def _notify(self) -> None:
        self.notified += 1

    async def _check(self, authorization: str) -> NodeName:
        return NodeName(authorization)


@pytest.fixture
def desk() -> Desk:
    return Desk()


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


def test_the_replica_that_acts_asks_the_trainers_of_the_node(desk: Desk) -> None:
    desk.store.apply(Upsert(migration(MigrationPhase.CHECKPOINT_REQUESTED)))
    (command,) = desk.beat(1).commands
    assert command == wire.CheckpointRequest(
        id="r-1", uid=PODS[0].uid, deadline=50.0, hold_deadline=100.0, reason="x" * 1024
    )
    assert desk.beat(2, node="b").commands == ()
    assert desk.beat(2).commands == (command,), "until it is no longer wanted"


def test_what_is_no_longer_wanted_is_cancelled(desk: Desk) -> None:
    desk.store.apply(Upsert(migration(MigrationPhase.ABORTED)))
    assert desk.beat().commands == (wire.CheckpointCancel(id="r-1", uid=PODS[0].uid),)


def test_a_standby_takes_heartbeats_and_commands_nothing(desk: Desk) -> None:
    desk.acting = False
    desk.store.apply(Upsert(migration(MigrationPhase.CHECKPOINT_REQUESTED)))
    answer = desk.beat()
    assert (answer.acting, answer.commands) == (False, ())
    assert desk.store.snapshot().reports["node-0"].complete


async def test_before_the_cluster_is_known_nothing_is_taken(desk: Desk) -> None:
    desk.synced = False
    assert desk.beat().cause is Cause.NOT_SYNCED
    assert (await desk.answers.pods(NodeName("node-0"))).cause is Cause.NOT_SYNCED
    assert desk.store.snapshot().reports == {}


def test_a_heartbeat_that_comes_twice_is_answered_twice_and_counts_once(desk: Desk) -> None:
    event = wire.Event(uid="u", at=1.0, kind="restart")
    first = desk.beat(1, events=(event,))
    generation = desk.store.generation
    assert desk.beat(1, events=(event,)) == first
    assert desk.store.generation == generation
    assert desk.counted("heartbeats", kind="full") == 1
    assert desk.counted("heartbeats", kind="repeated") == 1
    assert desk.counted("agent_events", kind="restart") == 1


def test_who_waits_is_woken_by_news_and_not_by_steps(desk: Desk) -> None:
    def pod(**fields) -> wire.PodBody:
        given = {"metric": "loss", "source": "jsonl", "updated_at": 1.0, **fields}
        return wire.PodBody(uid=PODS[0].uid, progress=wire.ProgressBody(**given))

    desk.beat(1, pods=(pod(step=1),))
    assert desk.notified == 1
    desk.beat(2, pods=(pod(step=2),), full=False)
    assert desk.notified == 1
    desk.beat(3, pods=(pod(step=3, category="converged"),), full=False)
    assert desk.notified == 2


def test_a_heartbeat_is_as_old_as_its_coming(desk: Desk) -> None:
    desk.clock.reading = 1234.5
    desk.beat()
    assert desk.store.snapshot().reports["node-0"].received_at == 1234.5


async def test_the_pods_of_the_nodes_are_sorted_out_once_a_second(desk: Desk) -> None:
    async def names() -> list[str]:
        return [pod.name for pod in (await desk.answers.pods(NodeName("node-0"))).pods]

    assert await names() == ["train-0"]
    desk.store.apply(Upsert(make_pod("train-2", job="train", node="node-0")))
    assert await names() == ["train-0"]
    desk.clock.pass_by(INDEX_SECONDS)
    assert await names() == ["train-0", "train-2"]


async def test_they_are_sorted_out_beside_the_event_loop(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(defect A8): every pod of the cluster is looked at for it."""
    real, where = answers._by_node, set()

    def watched(snapshot: Snapshot) -> Any:
        where.add(threading.current_thread().name)
        return real(snapshot)

    monkeypatch.setattr(answers, "_by_node", watched)
    await desk.answers.pods(NodeName("node-0"))
    assert [name.startswith("shuntyard-agents") for name in where] == [True]


def test_every_kind_of_event_is_counted() -> None:
    kinds = wire.Event.model_json_schema()["properties"]["kind"]["enum"]
    assert set(kinds) == {kind.value for kind in Happening}
