"""A job of several members on nodes of their own, what agents report of it, and passes over it."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session, States
from extender.core.parameters.combined import CoreParameters
from extender.core.training_faults.decision import (
    TRAINING_FAULTS,
    TrainingFaultsOutcome,
    TrainingFaultsState,
    TrainingFaultsTrigger,
)
from extender.store.store import ClusterStore
from shared.model import JobKey, Owner, Pod, Upsert
from shared.progress import Checkpoint, Pace, PodReport, Use
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

KEY: Final = JobKey("default/job/train")
EPOCH_SECONDS: Final = 1_000_000.0
STARTED_SECONDS: Final = 1000.0
PASS_SECONDS: Final = 10.0


class Training:
    """See the module. Rank 0 logs every 4 s; each step takes a second.

    Attributes:
        clock: Seconds since the training began.
        steps: Of each rank; those of ranks that do not log are left out.
        silent_since: When rank 0 logged last, on ``clock``; None: just now.
        idle: Since when ranks idle, on ``clock``.
        changes: Fields of every report of a rank's progress.
        without: Nodes whose agents do not report.
        checkpoint: Of rank 0.
        problem: Of what ranks with values report.
    """

    def __init__(self, ranks: int = 3, owner: Owner | None = None) -> None:
        self.owner = owner or make_owner("train", size=ranks)
        self.pods = [self.pod(rank) for rank in range(ranks)]
        nodes = [make_node(f"n{rank}") for rank in range(ranks)]
        self.store: ClusterStore = store_of(self.owner, self.pods, nodes)
        self.state = TrainingFaultsState()
        self.clock = 0.0
        self.parameters = CoreParameters()
        self.ranks_with_values = {0}
        self.steps: dict[int, int] = {}
        self.silent_since: float | None = None
        self.idle: dict[int, float] = {}
        self.changes: dict[str, Any] = {}
        self.without: set[int] = set()
        self.checkpoint: Checkpoint | None = None
        self.problem = ""

    def pod(self, rank: int, **fields: Any) -> Pod:
        given = {"index": rank, "node": f"n{rank}", "owner": self.owner, **fields}
        return make_pod(f"train-{rank}", **given)

    def put(self, *pods: Pod) -> None:
        for pod in pods:
            self.store.apply(Upsert(pod))

    def run(self, seconds: float = PASS_SECONDS) -> list[TrainingFaultsOutcome]:
        """Let time pass with a pass every ``PASS_SECONDS``, each after reports of all agents."""
        return list(self._passes(seconds))

    def events(self, seconds: float = PASS_SECONDS) -> list[str]:
        """Run, and return the reasons of the Events."""
        return [command.reason for one in self.run(seconds) for command in one.commands]

    def kinds(self) -> list[str]:
        """Return the faults that go on, each with its pod."""
        return [f"{f.kind} {f.pod}" for f in self.state.faults.get(KEY, ())]

    @property
    def session(self) -> Session:
        reading = Reading(EPOCH_SECONDS + self.clock, STARTED_SECONDS + self.clock)
        states = States({TRAINING_FAULTS.name: self.state})
        return Session(self.store.snapshot(), reading, self.parameters, states)

    def _passes(self, seconds: float) -> Iterator[TrainingFaultsOutcome]:
        until = self.clock + seconds
        while self.clock < until:
            self.clock += PASS_SECONDS
            for rank, pod in enumerate(self.pods):
                if rank not in self.without:
                    self._report(rank, pod)
            trigger = TrainingFaultsTrigger()
            outcome = TRAINING_FAULTS.decide(self.session, self.state, trigger)
            self.state = outcome.state
            yield outcome

    def _report(self, rank: int, pod: Pod) -> None:
        """An agent's clock is not ours."""
        offset = 5000.0 * (rank + 1)
        idle = None if rank not in self.idle else self.clock - self.idle[rank]
        use = Use(cpu_cores=1.0, idle_seconds=max(0.0, idle or 0.0))
        report = replace(self._of_pod(rank, pod, offset), use=use)
        sent_at, received_at = offset + self.clock, STARTED_SECONDS + self.clock
        self.store.report(
            make_report(f"n{rank}", [report], received_at=received_at, sent_at=sent_at)
        )

    def _of_pod(self, rank: int, pod: Pod, offset: float) -> PodReport:
        if rank not in self.ranks_with_values:
            return make_pod_report(
                pod.uid, None, problem="1000 lines or more read, no values found"
            )
        moved_at = self.clock if self.silent_since is None else self.silent_since
        pace = Pace(moved_at=offset + moved_at, gaps=50, usual_seconds=4.0, longest_seconds=20.0)
        step = self.steps.get(rank, int(moved_at))
        changes = {"step": step, "pace": pace, **self.changes}
        return make_pod_report(pod.uid, checkpoint=self.checkpoint, problem=self.problem, **changes)
