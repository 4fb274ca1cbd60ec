"""The reports to a replica: first a full one, then the changes since its last answer."""

from hypothesis import given
from hypothesis import strategies as st

from agent.reporting.outbox import Message, NodeState, Outbox
from shared.model import Uid
from shared.progress import PodReport
from shared.wire import Event


def outbox(most_events: int = 3) -> Outbox:
    return Outbox(most_events=most_events, full_every_seconds=300.0)


def state(**problems: str) -> NodeState:
    """Return pods by uid; the problem text stands for the whole report of a pod."""
    pods = {Uid(uid): PodReport(uid=Uid(uid), problem=text) for uid, text in problems.items()}
    return NodeState(pods)


def event(number: int) -> Event:
    return Event(uid="a", at=float(number), kind="nan")


def content(message: Message) -> tuple[bool, dict[str, str], tuple[Uid, ...]]:
    return message.full, {pod.uid: pod.problem for pod in message.changed}, message.gone


def deliver(
    box: Outbox, now: NodeState, monotonic: float = 0.0, *, full_wanted: bool = False
) -> Message:
    message = box.next(now, monotonic=monotonic)
    box.answered(message, full_wanted=full_wanted, monotonic=monotonic)
    return message


def test_the_first_report_is_full_and_later_ones_have_only_changes() -> None:
    box = outbox()
    assert content(deliver(box, state(a="1", b="1"))) == (True, {"a": "1", "b": "1"}, ())
    assert content(deliver(box, state(a="1", b="2"))) == (False, {"b": "2"}, ())
    assert content(deliver(box, state(a="1", b="2"))) == (False, {}, ())
    assert content(deliver(box, state(b="2", c="1"))) == (False, {"c": "1"}, ("a",))


def test_heartbeats_are_numbered_from_1_whether_answered_or_not() -> None:
    box = outbox()
    assert [box.next(state(), monotonic=0.0).sequence for _ in range(3)] == [1, 2, 3]


def test_unanswered_reports_are_sent_again_in_their_present_state() -> None:
    box = outbox()
    deliver(box, state(a="1", b="1", c="1"))
    box.next(state(a="2", b="2"), monotonic=0.0)
    assert content(deliver(box, state(a="3", b="1"))) == (False, {"a": "3", "b": "1"}, ("c",))
    assert content(deliver(box, state(a="3", b="1"))) == (False, {}, ())


def test_a_full_report_is_repeated_until_it_is_answered() -> None:
    box = outbox()
    box.next(state(a="1"), monotonic=0.0)
    assert content(box.next(state(a="1"), monotonic=0.0)) == (True, {"a": "1"}, ())


def test_a_full_report_is_sent_on_request_and_periodically() -> None:
    box = outbox()
    deliver(box, state(a="1"), full_wanted=True)
    assert deliver(box, state(a="1"), 10.0).full
    assert not deliver(box, state(a="1"), 309.0).full
    assert deliver(box, state(a="1"), 310.0).full
    assert not deliver(box, state(a="1"), 311.0).full


def test_a_full_report_has_no_gone_pods() -> None:
    box = outbox()
    deliver(box, state(a="1"), full_wanted=True)
    assert content(deliver(box, state())) == (True, {}, ())


def test_events_are_sent_until_they_are_answered() -> None:
    box = outbox()
    box.put([event(1), event(2)])
    assert [e.at for e in box.next(state(), monotonic=0.0).events] == [1.0, 2.0]
    sent = box.next(state(), monotonic=0.0)
    box.put([event(3)])
    box.answered(sent, full_wanted=False, monotonic=0.0)
    assert [e.at for e in deliver(box, state()).events] == [3.0]
    assert deliver(box, state()).events == ()


def test_of_too_many_events_the_oldest_are_dropped_and_counted() -> None:
    box = outbox(most_events=3)
    box.put(event(n) for n in range(5))
    assert (box.dropped, [e.at for e in deliver(box, state()).events]) == (2, [2.0, 3.0, 4.0])


def test_an_answer_removes_no_events_that_are_newer_than_its_report() -> None:
    box = outbox(most_events=3)
    box.put(event(n) for n in range(3))
    sent = box.next(state(), monotonic=0.0)
    box.put([event(3), event(4)])
    box.answered(sent, full_wanted=False, monotonic=0.0)
    assert [e.at for e in box.next(state(), monotonic=0.0).events] == [3.0, 4.0]


@given(
    moments=st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abc"), st.sampled_from("123")),
            st.sampled_from(["answered", "lost on the way", "answer lost", "wants all"]),
        )
    )
)
def test_a_replica_that_answers_has_the_present_state_of_the_node(
    moments: list[tuple[dict[str, str], str]],
) -> None:
    """Deltas add up to the state of the last answered report, whichever messages are lost."""
    box, received = outbox(), dict[str, str]()
    for problems, fate in moments:
        message = box.next(state(**problems), monotonic=0.0)
        if fate == "lost on the way":
            continue
        received = {} if message.full else received
        received |= {pod.uid: pod.problem for pod in message.changed}
        received = {uid: text for uid, text in received.items() if uid not in message.gone}
        assert received == problems
        if fate != "answer lost":
            box.answered(message, full_wanted=fate == "wants all", monotonic=0.0)
