"""Under all events of pods, agents and the extender: every grant is kept, no sum grows."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from extender.core.cpu_shares.state import CpuSharesState
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.cpu_shares import CpuShareParameters
from shared.model import Delete, MigrationPhase, Pod
from shared.objects import pod_cpu
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.cpu_shares.weights import OFF, ON, Yard, training

NAMES = st.sampled_from("uvwxyz")
WORKS = st.dictionaries(NAMES, st.none() | st.floats(0.0, 1e6), max_size=6)
PARAMS = [
    ON,
    CoreParameters(cpu_weights=CpuShareParameters(enabled=True, exponent=0, converged_ratio=0.5)),
    CoreParameters(cpu_weights=CpuShareParameters(enabled=True, exponent=2, floor_milli=300)),
    OFF,
]


class CheckedYard(Yard):
    """Checks the sum at every single write: a crash may come after any."""

    def _resize(self, asked):
        result = super()._resize(asked)
        if asked.raises:
            here = self.pod(asked.pod.split("/")[1]).node_name
            assert self.has(here) <= self.given(here)
        return result

    def alive(self, node) -> list[Pod]:
        pods = self.store.snapshot().pods.values()
        return [p for p in pods if p.node_name == node and not p.finished]

    def has(self, node) -> int:
        return sum(p.cpus[0].request_milli for p in self.alive(node))

    def given(self, node) -> int:
        return sum(original(p) for p in self.alive(node))


def original(pod: Pod) -> int:
    """What the owner asked for: it stands in the shape, which no resize changes."""
    return dict(pod.shape.requests)["cpu"]


class Weights(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.yard = CheckedYard()
        self.serial = 0

    @rule(
        name=NAMES,
        milli=st.integers(1, 4000),
        room=st.none() | st.integers(0, 3000),
        node=st.sampled_from("ab"),
    )
    def a_pod_starts(self, name, milli, room, node) -> None:
        if name not in self.yard.requests():
            self.serial += 1
            limit = None if room is None else milli + room
            pod = training(name, milli, limit=limit, node=node, uid=f"{name}#{self.serial}")
            self.yard.put(pod)

    @rule(name=NAMES, how=st.sampled_from(["finished", "deleting", "gone"]))
    def a_pod_ends(self, name, how) -> None:
        if name in self.yard.requests():
            pod = self.yard.pod(name)
            if how == "gone":
                self.yard.store.apply(Delete("Pod", pod.key, pod.uid))
            elif how == "deleting":
                self.yard.put(replace(pod, deleting=True))
            else:
                self.yard.put(replace(pod, phase="Succeeded"))

    @rule(name=NAMES, reason=st.sampled_from(["", "Deferred", "Infeasible"]))
    def a_node_answers(self, name, reason) -> None:
        if name in self.yard.requests():
            self.yard.put(replace(self.yard.pod(name), resize_pending=reason))

    @rule(name=NAMES, phase=st.sampled_from([MigrationPhase.EVICTING, MigrationPhase.ABORTED]))
    def a_pod_moves_or_stays(self, name, phase) -> None:
        if name in self.yard.requests():
            pod = self.yard.pod(name)
            self.yard.put(make_migration(make_member(pod), name=f"m-{pod.uid}", phase=phase))

    @rule(names=st.sets(NAMES, max_size=2))
    def the_server_refuses(self, names) -> None:
        self.yard.refused = set(names)

    @rule(params=st.sampled_from(PARAMS))
    def the_extender_is_restarted(self, params) -> None:
        self.yard.memory, self.yard.outcomes, self.yard.params = CpuSharesState(), (), params

    @rule(works=WORKS, due=st.booleans(), step=st.integers(0, 210))
    def run_pass(self, works, due, step) -> None:
        self.yard.turn(works, due=due, step=step)

    @rule(seconds=st.sampled_from([1.0, 30.0, 200.0]))
    def time_passes(self, seconds) -> None:
        self.yard.now += seconds

    @precondition(lambda self: self.yard.noted())
    @rule()
    def the_extender_ends_well(self) -> None:
        self.yard.refused = set()
        self.yard.memory, self.yard.outcomes = CpuSharesState(), ()
        for _ in range(4):
            self.yard.turn(None, leaving=True)
        left = [p for p in self._alive() if not p.deleting]
        assert {p.name for p in left} & self.yard.noted() == set()

    @invariant()
    def what_was_given_is_never_lost(self) -> None:
        for pod in self._alive():
            given = pod_cpu.parse_given(pod.annotations)
            if given is None:
                assert pod.cpus[0].request_milli == original(pod)
            else:
                assert given.milli == original(pod)

    @invariant()
    def no_pod_is_below_the_floor_or_changes_class(self) -> None:
        for pod in self._alive():
            cpu = pod.cpus[0]
            assert cpu.request_milli >= min(50, original(pod))
            if cpu.limit_milli is not None and original(pod) < cpu.limit_milli:
                assert cpu.request_milli < cpu.limit_milli

    def _alive(self) -> list[Pod]:
        return [*self.yard.alive("a"), *self.yard.alive("b")]


Weights.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestWeights = Weights.TestCase
