"""Laws of fault detection: two witnesses for every hang, and no straggler among equals."""

import random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.parameters.training_faults import DetectionParameters
from extender.core.training_faults import fault_detection
from extender.core.training_faults.fault_detection import Observed
from shared.model import NodeName, Uid

PARAMS = DetectionParameters()
seconds = st.floats(0, 1e6)
members = st.lists(
    st.builds(
        Observed,
        uid=st.uuids().map(lambda uid: Uid(str(uid))),
        pod=st.text("abc", min_size=1, max_size=3),
        node=st.sampled_from("mn").map(NodeName),
        step=st.none() | st.integers(0, 1000),
        silent_seconds=st.none() | seconds,
        gaps=st.integers(0, 20),
        usual_seconds=seconds,
        longest_seconds=seconds,
        idle_seconds=st.none() | seconds,
    ),
    max_size=5,
    unique_by=(lambda m: m.uid, lambda m: m.pod),
)


@given(members)
def test_a_job_of_which_a_member_has_spoken_just_now_does_not_hang(found: list[Observed]) -> None:
    speaks = Observed(uid=Uid("new"), pod="new", node=NodeName("n"), silent_seconds=299.0)
    assert fault_detection.hung([*found, speaks], PARAMS) is None


@given(members)
def test_a_job_whose_sampled_members_are_all_busy_does_not_hang(found: list[Observed]) -> None:
    busy = [replace(m, idle_seconds=None if m.idle_seconds is None else 0.0) for m in found]
    one = Observed(uid=Uid("new"), pod="new", node=NodeName("n"), idle_seconds=0.0)
    assert fault_detection.hung([*busy, one], PARAMS) is None


@given(members, st.floats(0, 1e6))
def test_a_longer_silence_ends_no_hang(found: list[Observed], more: float) -> None:
    """Silence and idleness grow together while nothing happens."""
    if fault_detection.hung(found, PARAMS) is None:
        return
    later = [
        replace(
            m,
            silent_seconds=None if m.silent_seconds is None else m.silent_seconds + more,
            idle_seconds=None if m.idle_seconds is None else m.idle_seconds + more,
        )
        for m in found
    ]
    assert fault_detection.hung(later, PARAMS) is not None


@given(members, st.randoms(use_true_random=False))
def test_the_order_of_the_members_does_not_matter(
    found: list[Observed], dice: random.Random
) -> None:
    begun = fault_detection.window([replace(m, step=0) for m in found], 0.0)
    other = dice.sample(found, len(found))
    assert fault_detection.hung(found, PARAMS) == fault_detection.hung(other, PARAMS)
    assert fault_detection.straggler(
        begun, found, PARAMS, before=None
    ) == fault_detection.straggler(begun, other, PARAMS, before=None)


@given(members, st.integers(0, 1000))
def test_equal_steps_make_no_straggler(found: list[Observed], steps: int) -> None:
    begun = fault_detection.window([replace(m, step=7) for m in found], 0.0)
    later = [replace(m, step=7 + steps) for m in found]
    assert fault_detection.straggler(begun, later, PARAMS, before=None) is None
