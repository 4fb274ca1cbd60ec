"""Two replicas never hold the Lease at once, whatever clocks, pauses and lost answers do."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shared.kube.lease_holding import LeaseCandidate, LeaseTerms, Spec

COUNT = 2
CANDIDATES = st.integers(0, COUNT - 1)
PAUSES = (0.1, 2, 5, 9.4, 10.4, 14.2, 15.1, 15.9, 30)
"""Most of them near an end, on a clock that may go wrong by a twentieth."""
TERMS = LeaseTerms(retry_seconds=2, renew_deadline_seconds=10, duration_seconds=15)


@given(duration=st.floats(1, 600), part=st.floats(0.5, 1, exclude_max=True))
def test_the_duration_in_a_lease_lasts_until_the_holder_has_ended(
    duration: float, part: float
) -> None:
    """A Lease says whole seconds; the settings may have parts of one."""
    terms = LeaseTerms(duration * part / 2, duration * part, duration)
    spec = LeaseCandidate("a_1", terms).next_spec(None, 0.0, 1e9)
    assert spec is not None
    assert spec.lease_duration_seconds is not None
    assert spec.lease_duration_seconds > terms.renew_deadline_seconds


@dataclass
class Machine:
    """A candidate on a machine whose clocks are off, and the write it is about to make."""

    candidate: LeaseCandidate
    rate: float
    epoch_offset: float
    begun: tuple[int, Spec, float] | None = None

    def monotonic(self, time: float) -> float:
        return 1000 + time * self.rate

    def acting(self, time: float) -> bool:
        return self.candidate.acting("", self.monotonic(time))


class Election(RuleBasedStateMachine):
    """A Lease with a version, machines, and one true time that none of them has."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.version, self.spec = 0, None
        self.machines: list[Machine] = []
        self.acted: set[int] = set()

    @initialize(
        rates=st.lists(st.floats(0.95, 1.05), min_size=COUNT, max_size=COUNT),
        offsets=st.lists(st.floats(-1e5, 1e5), min_size=COUNT, max_size=COUNT),
    )
    def machines_start(self, rates: list[float], offsets: list[float]) -> None:
        self.machines = [
            Machine(LeaseCandidate(f"host-{i}", TERMS), rate, offset)
            for i, (rate, offset) in enumerate(zip(rates, offsets, strict=True))
        ]

    @rule(seconds=st.sampled_from(PAUSES))
    def time_passes(self, seconds: float) -> None:
        self.time += seconds

    @rule(which=CANDIDATES)
    def reads(self, which: int) -> None:
        machine = self.machines[which]
        monotonic = machine.monotonic(self.time)
        now = 1e9 + self.time + machine.epoch_offset
        wanted = machine.candidate.next_spec(self.spec, monotonic, now)
        machine.begun = None if wanted is None else (self.version, wanted, monotonic)

    @rule(which=CANDIDATES, answered=st.booleans())
    def writes(self, which: int, answered: bool) -> None:
        """The write may come long after the reading; its answer may be lost."""
        machine, begun = self.machines[which], self.machines[which].begun
        machine.begun = None
        if begun is None or begun[0] != self.version:
            return
        self.version, self.spec = self.version + 1, begun[1]
        if answered:
            machine.candidate.note_written(begun[2])

    @rule(which=CANDIDATES)
    def renews(self, which: int) -> None:
        self.reads(which)
        self.writes(which, answered=True)

    @rule(which=CANDIDATES, seconds=st.sampled_from(PAUSES))
    def waits_for_the_end(self, which: int, seconds: float) -> None:
        """Another candidate may have renewed just before."""
        self.renews(1 - which)
        self.reads(which)
        self.time_passes(seconds)
        self.renews(which)

    @rule(which=CANDIDATES)
    def resigns(self, which: int) -> None:
        """End it; it releases the Lease if it holds it, and restarts on that machine."""
        machine = self.machines[which]
        machine.candidate.resigned = True
        if self.spec is not None and self.spec.holder_identity == machine.candidate.identity:
            released = Spec(holder_identity="", lease_duration_seconds=1, renew_time="z")
            self.version, self.spec = self.version + 1, released
        machine.candidate = LeaseCandidate(f"host-{which}-{self.version}-{self.time}", TERMS)
        machine.begun = None

    @invariant()
    def at_most_one_acts(self) -> None:
        acting = [i for i, one in enumerate(self.machines) if one.acting(self.time)]
        self.acted.update(acting)
        assert len(acting) <= 1


TestElection = Election.TestCase
TestElection.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
