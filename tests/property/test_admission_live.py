"""Laws of admission on a simulated cluster: no double promise, none dropped, no job starved."""

from collections import Counter
from fractions import Fraction

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.pricing import AdmissionParameters, Replanning
from extender.core.pricing import admission, candidates, machines
from extender.core.pricing import history as histories
from extender.core.pricing.history import History
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.outcome import PricingState
from extender.core.queue.state import QueueState
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job
from tests.unit.core.pricing.priced_cluster import SLOT, START, PricedCluster, params, priced_job

UTILITIES = ["sigmoid:100,0,2h", "sigmoid:50,1,30m", "sigmoid:80,9,40m", "steps:20m=90,1h=30"]
cpus = st.lists(st.integers(1, 6), min_size=1, max_size=3)
shares = st.sampled_from([0.3, 0.5, 1.0])
job_rows = st.fixed_dictionaries(
    {
        "workers": st.integers(1, 3),
        "extra": st.integers(0, 3),
        "elastic": st.booleans(),
        "work": st.integers(1, 10),
        "utility": st.sampled_from(UTILITIES),
        "checkpoint": st.booleans(),
        "ps": st.sampled_from([0, 0, 1, 2]),
        "arrives": st.integers(0, 4),
        "cpu": st.sampled_from(["1", "2"]),
    }
)
job_lists = st.lists(job_rows, min_size=1, max_size=5)
events = st.lists(
    st.sampled_from(
        ["as planned", "as planned", "slower", "faster", "node goes", "node comes", "node shrinks"]
    ),
    min_size=6,
    max_size=6,
)


def job_of(name, row, **changes):
    most = row["workers"] + row["extra"] if row["elastic"] else None
    return priced_job(
        name,
        row["workers"],
        work=row["work"],
        most=most,
        utility=row["utility"],
        checkpoint=row["checkpoint"],
        ps=row["ps"],
        cpu=row["cpu"],
        created_at=START + row["arrives"] * SLOT,
        **changes,
    )


def yard_of(sizes, **changes):
    nodes = [make_node(f"n{i}", cpu=str(cpu)) for i, cpu in enumerate(sizes)]
    return PricedCluster(nodes, params(**changes))


def check_room(world, share):
    """No node is promised beyond its share, in integers."""
    nodes = {node.name: node for node in world.store.snapshot().node_table.nodes}
    used = Counter()
    for plan in world.plans().values():
        for span in plan.spans:
            for slot in range(max(span.first, world.slot), span.last + 1):
                used.update(taken(span.workers, plan.request.worker, slot))
                used.update(taken(span.servers, plan.request.server, slot))
    part = Fraction(share).limit_denominator(1000)
    for (_, node, resource), amount in used.items():
        assert amount <= part * nodes[node].allocatable[resource]


def taken(there, shape, slot):
    return {
        (slot, node, resource): count * amount
        for node, count in there.items()
        for resource, amount in shape.requests
        if resource != "pods"
    }


def disturb(world, event, number):
    """Apply an event to the cluster; nodes in use stay."""
    if event in {"slower", "faster"}:
        for name, plan in world.plans().items():
            done = 0.1 if event == "slower" else 0.95
            if plan.at(world.slot) and name not in world.over:
                world.report(name, done)
    elif event == "node comes":
        world.add(make_node(f"new{number}", cpu="3"))
    elif event == "node shrinks":
        node = world.store.snapshot().node_table.nodes[0]
        world.add(replace(node, allocatable={**node.allocatable, "cpu": 2000}))
    elif event == "node goes":
        room = world.store.snapshot().node_table
        bound = set(world.store.snapshot().bound.values())
        idle = [node for node in room.nodes if node.name not in bound]
        if idle and len(room.nodes) > 1:
            world.remove(idle[0])


def job_row(workers, work, arrives=0, **changes):
    row = {"workers": workers, "extra": 0, "elastic": False, "work": work, "arrives": arrives}
    row |= {"utility": "sigmoid:100,0,2h", "checkpoint": False, "ps": 0, "cpu": "1"}
    return row | changes


MORE_WORKERS_THAN_WORK = [
    *(job_row(1, 1), job_row(1, 1), job_row(1, 1, 2)),
    *(job_row(1, 5, extra=1, elastic=True, utility="sigmoid:50,1,30m"), job_row(2, 1, 1)),
]
"""The last job has two workers and one worker-slot of work: its plan holds more than its work."""
PAUSES = [job_row(1, 1), job_row(1, 1), job_row(2, 7, checkpoint=True)]
"""The last job pauses when its node shrinks, and comes back on two nodes."""
STEADY = ["as planned"] * 6


@settings(max_examples=60)
@example([1, 1], MORE_WORKERS_THAN_WORK, 1.0, Replanning.ADMITTED_FIRST, STEADY)
@example([4, 2], PAUSES, 0.5, Replanning.NEVER, [*STEADY[:4], "node shrinks", "as planned"])
@given(
    cpus, job_lists, shares, st.sampled_from([Replanning.NEVER, Replanning.ADMITTED_FIRST]), events
)
def test_no_node_is_promised_twice_and_no_admitted_job_is_dropped(
    sizes, rows, share, replanning, happens
):
    world = yard_of(sizes, share=share, admission=AdmissionParameters(replanning=replanning))
    world.over = set()
    admitted = {}
    for slot, event in enumerate(happens):
        world.now = START + slot * SLOT
        world.over |= {n for n, p in world.plans().items() if p.spans and p.completion < world.slot}
        world.follow_plans()
        world.add(*(job_of(f"j{i}", row) for i, row in enumerate(rows) if row["arrives"] == slot))
        world.run_pass()
        check_room(world, share)
        world.follow_plans()
        plans = world.plans()
        for name, promise in admitted.items():
            assert plans[name].promise == promise  # still there, and the promise is the first one
        admitted = {name: plan.promise for name, plan in plans.items()}
        disturb(world, event, slot)
        world.run_pass()
        check_room(world, share)
        world.follow_plans()  # a job that must leave its nodes pauses in this slot
        for name in admitted.keys() - world.over:
            plan = world.plans()[name]
            for span in plan.spans:
                workers = sum(span.workers.values())
                assert plan.request.least <= workers <= plan.request.most
                assert sum(span.servers.values()) == plan.request.servers


@settings(max_examples=50)
@given(cpus, job_rows, shares)
def test_in_an_empty_cluster_the_papers_rule_decides(sizes, row, share):
    row = {**row, "elastic": True, "checkpoint": True, "ps": 0, "arrives": 0}
    world = yard_of(sizes, share=share)
    world.add(job_of("a", row))
    look = world.run_pass()
    snapshot, reading = world.store.snapshot(), Reading(world.now, world.now)
    nodes = machines.read_machines(snapshot, world.params.slot_time)
    seen = PricingSession(
        Session(snapshot, reading, world.params), nodes, world.slot, boundary=True
    )
    (one,) = candidates.find_candidates(snapshot, (), History(), world.params.slot_time).offered
    bounds = histories.learned_bounds(History(), {one.owner.uid: one.request}, seen)
    state = admission.empty_state(nodes.cluster, bounds)
    decision = admission.offer(one.schedule_request(seen).job, state, world.params.admission)
    assert decision.admitted == ("a" in world.plans())
    if decision.schedule is not None:
        assert world.counts("a") == decision.schedule.workers.by_slot()
        assert world.plans()["a"].promise == decision.promise + world.slot - 1
        payoff = look.statuses["default/job/a"].payoff
        assert abs(payoff - decision.payoff) <= 1e-9 * decision.schedule.utility


@settings(max_examples=25)
@given(cpus, job_lists, st.lists(st.sampled_from([0.0, 0.0, 0.3]), min_size=5, max_size=5))
def test_a_restarted_extender_decides_the_same(sizes, rows, within):
    world = yard_of(sizes)
    for slot, part in enumerate(within):
        world.now = START + slot * SLOT
        world.follow_plans()
        for moment in {0.0, part}:
            world.now = START + (slot + moment) * SLOT
            if moment == part:
                arriving = [f"j{i}" for i, row in enumerate(rows) if row["arrives"] == slot]
                world.add(*(job_of(name, rows[int(name[1:])]) for name in arriving))
            remembered = world.state
            ours = world.run_pass(apply=False)
            world.state = PricingState()
            others = world.run_pass(apply=False)
            world.state = remembered
            assert others.state.plans == ours.state.plans
            assert {k: s.reason for k, s in others.statuses.items()} == {
                k: s.reason for k, s in ours.statuses.items()
            }
            world.run_pass()
        world.follow_plans()


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(2, 6), job_lists, st.randoms(use_true_random=False))
def test_renaming_equal_nodes_changes_only_names(count, cpu, rows, dice):
    names = [f"n{i}" for i in range(count)]
    others = [f"m{i}" for i in range(count)]
    dice.shuffle(others)
    found = []
    for called in (names, others):
        world = PricedCluster([make_node(name, cpu=str(cpu)) for name in called], params())
        world.add(*(job_of(f"j{i}", {**row, "arrives": 0}) for i, row in enumerate(rows)))
        look = world.run_pass()
        payoffs = {key: round(s.payoff, 9) for key, s in look.statuses.items()}
        found.append(({name: world.counts(name) for name in world.plans()}, payoffs))
    assert found[0] == found[1]


@settings(max_examples=30)
@given(
    st.lists(st.integers(4, 8), min_size=1, max_size=3),
    st.sampled_from([0.25, 0.5]),
    st.lists(st.integers(1, 2), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_jobs_with_and_without_a_utility_do_not_starve_each_other(sizes, share, plain, width):
    """Jobs with a utility come in every slot; some without one wait; each runs one slot."""
    world = yard_of(sizes, share=share)
    assume(any(width <= int(share * cpu) for cpu in sizes))
    waiting = {f"p{i}": members for i, members in enumerate(plain)}
    for name, members in waiting.items():
        assume(members <= max(cpu - int(share * cpu) for cpu in sizes))
        world.add(queued_job(name, members, created_at=START))
    ran, began = set(), set()
    for slot in range(len(waiting) + 2):
        world.now = START + slot * SLOT
        for name in ran & set(waiting):
            world.finish(name)
            del waiting[name]
        world.follow_plans()
        utility = "sigmoid:100,1,2h"
        world.add(priced_job(f"u{slot}", width, work=width, utility=utility, created_at=world.now))
        world.run_pass()
        result = queue_pass(
            world.store.snapshot(), QueueState(), Reading(world.now, world.now), world.params
        )
        due = {n for n, p in world.plans().items() if p.workers_at(world.slot)} - began
        reasons = {entry.job.name: entry.reason for entry in result.entries}
        assert all(reasons[name] is Reason.RELEASING for name in due)
        began |= due
        for gang in result.commands:
            if isinstance(gang, ReleaseGang):
                ran.add(gang.job.rsplit("/", 1)[1])
                for one in gang.pods:
                    pod = world.store.snapshot().pods[one.pod]
                    world.add(replace(pod, gates=(), node_name=one.node, phase="Running"))
    assert set(world.plans()) == {f"u{i}" for i in range(len(plain) + 2)}
    assert {f"p{i}" for i in range(len(plain))} <= ran
    assert "u0" in began
