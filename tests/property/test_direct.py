"""Laws of direct gangs: arrivals, refusals, broken bursts, restarts; no partial gang at rest.

The model simulates kube-scheduler, the barrier and the API server over the real decisions: filter
with the shell's handling of its grants, cycles with their commands, Bindings one by one.
"""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.commands import (
    ClearReservation,
    DeletePod,
    ReleaseGang,
    RewriteReservation,
)
from extender.core.cluster.jobs import State
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState, turn_away
from extender.core.scheduler import binding, direct_gangs, filtering
from extender.core.scheduler.direct_gangs import QueueView
from extender.store.assumed import Assumption
from extender.store.store import ClusterStore
from shared import labels
from shared.model import Delete, Upsert
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import store_of

PARAMS = CoreParameters(bind_burst_seconds=1, pin_lost_seconds=1, direct_wait_seconds=2)
ROUNDS_TO_REST = 12
GANGS = st.lists(
    st.tuples(st.integers(2, 5), st.sampled_from(["1", "2"]), st.booleans()),
    min_size=1,
    max_size=4,
)
ACTIONS = ["one", "all", "ask", "bind", "cycle", "restart", "fill", "end", "give_up"]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3)), max_size=30)


@dataclass
class World:
    """A cluster, its owners, a kube-scheduler, and the extender through restarts."""

    gangs: list
    store: ClusterStore
    now: float = 0.0
    memory: QueueState = field(default_factory=QueueState)
    last: object = None
    turned_away: set = field(default_factory=set)
    serial: int = 0

    def pods(self):
        return [p for p in self.store.snapshot().pods.values() if p.scheduler_name == "shuntyard"]

    def act(self, action, number):
        gang = number % len(self.gangs)
        if action == "all":
            for _ in range(self.gangs[gang][0]):
                self.create(gang)
        elif action in {"one", "bind"}:
            self.create(gang) if action == "one" else self.bind(1 + number)
        else:
            getattr(self, action)()

    def create(self, number):
        """The owner makes one member that it lacks."""
        size, cpu, gated = self.gangs[number]
        owner = make_owner(f"j{number}", size=size)
        mine = [p for p in self.pods() if p.controller and p.controller.uid == owner.uid]
        if len(mine) < size:
            self.serial += 1
            name = f"j{number}-{self.serial}"
            pod = make_pod(name, owner=owner, cpu=cpu, gated=gated, created_at=self.now)
            self.store.apply(Upsert(pod))

    def ask(self):
        """Call filter for every pod without a node that is not gated, as kube-scheduler does."""
        for pod in sorted(self.pods(), key=lambda p: (p.created_at, p.name)):
            if pod.node_name or pod.gates or pod.deleting:
                continue
            verdict = self._filter(pod)
            self._take_over(pod, verdict)
            self.store.check_invariants()

    def _filter(self, pod):
        snapshot = self.store.snapshot()
        names = tuple(n.name for n in snapshot.node_table.nodes)
        key = next(k for k, pods in snapshot.jobs.items() if any(p.uid == pod.uid for p in pods))
        in_line = key in self.turned_away or key in self.memory.turned_away
        free = self.last is not None and direct_gangs.no_job_lacks_room(self.last.entries)
        may = free and not in_line and not self.turned_away
        may = may and not direct_gangs.has_unviewed(snapshot, self.memory.known)
        occasion = QueueView(may_plan=may, monotonic=self.now)
        verdict = filtering.filter_nodes(snapshot, pod, names, PARAMS, occasion)
        if verdict.nowhere:
            if key in snapshot.placeholders:
                self.store.drop_placeholders(key)
            self.turned_away.add(key)
        return verdict

    def _take_over(self, pod, verdict):
        grant = verdict.grant
        if grant is None:
            return
        if grant.taken:
            self.store.take_placeholder(grant.job, grant.taken, pod.uid, at=self.now)
        if kept := grant.placeholders:
            for one in grant.given:
                self.store.assume(
                    Assumption.promised(
                        one.uid,
                        one.node,
                        plan_of=(kept.plan, kept.plan_size),
                        decision=one.decision,
                        at=self.now,
                    )
                )
            self.store.keep_placeholders(kept)

    def bind(self, most):
        """Every pod accepted by filter has reached bind; at most so many Bindings are written."""
        self.burst(most)
        snapshot = self.store.snapshot()
        arrived = {u for u, s in snapshot.reservations.items() if u not in snapshot.bound}
        for key in sorted(snapshot.waiting):
            here = [p for p in snapshot.jobs[key] if p.uid in arrived and not p.gates]
            here = [p for p in here if not self._objection(snapshot, p)]
            if not here:
                continue
            burst = binding.burst(snapshot, here[0], {p.uid for p in here}, PARAMS)
            due = {*burst.first, *burst.rest} if burst else set()
            for pod in [p for p in here if p.uid in due][:most]:
                notes = {**pod.annotations, **binding.annotations(snapshot, pod, {})}
                self.place(pod, notes)

    def place(self, pod, notes):
        """Write one Binding."""
        node = self.store.snapshot().reservations[pod.uid].node
        shown = {"node_name": node, "annotations": notes, "gates": (), "scheduled_at": self.now}
        self.store.apply(Upsert(replace(pod, phase="Running", **shown)))

    def burst(self, most):
        """Bind members that wait for a burst; of the next one only the gate is removed."""
        snapshot = self.store.snapshot()
        for key in sorted(snapshot.waiting):
            job = job_views.view(snapshot, key)
            due = [m for m in job.having(State.RESERVED) if m.awaits_burst]
            if job.placed + len(job.having(State.RESERVED)) < (job.min_available or 1):
                continue
            if any(self._objection(snapshot, m.pod) or self._crowded(m.node) for m in due):
                continue
            for member in due[:most]:
                notes = binding.annotations(snapshot, member.pod, {})
                self.place(member.pod, {**member.pod.annotations, **notes})
            for member in due[most : most + 1]:
                self.store.apply(Upsert(replace(member.pod, gates=())))

    def _crowded(self, node):
        room = self.store.snapshot().node_table
        return bool((room.free[room.index[node]] < 0).any())

    def give_up(self):
        """No burst came: the members that wait for one go back to the queue."""
        snapshot = self.store.snapshot()
        for pod in self.pods():
            reservation = snapshot.reservations.get(pod.uid)
            if pod.gates and reservation is not None and reservation.promised:
                self.store.unpromise(pod.uid)

    def _objection(self, snapshot, pod):
        node = snapshot.reservations[pod.uid].node
        return binding.objection(snapshot, pod.key, pod.uid, node, PARAMS)

    def cycle(self):
        self.now += 1.0
        for key in direct_gangs.overdue(self.store.snapshot(), self.now, PARAMS):
            self.store.drop_placeholders(key)
        memory = turn_away(self.memory, self.turned_away)
        reading = Reading(self.now, self.now)
        found = queue_pass(self.store.snapshot(), memory, reading, PARAMS, bursts=True)
        self.memory, self.last = found.state, found
        self.turned_away.clear()
        for command in found.commands:
            self._carry_out(command)
        self.store.check_invariants()

    def _carry_out(self, command):
        pods = self.store.snapshot().pods
        if isinstance(command, ReleaseGang) and command.in_burst:
            for one in command.pods:
                plan_of = (one.plan, one.plan_size)
                made = {"plan_of": plan_of, "decision": one.decision, "at": self.now}
                self.store.assume(Assumption.promised(one.uid, one.node, gated=True, **made))
            self.store.apply(Upsert(replace(pods[command.pods[-1].pod], gates=())))
        elif isinstance(command, ReleaseGang):
            for one in command.pods:
                self._write(pods[one.pod], one)
        elif isinstance(command, RewriteReservation):
            self._write(pods[command.pod], command)
        elif isinstance(command, ClearReservation):
            self.store.unpromise(command.uid)
            pod = pods[command.pod]
            kept = {k: v for k, v in pod.annotations.items() if k not in labels.RESERVATION}
            self.store.apply(Upsert(replace(pod, annotations=kept)))
        elif isinstance(command, DeletePod):
            self.store.apply(Delete("Pod", command.pod, command.uid))

    def _write(self, pod, one):
        notes = {labels.NODE: one.node, labels.PLAN: one.plan, labels.PLAN_SIZE: str(one.plan_size)}
        notes |= {labels.DIRECT: "true"} if one.direct else {}
        shape = pod.shape
        if isinstance(one, ReleaseGang) or getattr(one, "terms", None) is not None:
            shape = replace(shape, affinity=one.terms)
        annotations = {**pod.annotations, **notes}
        self.store.apply(Upsert(replace(pod, gates=(), shape=shape, annotations=annotations)))

    def restart(self):
        """Restart: only the objects of the API server remain."""
        content = self.store.export()
        fresh = ClusterStore("shuntyard")
        for entity in content.entities:
            fresh.apply(Upsert(entity))
        self.store, self.memory, self.last = fresh, QueueState(), None
        self.turned_away.clear()

    def fill(self):
        """A foreign pod takes the free room of the first node."""
        room = self.store.snapshot().node_table
        free = int(room.free[0][0])
        if free > 0:
            other = make_pod("x", node=room.nodes[0].name, cpu=f"{free}m", scheduler_name="other")
            self.store.apply(Upsert(other))

    def end(self):
        """The first whole gang ends; the owner has its pods removed."""
        snapshot = self.store.snapshot()
        for key in sorted(snapshot.jobs):
            job = job_views.view(snapshot, key)
            if job.placed >= (job.min_available or 1):
                for pod in snapshot.jobs[key]:
                    self.store.apply(Delete("Pod", pod.key, pod.uid))
                return


def world_of(cpus, gangs):
    nodes = [make_node(f"n{i}", cpu=str(cpu)) for i, cpu in enumerate(cpus)]
    owners = [make_owner(f"j{i}", size=size) for i, (size, _, _) in enumerate(gangs)]
    return World(gangs, store_of(nodes, owners))


CPUS = st.lists(st.integers(2, 8), min_size=1, max_size=3)


@settings(deadline=None)
@given(cpus=CPUS, gangs=GANGS, steps=STEPS)
@example(
    cpus=[4],
    gangs=[(4, "1", False)],
    steps=[("all", 0), ("ask", 0), ("bind", 1), ("restart", 0), ("fill", 0)],
)
def test_no_gang_is_partial_at_rest_after_any_events(cpus, gangs, steps):
    world = world_of(cpus, gangs)
    world.cycle()
    for action, number in steps:
        world.act(action, number)
    for _ in range(ROUNDS_TO_REST):
        world.cycle()
        world.ask()
        world.bind(9)
    snapshot = world.store.snapshot()
    for key in snapshot.jobs:
        job = job_views.view(snapshot, key)
        assert job.placed in {0, *range(job.min_available, 99)}, (key, job.placed)


@settings(deadline=None)
@given(cpus=CPUS, gangs=GANGS, order=st.lists(st.integers(0, 3), max_size=24))
def test_reservations_made_in_answers_never_overcommit_a_node(cpus, gangs, order):
    world = world_of(cpus, gangs)
    world.cycle()
    for number in order:
        world.create(number % len(gangs))
        world.ask()
        world.cycle()
        assert np.all(world.store.snapshot().node_table.free >= 0)


@settings(deadline=None)
@given(cpus=CPUS, gangs=GANGS, order=st.lists(st.integers(0, 3), max_size=24))
def test_a_plan_made_in_an_answer_has_a_reservation_for_every_member(cpus, gangs, order):
    world = world_of(cpus, gangs)
    world.cycle()
    for number in order:
        world.create(number % len(gangs))
        world.ask()
        snapshot = world.store.snapshot()
        for key, kept in snapshot.placeholders.items():
            reserved = [p for p in snapshot.jobs[key] if p.uid in snapshot.reservations]
            size = job_views.view(snapshot, key).min_available
            assert len(reserved) + len(kept.placeholders) >= size
