"""Laws of elasticity on the live snapshot, on small random clusters."""

import dataclasses
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from extender.core.cluster import job_views
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading, Session
from extender.core.elastic import proposals
from extender.core.elastic.elastic_jobs import elastic_job
from extender.core.elastic.measured_speeds import Sample, Samples, SpeedMemory
from extender.core.elastic.scaling_values import freed
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.elastic import RescaleParameters, ScalingParameters
from extender.core.queue.state import QueueState
from extender.core.records.rescale import Cause
from shared import labels
from shared.model import Upsert
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of
from tests.unit.core.elastic.elastic_cluster import key_of, more_workers, owner_of, running, waiting
from tests.unit.core.elastic.elastic_world import Spec, World

NOW = 1000.0
NODES = ("a", "b", "c")


@dataclass(frozen=True)
class Case:
    """Nodes with just the room for their pods, and a little more."""

    nodes: dict
    entities: list
    reports: list
    speeds: SpeedMemory
    params: CoreParameters

    def store(self, entities=None):
        nodes = [make_node(name, cpu=str(cpu)) for name, cpu in self.nodes.items()]
        store = store_of(nodes, *(self.entities if entities is None else entities))
        for report in self.reports:
            store.report(report)
        return store

    def proposals(self, snapshot):
        session = Session(snapshot, Reading(NOW, NOW), self.params)
        return proposals.drs_proposals(session, self.speeds)

    def cycle(self, snapshot):
        return queue_pass(snapshot, QueueState(), Reading(NOW, NOW), self.params)


PARAMS = st.builds(
    CoreParameters,
    scaling=st.builds(
        ScalingParameters,
        marginal_gain=st.booleans(),
        start_with_fewer=st.booleans(),
        starvation_seconds=st.sampled_from([None, 60.0]),
        reserve=st.booleans(),
    ),
)


@st.composite
def cases(draw):
    nodes = {n: draw(st.sampled_from([0, 0, 1, 3])) for n in NODES[: draw(st.integers(1, 3))]}
    entities, by_node, samples = [], {n: [] for n in nodes}, {}
    for name in "vwx"[: draw(st.integers(1, 3))]:
        cpu = draw(st.sampled_from([1, 2]))
        at = draw(st.lists(st.sampled_from(sorted(nodes)), min_size=1, max_size=4))
        least = draw(st.integers(1, len(at)))
        most = len(at) + draw(st.integers(0, 3))
        pod = {"cpu": str(cpu), "priority": draw(st.sampled_from([0, 5]))}
        elastic = draw(st.sampled_from([True, True, False]))
        text = f"{least}..{most}" if elastic else ""
        entities.append(running(name, at, workers=text, pod=pod))
        for node in at:
            nodes[node] += cpu
        if draw(st.booleans()):
            steps = make_pod_report(f"default-{name}-0", step=0, total_steps=1000)
            by_node[at[0]].append(steps)
            samples[key_of(name)] = draw(SPEEDS)
    for name in "st"[: draw(st.integers(0, 2))]:
        size = draw(st.integers(1, 4))
        least = draw(st.integers(1, size))
        text = f"{least}..{size + 1}" if draw(st.booleans()) else ""
        pod = {
            "cpu": draw(st.sampled_from(["1", "2"])),
            "priority": draw(st.sampled_from([0, 5, 9])),
        }
        at = draw(st.sampled_from([NOW - 100.0, NOW - 10.0]))
        wait = draw(st.sampled_from([{}, {labels.MAX_WAIT: "50s"}]))
        entities.append(waiting(name, size, workers=text, at=at, notes=wait, pod=pod))
    reports = [make_report(node, pods, received_at=NOW) for node, pods in by_node.items()]
    return Case(nodes, entities, reports, SpeedMemory(samples=samples), draw(PARAMS))


def _samples(*seconds):
    return Samples(tuple(Sample(w, 0, (s, s)) for w, s in seconds))


SPEEDS = st.sampled_from(
    [
        _samples((1, 5.0), (2, 3.0), (4, 2.0)),
        _samples((1, 3.0), (2, 4.0), (4, 6.0)),
        _samples((1, 9.0), (2, 5.0), (3, 5.0)),
        _samples((2, 5.0)),
    ]
)


def starts(found):
    return [one for one in found if one.starts is not None]


def fits(case, snapshot, key, room):
    job = job_views.view(snapshot, key)
    most = len(job.members)
    counts = range(job.min_available, most + 1)
    return any(proposals.placed(job, count, room, case.params) for count in counts)


@given(cases())
def test_shrinking_frees_just_enough_for_the_job_that_starts(case) -> None:
    snapshot = case.store().snapshot()
    found = starts(case.proposals(snapshot))
    if not found:
        return
    (starter,) = {one.starts for one in found}
    room = snapshot.node_table
    assert not fits(case, snapshot, starter, room)
    for one in found:
        here = elastic_job(snapshot, one.job)
        for member in here.workers[: here.number - one.to]:
            room = freed(room, member.shape, room.index[member.node])
    assert fits(case, snapshot, starter, room)


@given(cases())
def test_no_job_as_important_is_shrunk_but_for_a_starving_one(case) -> None:
    snapshot = case.store().snapshot()
    value = {key: max(p.priority for p in pods) for key, pods in snapshot.jobs.items()}
    for one in starts(case.proposals(snapshot)):
        if one.cause is Cause.MORE_IMPORTANT:
            assert value[one.job] < value[one.starts]
        else:
            assert one.cause is Cause.STARVING
            assert case.params.scaling.starvation_seconds is not None


@given(cases())
def test_every_number_is_within_its_range_and_another_one(case) -> None:
    snapshot = case.store().snapshot()
    found = case.proposals(snapshot)
    assert len({one.job for one in found}) == len(found)
    for one in found:
        here = elastic_job(snapshot, one.job)
        assert here.least <= one.to <= here.most
        assert one.to != here.number
        assert (one.to > here.number) == (one.cause in {Cause.SAVES_TIME, Cause.ROOM_LEFT})


@given(cases())
def test_growth_never_delays_a_job_that_could_start_now(case) -> None:
    """The cycle releases the same jobs, with the same pods, whether others have grown or not."""
    store = case.store()
    snapshot = store.snapshot()
    before = released(case, snapshot)
    found = [one for one in case.proposals(snapshot) if one.to > len(snapshot.jobs[one.job])]
    for one in found:
        _grow(store, snapshot, one)
    after = released(case, store.snapshot())
    grown = {one.job for one in found}
    assert after.keys() == before.keys() | grown  # those that grow find room too
    assert {job: reservations for job, reservations in after.items() if job not in grown} == before
    holders = [case.cycle(one).backfill_head for one in (snapshot, store.snapshot())]
    assert len({one and (one.job, one.starts_at, one.waits_for) for one in holders}) == 1


def released(case, snapshot):
    commands = case.cycle(snapshot).commands
    gangs = (one for one in commands if isinstance(one, ReleaseGang))
    return {one.job: {pod.pod: pod.node for pod in one.pods} for one in gangs}


def _grow(store, snapshot, one):
    pods = snapshot.jobs[one.job]
    cpu = dict(pods[0].shape.requests)["cpu"]
    owner = snapshot.owners.of("default", pods[0].controller)
    bigger = owner_of(owner.name, one.to, workers=owner.annotations[labels.WORKERS])
    store.apply(Upsert(bigger))
    more = {"cpu": f"{cpu}m", "priority": pods[0].priority, "created_at": NOW}
    for pod in more_workers(bigger, range(len(pods), one.to), **more):
        store.apply(Upsert(pod))


@given(st.data(), cases())
def test_the_order_of_the_input_changes_no_decision(data, case) -> None:
    found = case.proposals(case.store().snapshot())
    shuffled = data.draw(st.permutations(case.entities))
    assert case.proposals(case.store(shuffled).snapshot()) == found
    snapshot = case.store().snapshot()
    assert case.proposals(snapshot) == case.proposals(snapshot) == found


SOME = st.integers(1, 2)


@st.composite
def worlds(draw):
    """Jobs that come one after the other to a cluster that soon is full; all of them end."""
    nodes = [make_node(n, cpu=str(draw(st.integers(3, 4)))) for n in NODES[: draw(SOME)]]
    specs = []
    for i, name in enumerate("vwxyz"[: draw(st.integers(2, 5))]):
        workers = draw(st.integers(1, 3))
        specs.append(
            Spec(
                name,
                workers,
                draw(st.sampled_from([0, 1, 1, 1, workers])),
                workers + draw(st.integers(0, 3)),
                cpu=draw(st.sampled_from(["1", "1", "2"])),
                priority=draw(st.sampled_from([0, 5, 9])),
                comes_at=40.0 * i * draw(st.integers(0, 1)),
                lasts=draw(st.sampled_from([30.0, 100.0, 300.0])),
            )
        )
    cooldown = draw(st.sampled_from([0.0, 60.0]))
    params = draw(PARAMS)
    return (
        nodes,
        specs,
        dataclasses.replace(params, rescaling=RescaleParameters(cooldown_seconds=cooldown)),
    )


@settings(max_examples=25)
@given(worlds())
def test_every_feasible_gang_runs_and_no_number_leaves_its_range(world) -> None:
    nodes, specs, params = world
    played = World(nodes, specs, params).run(steps=200)
    runs = {spec.name for spec in specs if feasible(nodes, spec, params)}
    assert played.started.keys() == runs
    for spec in specs:
        if spec.least:
            assert all(spec.least <= count <= spec.most for count in played.counts[spec.name])


def feasible(nodes, spec, params):
    alone = dataclasses.replace(spec, comes_at=0.0)
    return spec.name in World(nodes, [alone], params).run(steps=2).started


@settings(max_examples=25)
@given(worlds())
def test_without_events_changes_stop(world) -> None:
    """No job comes or ends: no job yields and gets the same workers forever."""
    nodes, specs, params = world
    stay = [dataclasses.replace(spec, comes_at=0.0, lasts=None) for spec in specs]
    played = World(nodes, stay, params).run(steps=60)
    changes = {name: list(counts) for name, counts in played.counts.items()}
    assert played.run(steps=60).counts == changes
