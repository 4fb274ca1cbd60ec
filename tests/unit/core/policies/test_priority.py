"""CPS job order: the tables of the paper, as corrected by calculation."""

import random
from typing import Any

import pytest

from extender.core.parameters.queue import PriorityParameters
from extender.core.queue import order as queue_order
from extender.core.queue.order import Candidate
from shared.model import JobKey, Uid
from shared.parameters import bounds

MINUTE = 60.0
CLASS_VALUES = {100: 1000, 50: 0, 1: -1}
K1 = PriorityParameters(expansion=1.0)

# L in minutes → l, both ends of every step (spec: steps of (7))
STEPS = [
    *((1, 100), (2, 50), (3, 34), (4, 25), (5, 20), (6, 17), (7, 15), (8, 13), (9, 12)),
    *((10, 10), (11, 10), (12, 9), (13, 8), (14, 8), (15, 7), (16, 7), (17, 6), (19, 6)),
    *((20, 5), (24, 5), (25, 4), (33, 4), (34, 3), (49, 3), (50, 2), (60, 2)),
]
EDGES = {
    "a wait below a minute counts as a minute": (0.5, 100),
    "no time left at all": (0.0, 100),
    "a negative wait": (-3.0, 100),
    "just above a minute": (1.001, 100),
    "just above the hour": (60.001, 1),
    "a day": (1440.0, 1),
}


def jobs(*, u=5, b=50, wait=30, m=4, count=5) -> list[Candidate]:
    """Jobs 1…5 created one second apart; a tuple gives one value a job, a number all the same."""
    columns = [x if isinstance(x, tuple) else (x,) * count for x in (u, b, wait, m)]
    return [
        Candidate(
            job=JobKey(f"ns/Job/{i}"),
            uid=Uid(f"uid-{i}"),
            created_at=float(i),
            user_priority=u_i,
            class_value=CLASS_VALUES[b_i],
            max_wait_seconds=wait_i * MINUTE,
            size=m_i,
        )
        for i, (u_i, b_i, wait_i, m_i) in enumerate(zip(*columns, strict=True), start=1)
    ]


def order(candidates, params=K1, now=0.0) -> list[int]:
    return [int(v.job.rpartition("/")[2]) for v in queue_order.cps_values(candidates, params, now)]


def v_by_job(candidates, params=K1) -> list[float]:
    found = queue_order.cps_values(candidates, params, 0.0)
    return [v.v for v in sorted(found, key=lambda v: v.job)]


GROUPS: dict[str, tuple[dict[str, Any], list[int], list[float]]] = {
    "S1 job priority": (
        {"b": (50, 50, 100, 100, 1)},
        [3, 4, 1, 2, 5],
        [0.495, 0.495, 1, 1, 0],
    ),
    "S2 maximum wait": (
        {"wait": (5, 10, 20, 40, 60)},
        [1, 2, 3, 4, 5],
        [1, 0.444, 0.167, 0.056, 0],
    ),
    "S3 parallelism": ({"m": (6, 5, 4, 3, 2)}, [1, 2, 3, 4, 5], [1, 0.75, 0.5, 0.25, 0]),
    "S4 user priority": ({"u": (10, 8, 6, 4, 2)}, [1, 2, 3, 4, 5], [1, 0.75, 0.5, 0.25, 0]),
    "group experiment": (
        {"u": (2, 4, 5, 6, 10), "wait": (30, 30, 30, 30, 5), "m": (4, 4, 4, 4, 6)},
        [5, 4, 3, 2, 1],
        [0, 0.083, 0.125, 0.167, 2],
    ),
}


@pytest.mark.parametrize(("minutes", "want"), STEPS)
def test_time_priority_steps_as_printed(minutes, want):
    assert queue_order.time_priority(minutes * MINUTE) == want


@pytest.mark.parametrize(("minutes", "want"), EDGES.values(), ids=EDGES.keys())
def test_time_priority_at_its_edges(minutes, want):
    assert queue_order.time_priority(minutes * MINUTE) == want


def test_a_job_without_maximum_wait_is_in_no_hurry():
    assert queue_order.time_priority(None) == 1


@pytest.mark.parametrize(("varied", "want_order", "want_v"), GROUPS.values(), ids=GROUPS.keys())
def test_groups_come_out_as_stated_whatever_the_input_order(varied, want_order, want_v):
    candidates = jobs(**varied)
    random.Random(45).shuffle(candidates)
    assert order(candidates) == want_order
    assert v_by_job(candidates) == pytest.approx(want_v, abs=5e-4)


@pytest.mark.parametrize("group", ["S2 maximum wait", "S3 parallelism", "S4 user priority"])
def test_groups_hold_when_jobs_are_created_in_another_order(group):
    varied, want_order, _ = GROUPS[group]
    born = dict(zip((1, 2, 3, 4, 5), (4.0, 2.0, 5.0, 1.0, 3.0), strict=True))
    candidates = [
        Candidate(**{**vars(c), "created_at": born[i]})
        for i, c in enumerate(jobs(**varied), start=1)
    ]
    assert order(candidates) == want_order


def test_s1_ties_go_by_creation():
    first, second, *rest = jobs(b=(50, 50, 100, 100, 1))
    swapped = Candidate(**{**vars(first), "created_at": 2.5})
    assert order([swapped, second, *rest]) == [3, 4, 2, 1, 5]


def test_s1_order_is_the_same_with_the_other_printed_weights():
    candidates = jobs(b=(50, 50, 100, 100, 1))
    assert order(candidates, queue_order.PAPER_SECTION_3) == [3, 4, 1, 2, 5]


def test_waits_of_34_to_49_minutes_collapse_to_one_step():
    found = queue_order.cps_values(jobs(wait=(30, 35, 40, 45, 50)), K1, 0.0)
    assert [v.l for v in found] == [4, 3, 3, 3, 2]


def test_the_printed_weights_disagree_on_wait_against_job_priority():
    hurried_low, patient_high = jobs(b=(1, 100), wait=(2, 60), count=2)
    assert order([hurried_low, patient_high], queue_order.PAPER_SECTION_3) == [1, 2]
    assert order([hurried_low, patient_high], queue_order.PAPER_EXPERIMENTS) == [2, 1]


def test_no_new_tie_appears_by_rounding():
    found = queue_order.cps_values(jobs(wait=(5, 10, 20, 40, 60)), PriorityParameters(), 0.0)
    assert [v.v_rounded for v in found] == [1000, 444, 167, 56, 0]


def test_v_is_rounded_half_up_and_never_used_as_the_key():
    found = queue_order.cps_values(jobs(m=(1, 2, 3, 4, 5), wait=60), K1, 0.0)
    assert [(v.v, v.v_rounded) for v in found] == [(1, 1), (0.75, 1), (0.5, 1), (0.25, 0), (0, 0)]
    assert [v.job[-1] for v in found] == ["5", "4", "3", "2", "1"]


def test_equal_jobs_have_value_zero_and_go_by_creation_then_uid():
    candidates = [Candidate(**{**vars(c), "created_at": 7.0}) for c in jobs()]
    assert order(candidates[::-1]) == [1, 2, 3, 4, 5]
    assert v_by_job(candidates) == [0] * 5


def test_a_single_job_has_value_zero_and_an_empty_queue_no_order():
    assert v_by_job(jobs(count=1)) == [0]
    assert queue_order.cps_values([], K1, 0.0) == ()


# the order of A (job 1) and B (job 2) depends on a third job; V of A and B with k' = 100
ARRIVALS = {
    "A and B alone tie": ({}, [1, 2], [100, 100]),
    "C puts B before A": ({"u": 5, "b": 5, "wait": 6, "m": 10}, [3, 2, 1], [50, 100]),
    "D puts A before B": ({"u": 9, "b": 10, "wait": 1, "m": 6}, [3, 1, 2], [100, 24.2]),
}


@pytest.mark.parametrize(("third", "want_order", "want_v"), ARRIVALS.values(), ids=ARRIVALS.keys())
def test_an_arrival_can_flip_the_order_of_waiting_jobs(third, want_order, want_v):
    params = PriorityParameters(high=10, normal=5, low=1, expansion=100.0)
    columns = {"u": (5, 5), "b": (50, 50), "wait": (10, 3), "m": (6, 2)}
    for name, value in third.items():
        columns[name] += ({5: 50, 10: 100}[value] if name == "b" else value,)
    candidates = jobs(**columns, count=2 + bool(third))
    assert order(candidates, params) == want_order
    assert v_by_job(candidates, params)[:2] == pytest.approx(want_v[:2], abs=0.05)


def test_static_wait_does_not_age():
    old, young = jobs(wait=(60, 30), count=2)
    assert order([old, young], K1, now=59 * MINUTE) == [2, 1]


def test_ageing_brings_a_job_forward_as_its_wait_runs_out():
    old, late = jobs(wait=(60, 30), count=2)
    young = Candidate(**{**vars(late), "created_at": 50 * MINUTE})
    ageing = PriorityParameters(ageing=True)
    assert order([old, young], ageing, now=50 * MINUTE) == [1, 2]
    assert queue_order.remaining_wait_seconds(old, 31 * MINUTE + 1) == 29 * MINUTE
    assert queue_order.remaining_wait_seconds(old, 1e9) == MINUTE
    assert queue_order.remaining_wait_seconds(old, -5.0) == 60 * MINUTE


def test_a_job_without_maximum_wait_does_not_age():
    patient = Candidate(**{**vars(jobs(count=1)[0]), "max_wait_seconds": None})
    (value,) = queue_order.cps_values([patient], PriorityParameters(ageing=True), 1e9)
    assert value.l == 1


CLASSES = {
    "no class": (0, 50),
    "just below the high threshold": (999, 50),
    "the high threshold": (1000, 100),
    "system-cluster-critical": (2_000_000_000, 100),
    "a negative class": (-1, 1),
}


@pytest.mark.parametrize(("class_value", "want"), CLASSES.values(), ids=CLASSES.keys())
def test_job_priority_goes_by_the_value_of_the_class(class_value, want):
    assert queue_order.job_priority(class_value, PriorityParameters()) == want


def test_the_four_terms_make_up_the_value():
    found = queue_order.cps_values(jobs(u=(2, 4, 5, 6, 10), wait=(30, 30, 30, 30, 5)), K1, 0.0)
    first = found[0]
    assert (first.u, first.b, first.l, first.m) == (10, 50, 20, 4)
    assert all(v.e == v.u + v.b + v.l for v in found)
    assert all(v.v == pytest.approx(v.e_normalised + v.m_normalised) for v in found)


BAD = {
    "normal above high": {"high": 10, "normal": 50},
    "low above normal": {"normal": 5, "low": 6},
    "thresholds swapped": {"high_class_value": -1},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_weights_that_contradict_their_names_are_refused(fields):
    with pytest.raises(ValueError, match="must not"):
        PriorityParameters(**fields)


def test_both_presets_are_within_the_bounds():
    for params in (queue_order.PAPER_SECTION_3, queue_order.PAPER_EXPERIMENTS):
        for name, (low, high) in bounds(PriorityParameters).items():
            assert low <= getattr(params, name) <= high
