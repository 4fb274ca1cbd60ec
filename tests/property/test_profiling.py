"""Laws of profile runs on a simulated cluster, for any reports and restarts.

No run holds room of jobs with a plan; no written record is lost; no job is stopped for being
measured, or for being too dear; a measured step time is near the truth.
"""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.core.cluster.session import Reading, Session
from extender.core.elastic import proposals
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing import timing
from extender.core.pricing.outcome import PricingState
from extender.core.pricing.timing import StepReading
from extender.core.records import profile
from shared.model import Uid
from tests.property.test_admission_live import check_room
from tests.unit.core.clusters import queued_job
from tests.unit.core.pricing.priced_cluster import SLOT, START, priced_job
from tests.unit.core.pricing.profiled_cluster import BATCHES, TOTAL, ProfiledCluster, unmeasured

SHARE = 0.5
WORTH = ["sigmoid:100,0,24h", "sigmoid:0.00001,0,24h"]
jobs = st.lists(
    st.tuples(
        st.sampled_from(["unmeasured", "unmeasured", "priced", "plain"]),
        st.integers(1, 3),
        st.sampled_from(WORTH),
        st.booleans(),
    ),
    min_size=1,
    max_size=5,
)
moments = st.lists(
    st.tuples(
        st.sampled_from(["steps", "steps", "steps", "slot", "restart"]),
        st.floats(1.0, 60.0),
        st.integers(1, 20),
    ),
    min_size=4,
    max_size=14,
)


def made(number, row):
    kind, workers, utility, checkpoint = row
    name = f"j{number}"
    if kind == "plain":
        return queued_job(name, workers, created_at=START)
    fields = {"utility": utility, "checkpoint": checkpoint}
    if kind == "priced":
        return priced_job(name, workers, work=2 * workers, **fields)
    return unmeasured(name, workers, **fields)


def check_others(world):
    """Jobs without a plan hold no more of a node than the part not kept for those with one."""
    snapshot = world.store.snapshot()
    planned = {f"default/job/{name}" for name in world.plans()}
    held = Counter()
    for key, pods in snapshot.jobs.items():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            if node is not None and key not in planned:
                held[node] += dict(pod.shape.requests)["cpu"]
    for node in snapshot.node_table.nodes:
        kept = Fraction(SHARE) * node.allocatable["cpu"] // 1
        assert held[node.name] <= node.allocatable["cpu"] - kept


def happen(world, event, seconds, steps):
    if event == "slot":
        world.now = (world.slot + 1) * SLOT
    elif event == "restart":
        world.state = PricingState()
    else:
        world.now += seconds
        for key in sorted(profile.profile_runs(world.store.snapshot())):
            name = key.rsplit("/", 1)[1]
            world.train(name, 0.0, steps=steps)


@given(jobs, moments)
@settings(max_examples=15, deadline=None)
def test_no_run_holds_room_of_jobs_with_a_plan_and_nothing_is_lost(rows, events):
    world = ProfiledCluster(
        *(made(i, row) for i, row in enumerate(rows)), count=2, cpu=4, share=SHARE
    )
    known = {}
    for event in [("restart", 0.0, 0), *events]:
        happen(world, *event)
        world.run_pass()
        world.place()
        check_others(world)
        check_room(world, SHARE)
        runs = profile.profile_runs(world.store.snapshot())
        for key, run in known.items():
            assert key in runs
            if run.batch_seconds is not None:
                assert runs[key].run.batch_seconds == run.batch_seconds
            if run.since is not None:
                assert runs[key].run.since == run.since
        known = {key: one.run for key, one in runs.items()}
        session = Session(world.store.snapshot(), Reading(world.now, world.now), world.params)
        proposed = {one.job for one in proposals.slot_plan_proposals(session)}
        assert proposed <= {f"default/job/{name}" for name in world.plans()}


@given(
    st.lists(st.floats(0.7, 1.3), min_size=80, max_size=80),
    st.floats(0.05, 30.0),
    st.integers(1, 8),
)
@settings(max_examples=30, deadline=None)
def test_a_measured_step_time_is_near_the_truth(noise, step_seconds, workers):
    params, at, step, timed = SlotTimeParameters(), 0.0, 0, None
    for factor in noise:
        steps = max(1, round(10.0 / step_seconds))
        at, step = at + steps * step_seconds * factor, step + steps
        reading = StepReading(Uid("a"), 1, workers, step, at, TOTAL)
        timed = timing.updated(timed, reading, params)
        if not timing.missing_for_result(timed, params):
            break
    assert not timing.missing_for_result(timed, params)
    assert timed.steps >= params.profile_steps
    assert timed.seconds == pytest.approx(step_seconds, rel=0.31)
    batch = timing.batch_seconds(timed, BATCHES)
    assert batch == pytest.approx(timed.seconds * workers * TOTAL / BATCHES)
