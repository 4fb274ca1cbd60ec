"""Laws of scaling, on small random clusters."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from extender.core.elastic.scaling_values import ScalingPlan, Why, freed
from tests.unit.core.policies.elastic_yard import Yard

NODES = ("n1", "n2", "n3")
STEPS = ([10.0, 0.0], [10.0, 0.0, 0.0, 2.5], [1.0, 4.0, 1.0, 0.5], [6.0, 2.0, 0.3, 0.1, 0.2])
speeds = st.builds(
    lambda step, mode: {"step": step, "mode": mode},
    st.sampled_from(STEPS),
    st.sampled_from(["sync", "async", "linear"]),
)


@st.composite
def yards(draw):
    """Nodes with little room beside their pods, so that a job that starts needs that of others.

    Returns:
        What a ``Yard`` is made of.
    """
    names = NODES[: draw(st.integers(1, 3))]
    nodes = {node: draw(st.sampled_from([0, 0, 500, 1000, 3000])) for node in names}
    running, waiting = [], []
    for job in "abc"[: draw(st.integers(0, 3))]:
        row = draw(_row(job, utilities=(1, 2)))
        at = draw(st.lists(st.sampled_from(names), min_size=1, max_size=5))
        if draw(st.booleans()):
            row["server"] = draw(st.sampled_from(names))
            nodes[row["server"]] += 1000
        for node in at:
            nodes[node] += row["cpu"]
        row |= {"least": draw(st.integers(1, min(2, len(at)))), "most": len(at) + 2}
        running.append({**row, "at": at, "any_worker": draw(st.booleans())})
    for job in "yz"[: draw(st.integers(0, 2))]:
        row = draw(_row(job, utilities=(1, 2, 3, 3)))
        wanted = draw(st.integers(1, 3))
        row |= {"wanted": wanted, "least": draw(st.integers(1, wanted)), "most": wanted + 2}
        waiting.append(
            {**row, "server": draw(st.booleans()), "waited": draw(st.sampled_from([0, 60]))}
        )
    return nodes, running, waiting


@st.composite
def _row(draw, job, utilities):
    row = {
        "job": job,
        "cpu": draw(st.sampled_from([500, 1000, 2000])),
        "utility": draw(st.sampled_from(utilities)),
    }
    if draw(st.booleans()):
        row |= {"speed": draw(speeds), "left": draw(st.sampled_from([1.0, 50.0, 500.0]))}
    return row


params = st.fixed_dictionaries(
    {
        "marginal_gain": st.booleans(),
        "start_with_fewer": st.booleans(),
        "starvation_seconds": st.sampled_from([None, 60.0]),
        "reserve": st.booleans(),
    }
)


def after(yard: Yard, plan: ScalingPlan):
    """Return the room, and the workers of every running job, after the plan."""
    room, workers = yard.node_table, {r.elastic.job: list(r.workers) for r in yard.running}
    shapes = {r.elastic.job: r.elastic.worker for r in yard.running}
    for removal in plan.removals:
        room = freed(room, shapes[removal.job], room.index[removal.worker.node])
        workers[removal.job].remove(removal.worker)
    for start in plan.starts:
        candidate = next(c for c in yard.waiting if c.elastic.job == start.job)
        for uid, node in start.placement.nodes.items():
            job = candidate.elastic
            shape = job.server if "-ps-" in uid else job.worker
            room = room.with_pods([(shape, room.index[node])])
    for addition in plan.additions:
        room = room.with_pods([(shapes[addition.job], room.index[addition.node])])
        workers[addition.job].append(addition)
    return room, workers


@given(yards(), params)
def test_no_node_is_filled_beyond_its_capacity(yard, params):
    yard = Yard(*yard)
    room, _ = after(yard, yard.decide(**params))
    assert (room.free >= 0).all()


@given(yards(), params)
def test_no_job_goes_below_its_least_or_above_its_most_workers(yard, params):
    yard = Yard(*yard)
    _, workers = after(yard, yard.decide(**params))
    for one in yard.running:
        assert one.elastic.least <= len(workers[one.elastic.job]) <= one.elastic.most


@given(yards(), params)
def test_a_job_that_starts_starts_whole_and_within_its_bounds(yard, params):
    yard = Yard(*yard)
    for start in yard.decide(**params).starts:
        one = next(c for c in yard.waiting if c.elastic.job == start.job)
        assert len(start.placement.nodes) == start.workers + one.elastic.servers
        least = one.elastic.least if params["start_with_fewer"] else one.wanted
        assert least <= start.workers <= one.wanted


@given(yards(), params)
def test_no_worker_is_taken_for_a_job_that_does_not_start(yard, params):
    yard = Yard(*yard)
    plan = yard.decide(**params)
    started = {start.job: start.why for start in plan.starts}
    for removal in plan.removals:
        if removal.starts is None:
            assert removal.why is Why.SLOWS
        else:
            assert started[removal.starts] is removal.why


@given(yards(), params)
def test_no_job_as_important_yields_workers_but_to_a_starving_one(yard, params):
    yard = Yard(*yard)
    utility = {
        one.elastic.job: one.elastic.weight.utility for one in (*yard.running, *yard.waiting)
    }
    for removal in yard.decide(**params).removals:
        if removal.why is Why.MORE_IMPORTANT:
            assert utility[removal.job] < utility[removal.starts]
        if removal.why is Why.STARVING:
            waited = {c.elastic.job: c.waited_seconds for c in yard.waiting}
            assert waited[removal.starts] >= params["starvation_seconds"]


@given(yards(), params)
def test_no_job_yields_room_in_which_it_could_start_again(yard, params):
    """No worker that left for one start could have stayed."""
    yard = Yard(*yard)
    plan = yard.decide(**params)
    if len(plan.starts) != 1 or not plan.removals:
        return
    (start,) = plan.starts
    shapes = {one.elastic.job: one.elastic.worker for one in yard.running}
    for spared in plan.removals:
        room = yard.node_table
        later = False
        for removal in plan.removals:
            if removal is not spared:
                room = freed(room, shapes[removal.job], room.index[removal.worker.node])
                later |= removal.job == spared.job and plan.removals.index(
                    removal
                ) > plan.removals.index(spared)
        running = next(r for r in yard.running if r.elastic.job == spared.job)
        if running.any_worker or not later:
            assert yard.place(start.job, start.workers, room) is None


@given(yards(), params)
def test_an_owner_that_states_an_order_gives_up_a_prefix_of_it(yard, params):
    yard = Yard(*yard)
    gone = {one.elastic.job: [] for one in yard.running}
    for removal in yard.decide(**params).removals:
        gone[removal.job].append(removal.worker)
    for one in yard.running:
        workers = gone[one.elastic.job]
        if not one.any_worker:
            assert tuple(workers) == one.workers[: len(workers)]


@given(yards(), params)
def test_no_job_grows_while_another_could_start(yard, params):
    yard = Yard(*yard)
    plan = yard.decide(**params)
    if plan.additions:
        assert not plan.starts
        for one in yard.waiting:
            least = one.elastic.least if params["start_with_fewer"] else one.wanted
            for count in range(least, one.wanted + 1):
                assert yard.place(one.elastic.job, count, yard.node_table) is None


@given(yards(), params)
def test_with_a_reserve_growing_leaves_room_for_the_first_waiting_job(yard, params):
    """As many of its workers as fitted before still fit, server first."""
    yard = Yard(*yard)
    plan = yard.decide(**{**params, "reserve": True})
    if not plan.additions or not yard.waiting:
        return
    first = min(yard.waiting, key=lambda one: one.elastic.rank)
    room, _ = after(yard, replace(plan, removals=()))
    slots = _slots(first, yard.node_table)
    assert _slots(first, room) >= min(slots, first.wanted + first.elastic.servers)


def _slots(one, room) -> int:
    """Return how many of its pods fit, the server first, wherever they fit."""
    reserved = 0
    job = one.elastic
    for shape in [job.server] * job.servers + [job.worker] * one.wanted:
        fitting = room.feasible(shape).nonzero()[0]
        if fitting.size:
            room = room.with_pods([(shape, int(fitting[0]))])
            reserved += 1
    return reserved


@given(yards())
def test_with_marginal_gain_every_change_saves_more_than_two_pauses(yard):
    yard = Yard(*yard)
    plan = yard.decide()
    changes = [*plan.removals, *plan.additions]
    for change in changes:
        if change.why in (Why.SLOWS, Why.SAVES_TIME):
            assert change.saved_seconds > 2 * 5.0


@given(yards())
def test_with_marginal_gain_no_job_of_known_speed_grows_past_the_tipping_point(yard):
    yard = Yard(*yard)
    known = {one.elastic.job for one in yard.running if one.seconds_left() is not None}
    before = {one.elastic.job: one for one in yard.running}
    for addition in yard.decide().additions:
        if addition.job in known:
            assert addition.why is Why.SAVES_TIME
    plan = yard.decide()
    if plan.removals:
        return
    now = dict(before)
    for i, addition in enumerate(plan.additions):
        if addition.job in known:
            one = now[addition.job]
            worker = replace(one.workers[0], uid=f"new-{i}", node=addition.node)
            now[addition.job] = one.with_one(worker)
            assert now[addition.job].seconds_left() < one.seconds_left()


@given(st.data(), yards(), params)
def test_the_order_of_the_input_does_not_matter(data, yard, params):
    nodes, running, waiting = yard
    plan = Yard(nodes, running, waiting).decide(**params)
    shuffled = Yard(
        dict(data.draw(st.permutations(list(nodes.items())))),
        data.draw(st.permutations(running)),
        data.draw(st.permutations(waiting)),
    ).decide(**params)
    assert _values(shuffled) == _values(plan)


def _values(plan: ScalingPlan):
    starts = [(s.job, s.workers, dict(s.placement.nodes), s.why) for s in plan.starts]
    return starts, plan.removals, plan.additions
