"""The node as it is reported: parts that several loops bring together."""

from agent.reporting.board import Board
from agent.reporting.outbox import Outbox
from shared.model import Uid
from shared.progress import PodReport, Use
from shared.wire import Event
from tests.fakes.extender import place

A, B = Uid("uid-a"), Uid("uid-b")
USE = Use(cpu_cores=1.5)
NODE_USE = Use(cpu_cores=3.0)


def board(*names: str) -> Board:
    found = Board()
    found.set_pods({Uid(f"uid-{name}"): place(name) for name in names})
    return found


def outbox(most_events: int = 10) -> Outbox:
    return Outbox(most_events=most_events, full_every_seconds=300.0)


def test_a_pod_is_reported_with_what_its_files_say_and_what_it_uses() -> None:
    held = board("a", "b")
    held.set_reports({A: PodReport(uid=A, problem="p")}, [], urgent=False)
    held.set_use({A: USE}, NODE_USE, 4.0)
    state = held.state()
    assert state.pods == {A: PodReport(uid=A, problem="p", use=USE), B: PodReport(uid=B)}
    assert (state.use, state.cpu_cores) == (NODE_USE, 4.0)


def test_the_state_is_the_same_object_until_something_changes() -> None:
    held = board("a")
    first = held.state()
    assert held.state() is first
    held.set_use({A: USE}, NODE_USE, 4.0)
    assert held.state() is not first


def test_what_was_known_of_a_pod_goes_with_it() -> None:
    held = board("a")
    held.set_reports({A: PodReport(uid=A, problem="p")}, [], urgent=False)
    held.set_pods({})
    held.set_pods({A: place("a")})
    assert held.state().pods == {A: PodReport(uid=A)}


def test_files_that_hang_are_a_problem_of_every_pod_until_they_answer() -> None:
    held = board("a", "b")
    held.set_problem("it hangs")
    assert [pod.problem for pod in held.state().pods.values()] == ["it hangs", "it hangs"]
    held.set_reports({}, [], urgent=False)
    assert [pod.problem for pod in held.state().pods.values()] == ["", ""]


def test_there_is_nothing_to_report_before_the_files_were_read_or_found_to_hang() -> None:
    first, second = board("a"), board("a")
    assert not first.known.is_set()
    first.set_reports({}, [], urgent=False)
    second.set_problem("it hangs")
    assert (first.known.is_set(), second.known.is_set()) == (True, True)


def test_every_replica_gets_every_event_and_is_woken_for_urgent_ones() -> None:
    held, boxes = board("a"), [outbox(), outbox()]
    held.outboxes.extend(boxes)
    event = Event(uid=A, at=1.0, kind="nan")
    held.set_reports({}, [event], urgent=False)
    assert [box.urgent.is_set() for box in boxes] == [False, False]
    held.set_reports({}, [], urgent=True)
    assert [box.urgent.is_set() for box in boxes] == [True, True]
    assert [box.next(held.state(), monotonic=0.0).events for box in boxes] == [(event,)] * 2


def test_dropped_events_are_those_of_the_worst_replica() -> None:
    held, box = board("a"), outbox(most_events=1)
    held.outboxes.append(box)
    held.set_reports({}, [Event(uid=A, at=float(n), kind="nan") for n in range(4)], urgent=False)
    held.outboxes.append(outbox())
    assert held.dropped() == 3
    held.outboxes.remove(box)
    assert held.dropped() == 3
