"""Laws of waiting, on whole runs of random jobs: no job starves, none delays the backfill head."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.session import Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import (
    BackfillParameters,
    FairShareParameters,
    KeepsRoom,
    Order,
)
from extender.core.queue import forecast
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.queue.runs import START, Spec, World

NODES = st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["x", "y"])), min_size=1, max_size=4)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.integers(1, 4),
            "cpu": st.sampled_from(["1", "2", "3"]),
            "comes_at": st.integers(0, 30).map(float),
            "lasts": st.integers(1, 12).map(float),
            "max_wait": st.sampled_from([None, None, 1.0, 5.0, 20.0]),
            "where": st.sampled_from([{}, {}, {}, {"rack": "x"}]),
            "namespace": st.sampled_from(["default", "other"]),
        }
    ),
    min_size=1,
    max_size=8,
)
PARAMS = st.builds(
    CoreParameters,
    order=st.sampled_from(Order),
    fair_share=st.builds(FairShareParameters, enabled=st.booleans()),
    waiting=st.builds(
        BackfillParameters,
        default_max_wait_seconds=st.sampled_from([10.0, 40.0]),
        passing_tries=st.sampled_from([0, 20]),
        keeps_room=st.sampled_from(KeepsRoom),
    ),
)


def nodes_of(rows):
    return [make_node(f"n{i}", cpu=str(cpu), labels={"rack": r}) for i, (cpu, r) in enumerate(rows)]


def specs_of(rows, *, stated):
    return [
        Spec(
            f"j{i}",
            stated=row.get("stated", stated),
            **{k: v for k, v in row.items() if k != "stated"},
        )
        for i, row in enumerate(rows)
    ]


def feasible(nodes, spec):
    """True if the job fits on the empty cluster; of one shape, so this is exact."""
    alone = dataclasses.replace(spec, comes_at=0.0)
    return spec.name in World(nodes, [alone]).run(until=START + 1).started


def deadline(spec, params):
    wait = params.waiting.default_max_wait_seconds if spec.max_wait is None else spec.max_wait
    return spec.comes_at + wait


@given(
    rows=NODES,
    jobs=ROWS,
    stated=st.lists(st.booleans(), min_size=8, max_size=8),
    stream=st.integers(1, 3),
    params=PARAMS,
)
def test_every_feasible_gang_runs_soon_after_its_maximum_wait_however_many_jobs_come(
    rows, jobs, stated, stream, params
):
    """Each waits at most for the running ones to end, after those with an older deadline.

    With known and unknown durations, it may be planned twice: after those that end at an unknown
    time, and then after the known ones that were backfilled meanwhile.
    """
    nodes = nodes_of(rows)
    specs = [
        dataclasses.replace(spec, stated=knows)
        for spec, knows in zip(specs_of(jobs, stated=True), stated, strict=False)
    ]
    small = [Spec(f"s{i}", comes_at=i // stream, lasts=7.0, stated=stated[0]) for i in range(15)]
    world = World(nodes, [*specs, *small], params).run()
    longest = max(spec.lasts for spec in (*specs, *small))
    rounds = len({spec.stated for spec in (*specs, *small)})
    runners = [spec for spec in (*specs, *small) if feasible(nodes, spec)]
    for spec in runners:
        limit = deadline(spec, params)
        before = sum(deadline(other, params) <= limit for other in runners)
        assert world.started[spec.name] <= limit + before * rounds * longest
    assert world.started.keys() == {spec.name for spec in runners}


def some(least, most, **fields):
    """Jobs with one or two pods, in rows as ``Spec`` has them."""
    row = {"size": st.integers(1, 2), "cpu": st.sampled_from(["1", "2", "3"]), **fields}
    return st.lists(st.fixed_dictionaries(row), min_size=least, max_size=most)


SECONDS = st.integers(1, 20).map(float)


@given(
    rows=st.lists(st.tuples(st.integers(2, 6), st.just("x")), min_size=2, max_size=4),
    running=some(1, 6, lasts=SECONDS),
    size=st.integers(1, 4),
    cpu=st.sampled_from(["2", "3", "4", "6"]),
    passers=some(1, 6, lasts=SECONDS, comes_at=st.integers(2, 8).map(float)),
    tries=st.sampled_from([0, 20]),
)
def test_with_known_durations_no_job_delays_the_backfill_head(
    rows, running, size, cpu, passers, tries
):
    """It starts when it would without the other jobs that wait, or come later."""
    nodes, params = (
        nodes_of(rows),
        CoreParameters(
            waiting=BackfillParameters(default_max_wait_seconds=None, passing_tries=tries)
        ),
    )
    first = [Spec(f"r{i}", **row) for i, row in enumerate(running)]
    holder = Spec("holder", size, cpu=cpu, comes_at=1.0, max_wait=1.0)
    later = [Spec(f"p{i}", **row) for i, row in enumerate(passers)]
    world = World(nodes, [*first, holder, *later], params).run()
    alone = World(nodes, [*first, holder], params).run(until_held=True)
    alone.drop_all_but({holder.key})
    alone.run()
    assert world.started.get("holder") == alone.started.get("holder")


@given(
    rows=st.lists(st.tuples(st.integers(2, 6), st.just("x")), min_size=2, max_size=4),
    running=some(1, 6, lasts=SECONDS),
    size=st.integers(1, 4),
    cpu=st.sampled_from(["2", "3", "4", "6"]),
    passers=some(1, 6, lasts=SECONDS, comes_at=st.integers(2, 8).map(float)),
    keeps=st.sampled_from([KeepsRoom.NEXT_IF_KNOWN, KeepsRoom.NEXT]),
)
def test_the_first_job_of_the_order_is_never_delayed_by_a_later_one(
    rows, running, size, cpu, passers, keeps
):
    """With known durations: it starts when it would alone with the jobs that run."""
    nodes = nodes_of(rows)
    params = CoreParameters(
        order=Order.CREATION,
        waiting=BackfillParameters(
            default_max_wait_seconds=None, passing_tries=20, keeps_room=keeps
        ),
    )
    first = [Spec(f"r{i}", size=1, cpu="1", lasts=row["lasts"]) for i, row in enumerate(running)]
    first = first[: sum(cpus for cpus, _ in rows)]
    holder = Spec("holder", size, cpu=cpu, comes_at=1.0)
    later = [Spec(f"p{i}", **row) for i, row in enumerate(passers)]
    world = World(nodes, [*first, holder, *later], params).run()
    alone = World(nodes, [*first, holder], params).run()
    assert world.started.get("holder") == alone.started.get("holder")


@given(rows=NODES, jobs=ROWS, params=PARAMS)
def test_without_surprises_every_job_starts_when_it_was_estimated(rows, jobs, params):
    """Surprises: jobs that come, and durations that are not known or not true."""
    nodes, specs = nodes_of(rows), specs_of(jobs, stated=True)
    world = World(nodes, specs, params)
    world.run(until=START + max(spec.comes_at for spec in specs))
    outcome = queue_pass(world.observe(), world.state, world.reading, params)
    estimates = forecast.estimates(Session(world.observe(), world.reading, params), outcome)
    began = {name: START + at for name, at in world.run().started.items()}
    for entry in outcome.entries:
        estimate = estimates[entry.job.key]
        assert estimate.starts_at == began.get(entry.job.name), estimate
