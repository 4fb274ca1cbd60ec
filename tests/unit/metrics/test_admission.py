"""Metrics of admission by price."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from extender.core.cluster.reasons import Reason
from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import admission
from extender.core.pricing.outcome import (
    EndedJob,
    JobStatus,
    PriceLedger,
    PricingOutcome,
    PricingState,
    Promise,
    Refused,
)
from extender.core.records.slot_plan import JobRequest, SlotPlan
from extender.metrics.extender import ExtenderMetrics
from shared.model import JobKey
from tests.fakes.builders import make_shape
from tests.unit.core.policies.slot_worlds import make_bounds, make_cluster, make_job

JOB, OTHER = JobKey("a/job/x"), JobKey("a/job/y")
PLAN = SlotPlan(
    job=JOB,
    request=JobRequest("steps:1h=10", "epochs=1", make_shape()),
    slot_seconds=600.0,
    arrival=1,
    promise=4,
    completion=4,
    utility=10.0,
    bill=2.0,
    spans=(),
)
TAKEN = JobStatus(JOB, PLAN, payoff=8.0, utility=10.0, bill=2.0, promise=Promise.KEPT)
WAITS = JobStatus(JOB, reason=Reason.GANG_DOES_NOT_FIT)
EMPTY = PricingState()
REFUSED = Refused(era=0, reason=Reason.GANG_DOES_NOT_FIT, message="")
NOTHING = PricingOutcome(state=EMPTY, statuses={}, price_ledger=None, ended=(), wake_at=0.0)


@pytest.fixture
def metrics() -> ExtenderMetrics:
    return ExtenderMetrics()


def value(metrics: ExtenderMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"shuntyard_{name}", labels)


def offers(metrics: ExtenderMetrics) -> list[float | None]:
    outcomes = ("admitted", "rejected", "lost")
    return [value(metrics, "admission_offers_total", outcome=outcome) for outcome in outcomes]


def test_a_job_is_admitted_once_with_its_payoff(metrics: ExtenderMetrics) -> None:
    outcome = replace(NOTHING, statuses={JOB: TAKEN})
    metrics.admission.observe(outcome, EMPTY, ())
    assert offers(metrics) == [1, 0, 0]
    assert value(metrics, "admission_payoff_total") == 8.0
    assert value(metrics, "admission_gain_ratio_bucket", le="0.8") == 1
    for before, planned in ((PricingState(plans={JOB: PLAN}), ()), (EMPTY, (JOB,))):
        metrics.admission.observe(outcome, before, planned)
    assert offers(metrics) == [1, 0, 0]


def test_a_rejection_is_counted_once_until_the_job_is_forgotten(metrics: ExtenderMetrics) -> None:
    state = PricingState(refused={JOB: REFUSED})
    outcome = replace(NOTHING, state=state, statuses={JOB: WAITS})
    metrics.admission.observe(outcome, EMPTY, ())
    metrics.admission.observe(outcome, state, ())
    assert offers(metrics) == [0, 1, 0]


def test_a_job_that_loses_its_place_counts_as_lost_and_not_as_rejected(
    metrics: ExtenderMetrics,
) -> None:
    state = PricingState(refused={JOB: REFUSED})
    outcome = replace(NOTHING, state=state, statuses={JOB: WAITS})
    metrics.admission.observe(outcome, PricingState(plans={JOB: PLAN}), (JOB,))
    assert offers(metrics) == [0, 0, 1]


def test_promises_are_counted_by_present_state_and_at_their_end(metrics: ExtenderMetrics) -> None:
    late = replace(TAKEN, job=OTHER, plan=changed(PLAN, job=OTHER), promise=Promise.SLIPPED)
    ended = (EndedJob(PLAN, Promise.BROKEN),)
    outcome = replace(NOTHING, statuses={JOB: TAKEN, OTHER: late}, ended=ended)
    metrics.admission.observe(outcome, EMPTY, ())
    standing = [value(metrics, "promised_jobs", promise=p.value) for p in Promise]
    done = [value(metrics, "promises_total", promise=p.value) for p in Promise]
    assert (standing, done) == ([1, 1, 0], [0, 0, 1])
    assert value(metrics, "admission_jobs", reason="none") == 2


def test_prices_are_of_the_present_slot_and_promises_of_all_slots(
    metrics: ExtenderMetrics,
) -> None:
    state = admission.empty_state(make_cluster([[4.0], [4.0]], [[4.0]], 2), make_bounds(1.0, 16.0))
    job = make_job(chunks=2, worker_bandwidth=0.0, utility=Steps(((0.0, 90.0),)))
    state.accept(job, admission.offer(job, state, AdmissionParameters()))
    taken = float(state.promised.g[0].sum())
    book = PriceLedger(state, ("a", "b"), ("a", "b"), ("cpu",), (1.0,), 1)
    metrics.admission.observe(replace(NOTHING, price_ledger=book), EMPTY, ())
    assert value(metrics, "promised_ratio", resource="cpu") == taken / 16
    assert value(metrics, "slot_price_ratio", resource="cpu", of="mean") == taken / 8
    most = float(state.promised.g[0].max()) / 4
    assert value(metrics, "slot_price_ratio", resource="cpu", of="most") == most > 0
    assert value(metrics, "promised_ratio", resource="gpu") == 0
    later = float(state.promised.g[1].sum()) / 8
    ahead = [
        value(metrics, "slot_price_ahead_ratio", resource="cpu", ahead=n) for n in ("0", "1", "2")
    ]
    assert ahead == [taken / 8, later, 0]


def test_gpus_of_every_maker_are_one_resource(metrics: ExtenderMetrics) -> None:
    state = admission.empty_state(
        make_cluster([[2.0, 0.0]], [[4.0, 0.0]], 1), make_bounds(1.0, 16.0, 2)
    )
    job = make_job(
        worker=(1.0, 0.0),
        server=(0.0, 0.0),
        worker_bandwidth=0.0,
        utility=Steps(((0.0, 90.0),)),
    )
    state.accept(job, admission.offer(job, state, AdmissionParameters()))
    names = ("nvidia.com/gpu", "amd.com/gpu")
    metrics.admission.observe(
        replace(NOTHING, price_ledger=PriceLedger(state, ("a",), ("a",), names, (1.0, 1.0), 1)),
        EMPTY,
        (),
    )
    assert value(metrics, "slot_price_ratio", resource="gpu", of="most") == 0.5


def test_a_standby_shows_no_present_state(metrics: ExtenderMetrics) -> None:
    metrics.admission.observe(replace(NOTHING, statuses={JOB: TAKEN}), EMPTY, ())
    metrics.admission.stand_by()
    assert value(metrics, "promised_jobs", promise="kept") == 0
    assert value(metrics, "admission_jobs", reason="none") == 0
    assert offers(metrics) == [1, 0, 0]
