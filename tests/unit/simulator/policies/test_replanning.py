"""Replanning, worked out by hand."""

from dataclasses import replace

import pytest

from extender.core.parameters.pricing import (
    AdmissionParameters,
    Granularity,
    Replanning,
    SlotParameters,
)
from simulator.policies import replanning
from tests.unit.core.policies.slot_worlds import check_room, make_bounds, make_job
from tests.unit.simulator.policies.slot_states import begin, offer, wide

NEVER = AdmissionParameters()
FIRST = AdmissionParameters(replanning=Replanning.ADMITTED_FIRST)
FREELY = AdmissionParameters(replanning=Replanning.WITHOUT_COMMITMENT)


def test_a_later_and_denser_job_replaces_another_only_without_commitment():
    for params, lost, admitted in ((FIRST, (), {"old"}), (FREELY, ("old",), {"new"})):
        state = begin(horizon=2)
        old = wide("old", 50.0, arrival=2)
        offer(state, old)
        result = replanning.replan(state, 2, [wide("new", 80.0, arrival=2)], params)
        assert result.lost == lost
        assert set(result.state.admitted) == admitted
        check_room(result.state.promised)


def test_replanning_plans_only_the_remaining_work():
    state = begin()
    job = make_job(epochs=3)
    offer(state, job)
    result = replanning.replan(state, 2, [], FIRST)
    left, plan = result.state.admitted["job"]
    assert left.done == pytest.approx(1 / 3)
    assert plan.workers.by_slot() == {2: 1, 3: 1}
    assert result.decisions["job"].promise == 3


def test_replanning_keeps_completed_jobs_and_past_slots():
    state = begin()
    offer(state, make_job("done"))
    result = replanning.replan(state, 2, [make_job("new", arrival=2)], FREELY)
    assert set(result.state.admitted) == {"new"}
    assert result.state.promised.g[:, 0, 0].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert set(state.admitted) == {"done"}


def test_an_admitted_job_is_kept_even_if_it_no_longer_pays():
    state = begin()
    offer(state, make_job(epochs=2))
    dearer = replace(state, bounds=make_bounds(100.0, 1600.0))
    kept = replanning.replan(dearer, 2, [], FIRST)
    assert kept.decisions["job"].payoff == pytest.approx(50.0 - 200.0)
    assert (set(kept.state.admitted), kept.lost) == ({"job"}, ())
    assert replanning.replan(dearer, 2, [], FREELY).lost == ("job",)


def test_only_whole_chunks_count_as_done():
    """A worker-slot trains one chunk of 0.6 slots; so two slots are two chunks of three."""
    params = AdmissionParameters(search=SlotParameters(granularity=Granularity.CHUNKS))
    state = begin()
    job = make_job(epochs=3, batch_slots=0.6)
    plan = offer(state, job, params).schedule
    assert plan is not None
    assert replanning.remaining(job, plan, 3, params).done == pytest.approx(2 / 3)
    assert replanning.remaining(job, plan, 3, NEVER).done == 1.0
