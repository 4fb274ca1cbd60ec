"""When waiting jobs start: estimates, what they rest on, and why there is none."""

import pytest
from msgspec import structs

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters
from extender.core.queue import forecast, gang_needs, projection
from extender.core.queue.forecast import Estimate, at_once
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
STATED = "durations by annotation"


def estimates(*specs: Spec, after: float = 5.0) -> dict[str, Estimate]:
    """The estimates ``after`` so many seconds; times are since the beginning."""
    world = World(NODES, specs, PARAMS).run(until=START + after)
    world.now = START + after
    snapshot = world.observe()
    outcome = queue_pass(snapshot, world.state, world.reading, PARAMS)
    estimated = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome)
    return {key.rpartition("/")[2]: since_start(one) for key, one in estimated.items()}


def since_start(one: Estimate) -> Estimate:
    times = (one.starts_at, one.earliest, one.latest)
    starts, earliest, latest = (None if at is None else at - START for at in times)
    return Estimate(starts, one.why, earliest, latest)


def wide(name: str, comes_at: float = 2.0, **more: object) -> Spec:
    """Wants both nodes."""
    return Spec(name, 2, cpu="4", comes_at=comes_at, **more)  # type: ignore[arg-type] - passed through


def one(name: str, comes_at: float = 2.0, **more: object) -> Spec:
    """Wants one."""
    return Spec(name, cpu="4", comes_at=comes_at, **more)  # type: ignore[arg-type] - passed through


CASES: dict[str, tuple[list[Spec], dict[str, Estimate]]] = {
    "after those that run": ([*FULL, wide("w")], {"w": at_once(90.0, STATED)}),
    "one after the other": (
        [*FULL, one("w0", 1.0), one("w1", 2.0), one("w2", 3.0)],
        {
            "w0": at_once(60.0, STATED),
            "w1": at_once(70.0, STATED),
            "w2": at_once(80.0, STATED),
        },
    ),
    "the end of a running job is unknown": (
        [Spec("r0", cpu="4", lasts=60.0, stated=False), FULL[1], wide("w", 1.0), one("w1", 2.0)],
        {
            "w": Estimate(605.0, f"{STATED}, time run so far", 125.0, 3005.0),
            "w1": at_once(90.0, STATED),
        },
    ),
    "the duration of the job before it is unknown": (
        [*FULL, wide("w", 1.0, stated=False), one("w1", 2.0)],
        {
            "w": at_once(90.0, STATED),
            "w1": at_once(60.0, STATED),
        },
    ),
    "it would never fit, which delays no other": (
        [*FULL, Spec("huge", 3, cpu="4", comes_at=1.0), one("w1", 2.0)],
        {
            "huge": Estimate(None, "does not fit even if every other job has ended"),
            "w1": at_once(60.0, STATED),
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
    assert list(estimated.values()) == [at_once(START, "nodes are reserved")]


def test_a_job_that_has_run_for_longer_than_stated_is_expected_to_end_soon() -> None:
    late = Spec("r0", cpu="4", lasts=60.0)
    world = World(NODES, [late, FULL[1], one("w")], PARAMS).run(until=START + 5.0)
    world.now = START + 100.0
    snapshot = world.store.snapshot()  # neither has ended, despite its annotation
    outcome = queue_pass(snapshot, world.state, world.reading, PARAMS)
    (found,) = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome).values()
    assert since_start(found) == Estimate(110.0, "durations by overrun", 102.0, 150.0)


def test_a_long_queue_is_projected_roughly_with_wider_bands(monkeypatch) -> None:
    specs = [*FULL, *(one(f"w{i}", float(i), lasts=20.0) for i in range(5))]
    exact = estimates(*specs)
    monkeypatch.setattr(forecast, "MOST_EXACT_JOBS", 4)
    for name, rough in estimates(*specs).items():
        assert rough.starts_at == exact[name].starts_at
        ahead = (rough.starts_at or 0.0) - 5.0
        assert rough.earliest == pytest.approx(5.0 + 0.9 * ahead)
        assert rough.latest == pytest.approx(5.0 + 1.1 * ahead)


def test_a_job_of_many_shapes_has_no_estimate_where_shapes_are_too_many(monkeypatch) -> None:
    monkeypatch.setattr(forecast, "MOST_EXACT_JOBS", 0)
    monkeypatch.setattr(gang_needs, "MOST_CLASSES", 1)
    selected = Spec("w1", cpu="4", comes_at=2.0, where={"kubernetes.io/hostname": "a"})
    assert estimates(*FULL, one("w0"), selected)["w1"] == Estimate(None, forecast.TOO_FAR)


def test_a_projection_that_takes_too_many_plans_becomes_a_rough_one(monkeypatch) -> None:
    monkeypatch.setattr(projection, "MOST_PLANS", 1)
    found = estimates(*FULL, *(Spec(f"w{i}", i + 1, cpu="4", comes_at=1.0) for i in range(3)))
    assert {name: one.starts_at for name, one in found.items()} == {
        "w0": 60.0,
        "w1": 90.0,
        "w2": None,
    }


def test_what_owners_stated_before_makes_the_band_of_what_they_state(monkeypatch) -> None:
    past = tuple(0.5 + 0.1 * i for i in range(7))
    world = World(NODES, [Spec("r", 2, cpu="4", lasts=100.0), wide("w")], PARAMS)
    world.run(until=START + 5.0)
    world.now = START + 5.0
    snapshot = world.observe()
    world.state = structs.replace(world.state, stated_ratios=past)
    outcome = queue_pass(snapshot, world.state, world.reading, PARAMS)
    (found,) = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome).values()
    assert since_start(found) == Estimate(80.0, STATED, 60.0, 100.0)


def test_runs_of_other_names_stand_for_a_job_of_which_nothing_is_known() -> None:
    specs, comes_at = [], 0.0
    for name, lasts in zip("abcdefr", (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 999.0), strict=True):
        specs.append(Spec(f"{name}x", 2, cpu="4", comes_at=comes_at, lasts=lasts, stated=False))
        specs.append(Spec(f"look{name}x", cpu="5", comes_at=comes_at + 1.0))
        comes_at += lasts
    found = estimates(*specs, wide("w", 212.0), after=212.0)["w"]
    assert found == Estimate(250.0, "durations by runs of other names", 230.0, 260.0)


def test_earlier_runs_of_the_name_give_an_estimate() -> None:
    past = [Spec(f"train-{i}", 2, cpu="4", comes_at=30.0 * i, stated=False) for i in range(2)]
    looks = [Spec(f"look{i}x", cpu="5", comes_at=30.0 * i + 5.0) for i in range(2)]
    estimated = estimates(*past, *looks, one("w", 31.0), after=35.0)
    assert estimated["w"] == at_once(40.0, "durations by history")


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
