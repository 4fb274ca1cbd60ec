"""When waiting jobs start: estimates, what they rest on, and why there is none."""

import pytest

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters
from extender.core.queue import forecast
from extender.core.queue.forecast import Estimate
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import JobKey
from tests.fakes.builders import make_node, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of
from tests.unit.core.queue.runs import START, Spec, World

PARAMS = CoreParameters(waiting=BackfillParameters(default_max_wait_seconds=None))
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
FULL = [Spec("r0", cpu="4", lasts=60.0), Spec("r1", cpu="4", lasts=90.0)]
"""Both nodes, from the beginning on."""


def estimates(*specs: Spec, after: float = 5.0) -> dict[str, Estimate]:
    """The estimates ``after`` so many seconds; times are since the beginning."""
    world = World(NODES, specs, PARAMS).run(until=START + after)
    world.now = START + after
    snapshot = world.observe()
    outcome = queue_pass(snapshot, world.state, world.reading, PARAMS)
    estimated = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome)
    return {
        key.rpartition("/")[2]: Estimate(one.starts_at and one.starts_at - START, one.why)
        for key, one in estimated.items()
    }


def wide(name: str, comes_at: float = 2.0, **more: object) -> Spec:
    """Wants both nodes."""
    return Spec(name, 2, cpu="4", comes_at=comes_at, **more)  # type: ignore[arg-type] - passed through


def one(name: str, comes_at: float = 2.0, **more: object) -> Spec:
    """Wants one."""
    return Spec(name, cpu="4", comes_at=comes_at, **more)  # type: ignore[arg-type] - passed through


CASES: dict[str, tuple[list[Spec], dict[str, Estimate]]] = {
    "after those that run": ([*FULL, wide("w")], {"w": Estimate(90.0, "durations by annotation")}),
    "one after the other": (
        [*FULL, one("w0", 1.0), one("w1", 2.0), one("w2", 3.0)],
        {
            "w0": Estimate(60.0, "durations by annotation"),
            "w1": Estimate(70.0, "durations by annotation"),
            "w2": Estimate(80.0, "durations by annotation"),
        },
    ),
    "the end of a running job is unknown": (
        [Spec("r0", cpu="4", lasts=60.0, stated=False), FULL[1], wide("w", 1.0), one("w1", 2.0)],
        {
            "w": Estimate(None, "waits for default/r0, whose end is unknown: unstated"),
            "w1": Estimate(None, "behind default/w, whose start is unknown"),
        },
    ),
    "the duration of the job before it is unknown": (
        [*FULL, wide("w", 1.0, stated=False), one("w1", 2.0)],
        {
            "w": Estimate(90.0, "durations by annotation"),
            "w1": Estimate(60.0, "durations by annotation"),
        },
    ),
    "it would never fit, which delays no other": (
        [*FULL, Spec("huge", 3, cpu="4", comes_at=1.0), one("w1", 2.0)],
        {
            "huge": Estimate(None, "does not fit even if every other job has ended"),
            "w1": Estimate(60.0, "durations by annotation"),
        },
    ),
    "no node is for it": (
        [*FULL, Spec("odd", cpu="9", comes_at=1.0)],
        {"odd": Estimate(None, "cannot start: NoSuchNode")},
    ),
}


@pytest.mark.parametrize(("specs", "want"), CASES.values(), ids=CASES.keys())
def test_the_estimated_start_and_its_basis(specs, want) -> None:
    assert estimates(*specs) == want


def test_a_job_that_was_released_starts_now() -> None:
    world = World(NODES, [Spec("w")], PARAMS)
    snapshot, outcome = world.observe(), world.run_pass()
    estimated = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome)
    assert list(estimated.values()) == [Estimate(START, "nodes are reserved")]


def test_a_job_that_has_run_too_long_has_no_end() -> None:
    late = Spec("r0", cpu="4", lasts=60.0)
    world = World(NODES, [late, FULL[1], wide("w")], PARAMS).run(until=START + 5.0)
    world.now = START + 60.0
    snapshot = world.store.snapshot()  # r0 has not ended, despite its annotation
    outcome = queue_pass(snapshot, world.state, world.reading, PARAMS)
    estimated = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome)
    assert [one.why for one in estimated.values()] == [
        "waits for default/r0, whose end is unknown: overrun"
    ]


def test_the_number_of_plans_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(forecast, "MOST_JOBS", 2)
    monkeypatch.setattr(forecast, "MOST_PLANS", 1)
    estimated = estimates(*FULL, *(Spec(f"w{i}", i + 1, cpu="4", comes_at=1.0) for i in range(3)))
    assert {one.why for one in estimated.values()} <= {
        forecast.TOO_FAR,
        forecast.NEVER_FITS,
        "behind default/w0, whose start is unknown",
        "behind default/w2, whose start is unknown",
    }
    assert sum(one.why == forecast.TOO_FAR for one in estimated.values()) >= 2


def test_earlier_runs_of_the_name_give_an_estimate() -> None:
    past = [Spec(f"train-{i}", 2, cpu="4", comes_at=30.0 * i, stated=False) for i in range(2)]
    looks = [Spec(f"look{i}x", cpu="5", comes_at=30.0 * i + 5.0) for i in range(2)]
    estimated = estimates(*past, *looks, one("w", 31.0), after=35.0)
    assert estimated["w"] == Estimate(40.0, "durations by history")


GPU = "nvidia.com/gpu"
PRODUCTS = {
    "on the model that is stated first": ("NVIDIA-H100-80GB-HBM3", 160.0),
    "on a model of half its speed": ("NVIDIA-A100-SXM4-40GB", 260.0),
}


@pytest.mark.parametrize(("product", "starts_at"), PRODUCTS.values(), ids=PRODUCTS)
def test_a_job_is_expected_to_start_after_one(product, starts_at) -> None:
    node = make_node("g", allocatable={GPU: "1"}, labels={f"{GPU}.product": product})
    notes = {labels.EXPECTED_DURATION: "100s", labels.ACCELERATORS: "h100=2>a100=1"}
    shape = make_shape(requests={GPU: "1"})
    jobs = [queued_job(n, 1, shape=shape, annotations=notes, created_at=t) for n, t in AGES]
    runs = released_job(
        "runs", ["g"], bound=1, shape=shape, scheduled_at=10.0,
        annotations={labels.EXPECTED_DURATION: "50s"},
    )  # fmt: skip
    snapshot = snapshot_of(node, runs, *jobs)
    reading = Reading(10.0, 10.0)
    outcome = queue_pass(snapshot, QueueState(), reading, PARAMS)
    found = forecast.estimates(Session(snapshot, reading, PARAMS), outcome)
    assert found[JobKey("default/job/second")].starts_at == starts_at


AGES = (("first", 1.0), ("second", 2.0))
