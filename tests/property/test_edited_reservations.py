"""Annotations of pods' reservations are edited by a user (defect E4).

The gang ends whole, whichever of them are removed, altered or added, on whichever pods, before or
after the Bindings. With signatures (``checked``) pods come to the core as the shell passes them
after its check; without, the core sees the edited ones.
"""

import dataclasses
from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.scheduler import binding
from shared import labels
from shared.model import Delete, Upsert
from tests.fakes.builders import make_node
from tests.property.test_direct import PARAMS, World, world_of

KEYS = tuple(sorted(labels.RESERVATION))
EDITS = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from([None, "", "x", "n1", "true"]), min_size=1
)
ROUNDS = 30
SECONDS_A_ROUND = 20.0
GATED, DIRECT = True, False


@dataclass(frozen=True)
class Case:
    """A gang, the edits of it, and their time."""

    gated: bool
    edits: dict
    pods: frozenset
    bound: int
    checked: bool
    lost: bool = False


class LooseWorld(World):
    """kube-scheduler also binds pods without a reservation, where filter accepts them."""

    def bind(self, most):
        super().bind(most)
        snapshot = self.store.snapshot()
        nodes = {}
        for pod in snapshot.pods.values():
            if pod.node_name is None and not pod.gates:
                verdict = self._filter(pod)
                self._take_over(pod, verdict)
                nodes |= {pod.uid: verdict.passed[0]} if verdict.passed else {}
        snapshot = self.store.snapshot()
        here = [p for p in snapshot.pods.values() if p.uid in nodes]
        here = [p for p in here if not self._against(snapshot, p, nodes[p.uid])]
        burst = binding.burst(snapshot, here[0], nodes.keys(), PARAMS) if here else None
        due = {*burst.first, *burst.rest} if burst else set()
        for pod in [p for p in here if p.uid in due][:most]:
            notes = {**pod.annotations, **binding.annotations(snapshot, pod, {})}
            node, now = nodes[pod.uid], self.now
            placed = replace(pod, node_name=node, annotations=notes, phase="Running")
            self.store.apply(Upsert(replace(placed, scheduled_at=now)))

    def _against(self, snapshot, pod, node):
        return binding.objection(snapshot, pod.key, pod.uid, node, PARAMS)


CASES = st.builds(
    Case,
    gated=st.booleans(),
    edits=EDITS,
    pods=st.frozensets(st.integers(0, 2), min_size=1),
    bound=st.integers(0, 3),
    checked=st.booleans(),
    lost=st.booleans(),
)


def edited(pod, case):
    notes = {**pod.annotations, **case.edits}
    notes = {key: text for key, text in notes.items() if text is not None}
    if notes == pod.annotations:
        return pod
    if case.checked and pod.node_name is None and not pod.gates:
        notes = {key: text for key, text in notes.items() if key not in labels.RESERVATION}
        return replace(pod, annotations=notes, reservation_refused="not what was signed")
    return replace(pod, annotations=notes)


def released(case):
    """Return a gang of three on two nodes, with its reservations, and some of it bound."""
    simple = world_of([3, 3, 3], [(3, "1", case.gated)])
    world = LooseWorld(simple.gangs, simple.store)
    world.cycle()
    for _ in range(3):
        world.create(0)
    for pod in world.pods() if case.gated else ():  # it waited for a moment, as its status shows
        world.store.apply(Upsert(replace(pod, queued_reason="GangIncomplete")))
    world.cycle()
    world.ask()
    if not case.gated:
        # kube-scheduler called filter, and the queue wrote the reservations
        world.turned_away.update(world.store.snapshot().jobs)
        for key in tuple(world.store.snapshot().placeholders):
            world.store.drop_placeholders(key)
        for uid in world.store.promised():
            world.store.unpromise(uid)
        world.cycle()
    assert len(world.store.snapshot().reservations) == 3
    world.bind(case.bound) if case.bound else None
    return world


def lose_nodes(world):
    """Delete all nodes with the pods bound to them, and add as many others."""
    for i in range(3):
        world.store.apply(Delete("Node", f"n{i}"))
        world.store.apply(Upsert(make_node(f"m{i}", cpu="3")))
    for pod in world.pods():
        if pod.node_name:
            world.store.apply(Delete("Pod", pod.key, pod.uid))


def settle(world: World) -> int:
    """Run cycles, filter and Bindings until nothing is left to do; return how long it took."""
    for done in range(ROUNDS):
        snapshot = world.store.snapshot()
        if any(job_views.view(snapshot, key).placed >= 3 for key in snapshot.jobs):
            return done
        for _ in range(3):
            world.create(0)  # the owner makes what it lacks
        world.now += SECONDS_A_ROUND
        world.cycle()
        world.ask()
        world.bind(9)
    return ROUNDS


@settings(deadline=None)
@given(case=CASES)
@example(Case(GATED, {labels.PLAN: None}, frozenset({1}), 0, checked=False))
@example(Case(GATED, {labels.PLAN: None}, frozenset({1}), 0, checked=False, lost=True))
@example(Case(GATED, {labels.PLAN: None}, frozenset({1}), 0, checked=True, lost=True))
@example(Case(GATED, {labels.PLAN: None}, frozenset({1}), 2, checked=False))
@example(Case(GATED, dict.fromkeys(KEYS), frozenset({0, 1, 2}), 0, checked=False))
@example(Case(GATED, {labels.DIRECT: "true"}, frozenset({1}), 1, checked=False))
@example(Case(GATED, {labels.NODE: "x"}, frozenset({1}), 0, checked=False))
@example(Case(DIRECT, {labels.DIRECT: None}, frozenset({1}), 0, checked=False))
@example(Case(DIRECT, {labels.PLAN: None}, frozenset({1}), 0, checked=False))
def test_a_gang_with_edited_reservations_ends_whole(case):
    world = released(case)
    pods = sorted(world.pods(), key=lambda pod: pod.name)
    for number in case.pods:
        world.store.apply(Upsert(edited(pods[number], case)))
    if case.lost:
        lose_nodes(world)
    assert settle(world) < ROUNDS
    world.store.check_invariants()


@settings(deadline=None)
@given(case=CASES)
def test_no_pod_is_deleted_for_a_reservation_with_a_bad_signature(case):
    case = dataclasses.replace(case, checked=True, lost=False)
    world = released(case)
    pods = sorted(world.pods(), key=lambda pod: pod.name)
    uids = {pod.uid for pod in pods}
    for number in case.pods:
        world.store.apply(Upsert(edited(pods[number], case)))
    settle(world)
    assert {pod.uid for pod in world.pods()} == uids
