"""Laws of merging heartbeats: the report equals the agent's state after losses and repeats."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.agents.heartbeats import Kind, NodeHeartbeat, kind, merged
from shared.progress import Category, NodeReport, PodReport
from tests.fakes.reports import make_heartbeat, make_pod_report

pods = st.builds(
    make_pod_report,
    st.sampled_from("abcd"),
    st.none() | st.sampled_from(Category),
    problem=st.sampled_from(["", "bad"]),
)
states = st.lists(pods, max_size=4).map(lambda listed: {pod.uid: pod for pod in listed})
heartbeats = st.builds(
    make_heartbeat,
    st.integers(1, 6),
    st.lists(pods, max_size=3),
    full=st.booleans(),
    gone=st.lists(st.sampled_from("abcd"), max_size=2),
    boot=st.sampled_from(["boot-1", "boot-2"]),
)
histories = st.lists(heartbeats, max_size=8)


def known_after(history: list[NodeHeartbeat], known: NodeReport | None = None) -> NodeReport | None:
    for heartbeat in history:
        known = merged(known, heartbeat)
    return known


def difference(
    before: dict[str, PodReport], after: dict[str, PodReport], sequence: int
) -> NodeHeartbeat:
    """Return what an agent sends to a replica that has ``before``."""
    changed = [pod for uid, pod in after.items() if before.get(uid) != pod]
    return make_heartbeat(sequence, changed, gone=before.keys() - after.keys())


@given(histories, states)
def test_after_a_full_report_the_agents_state_is_complete(history, state) -> None:
    report = known_after(history)
    last = 0 if report is None else report.sequence
    full = make_heartbeat(last + 1, state.values(), full=True, boot=report.boot if report else "x")
    known = merged(report, full)
    assert (dict(known.pods), known.complete) == (state, True)


@given(states, st.lists(st.tuples(states, st.booleans()), max_size=6))
def test_changes_add_up_to_the_agents_state_though_heartbeats_are_lost(first, steps) -> None:
    """An agent repeats its changes until one heartbeat with them is answered."""
    known = merged(None, make_heartbeat(1, first.values(), full=True))
    answered, sequence = first, 1
    for state, arrives in steps:
        sequence += 1
        heartbeat = difference(answered, state, sequence)
        if arrives:
            known, answered = merged(known, heartbeat), state
            assert dict(known.pods) == state
    assert known.complete


@given(states, states, states)
def test_a_lost_answer_loses_no_change(first, second, third) -> None:
    """The heartbeat arrived, its answer did not: the next one holds its changes too."""
    known = merged(None, make_heartbeat(1, first.values(), full=True))
    known = merged(known, difference(first, second, 2))
    repeated = difference(first, third, 3)
    gone = {*repeated.gone, *(second.keys() - third.keys())}
    known = merged(known, make_heartbeat(3, [*repeated.pods, *third.values()], gone=gone))
    assert dict(known.pods) == third


@given(histories, st.data())
def test_a_repeated_or_late_heartbeat_changes_nothing(history, data) -> None:
    report = known_after(history)
    lives = [heartbeat for heartbeat in history if report and heartbeat.boot == report.boot]
    if lives:
        old = data.draw(st.sampled_from(lives))
        if old.sequence <= report.sequence:
            assert merged(report, old) is report
            assert kind(report, old) is Kind.REPEATED


@given(histories)
def test_a_report_without_a_base_is_never_complete_and_holds_nothing(history) -> None:
    known = None
    for heartbeat in history:
        what, known = kind(known, heartbeat), merged(known, heartbeat)
        if what is Kind.BASELESS:
            assert (known.complete, dict(known.pods)) == (False, {})
        if what in {Kind.FULL, Kind.CHANGES}:
            assert known.complete
