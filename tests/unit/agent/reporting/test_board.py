"""The state of a node that is reported, from the results of several loops."""

from agent.reporting.board import Board
from agent.reporting.outbox import Outbox
from shared.model import Uid
from shared.progress import GpuHealth, PodReport, Use
from shared.wire import Event
from tests.fakes.extender import place

A, B = Uid("uid-a"), Uid("uid-b")
USE = Use(cpu_cores=1.5)
NODE_USE = Use(cpu_cores=3.0)


def board(*names: str) -> Board:
    node = Board()
    node.set_pods({Uid(f"uid-{name}"): place(name) for name in names})
    return node


def outbox(most_events: int = 10) -> Outbox:
    return Outbox(most_events=most_events, full_every_seconds=300.0)


def test_a_pod_is_reported_with_its_problem_and_its_use() -> None:
    node = board("a", "b")
    node.set_reports({A: PodReport(uid=A, problem="p")}, [], urgent=False)
    node.set_use({A: USE}, NODE_USE, 4.0, GpuHealth(devices=2))
    state = node.state()
    assert state.pods == {A: PodReport(uid=A, problem="p", use=USE), B: PodReport(uid=B)}
    assert (state.use, state.cpu_cores, state.gpus) == (NODE_USE, 4.0, GpuHealth(devices=2))


def test_the_state_is_the_same_object_until_something_changes() -> None:
    node = board("a")
    first = node.state()
    assert node.state() is first
    node.set_use({A: USE}, NODE_USE, 4.0)
    assert node.state() is not first


def test_the_report_of_a_removed_pod_is_dropped() -> None:
    node = board("a")
    node.set_reports({A: PodReport(uid=A, problem="p")}, [], urgent=False)
    node.set_pods({})
    node.set_pods({A: place("a")})
    assert node.state().pods == {A: PodReport(uid=A)}


def test_files_that_hang_are_a_problem_of_every_pod_until_they_answer() -> None:
    node = board("a", "b")
    node.set_problem("it hangs")
    assert [pod.problem for pod in node.state().pods.values()] == ["it hangs", "it hangs"]
    node.set_reports({}, [], urgent=False)
    assert [pod.problem for pod in node.state().pods.values()] == ["", ""]


def test_the_state_is_known_when_the_files_were_read_or_hang() -> None:
    first, second = board("a"), board("a")
    assert not first.known.is_set()
    first.set_reports({}, [], urgent=False)
    second.set_problem("it hangs")
    assert (first.known.is_set(), second.known.is_set()) == (True, True)


def test_every_replica_gets_every_event_and_is_woken_for_urgent_ones() -> None:
    node, boxes = board("a"), [outbox(), outbox()]
    node.outboxes.extend(boxes)
    event = Event(uid=A, at=1.0, kind="nan")
    node.set_reports({}, [event], urgent=False)
    assert [box.urgent.is_set() for box in boxes] == [False, False]
    node.set_reports({}, [], urgent=True)
    assert [box.urgent.is_set() for box in boxes] == [True, True]
    assert [box.next(node.state(), monotonic=0.0).events for box in boxes] == [(event,)] * 2


def test_dropped_events_are_those_of_the_worst_replica() -> None:
    node, box = board("a"), outbox(most_events=1)
    node.outboxes.append(box)
    node.set_reports({}, [Event(uid=A, at=float(n), kind="nan") for n in range(4)], urgent=False)
    node.outboxes.append(outbox())
    assert node.dropped() == 3
    node.outboxes.remove(box)
    assert node.dropped() == 3
