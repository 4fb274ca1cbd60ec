"""Clusters with jobs that may be moved, and one migration pass over them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration.commands import CreateMigration
from extender.core.migration.decision import (
    MIGRATION,
    MigrationOutcome,
    MigrationState,
    MigrationTrigger,
)
from extender.core.parameters.agents import AgentReportParameters
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.migration import (
    MigrationParameters,
    RebalanceParameters,
    RebalanceWhen,
)
from extender.core.parameters.placement import TopologyParameters
from shared import labels
from shared.model import Entity, JobState, Migration, Owner
from shared.model import MigrationPhase as P
from shared.progress import Category, Checkpoint, PodReport, Span, Use
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.migrations import make_migration
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

NOW = 1000.0
MONOTONIC = 50.0
DEFAULT_TOPOLOGY = TopologyParameters()
PC, WC, CC = Category.PROGRESSING, Category.WATCHING, Category.CONVERGED
ALGORITHM_2 = MigrationParameters(rebalance=RebalanceParameters(when=RebalanceWhen.NEVER))
"""Without rebalancing."""
CROWD = {"a": ["m:CC", "f1", "f2"], "b": [], "c": []}
"""A converged job with two fast peers, and two empty nodes."""


@dataclass
class Train:
    """A job of one pod that trains; the pod has the name of the job.

    Attributes:
        category: None if the agent reads no metric of it.
        annotations: Of its pod; opted in by default.
    """

    name: str
    category: Category | None = PC
    owner: Owner | None = None
    remaining_seconds: float | None = 10_000.0
    annotations: Mapping[str, str] = field(default_factory=lambda: {labels.CHECKPOINT: ""})
    checkpoint: Checkpoint | None = field(default_factory=lambda: Checkpoint(save_seconds=1.0))
    converged_at: float = 900.0
    plan: str = "p"
    pod: Mapping[str, Any] = field(default_factory=dict)

    def entity(self, node: str) -> Any:
        defaults = {"owner": self.owner, "plan": self.plan, "annotations": self.annotations}
        return make_pod(self.name, **{"node": node, **defaults, **self.pod})

    @property
    def stamped(self) -> Owner:
        """Its owner, whose pod template has the pod's annotations."""
        assert self.owner is not None
        template = make_owner(template=self.annotations).template
        return replace(self.owner, template=template)

    def report(self) -> PodReport:
        span = None
        if self.remaining_seconds is not None:
            span = Span(self.remaining_seconds, self.remaining_seconds, self.remaining_seconds)
        report = make_pod_report(
            f"default-{self.name}",
            self.category,
            checkpoint=self.checkpoint,
            converged_at=self.converged_at if self.category is CC else None,
            remaining_seconds=span,
        )
        return replace(report, use=Use(cpu_cores=0.1))


def train(spec: str) -> Train:
    """``m:CC`` is the job m, converged; without a category it progresses."""
    name, _, category = spec.partition(":")
    categories = {"": PC, "PC": PC, "WC": WC, "CC": CC, "?": None}
    return Train(name, categories[category])


def job_owner(name: str = "j", *, size: int = 1, **job: Any) -> Owner:
    return replace(make_owner(name, size=size), job=JobState(**{"failures_left": 6, **job}))


def cluster_of(
    nodes: Mapping[str, Sequence[str | Train]],
    *more: Entity,
    silent: Iterable[str] = (),
    busy: Iterable[str] | None = None,
    cpu: str = "4",
) -> Snapshot:
    """Return nodes with jobs that train there; nodes not ``busy`` have spare CPU."""
    jobs = {n: [train(j) if isinstance(j, str) else j for j in here] for n, here in nodes.items()}
    every = [job for here in jobs.values() for job in here]
    owners = {job.owner.uid: job.stamped for job in every if job.owner}
    pods = [job.entity(node) for node, here in jobs.items() for job in here]
    store = store_of([make_node(n, cpu=cpu) for n in nodes], list(owners.values()), pods, more)
    for node, here in jobs.items():
        if node not in silent:
            full = busy is None or node in busy
            store.report(
                make_report(
                    node,
                    [job.report() for job in here],
                    received_at=MONOTONIC,
                    use=Use(cpu_cores=1.0 if here and full else 0.0),
                    cpu_cores=1.0,
                )
            )
    return store.snapshot()


def run_pass(
    snapshot: Snapshot,
    params: MigrationParameters = ALGORITHM_2,
    state: MigrationState | None = None,
    *,
    stale_seconds: float = 30.0,
    topology: TopologyParameters = DEFAULT_TOPOLOGY,
    **trigger: Any,
) -> MigrationOutcome:
    pass_trigger = MigrationTrigger(**{"choose": True, **trigger})
    reports = AgentReportParameters(stale_seconds=stale_seconds)
    parameters = CoreParameters(migration=params, agent_reports=reports, topology=topology)
    session = Session(snapshot, Reading(NOW, MONOTONIC), parameters)
    return MIGRATION.decide(session, state or MigrationState(), pass_trigger)


def created(outcome: MigrationOutcome) -> list[Migration]:
    return [c.migration for c in outcome.commands if isinstance(c, CreateMigration)]


def moves(outcome: MigrationOutcome) -> list[tuple[str, str, str]]:
    """Return pod, source and target of every migration that begins."""
    return [
        (m.pod, m.source, m.target) for migration in created(outcome) for m in migration.members
    ]


def reasons(outcome: MigrationOutcome) -> dict[str, str]:
    """Return why jobs stay, by the job's own name."""
    return {k.rpartition("/")[2]: d.reason for k, d in outcome.state.declined.items()}


def ended(phase: P, *, ended_at: float = NOW - 500, **fields: Any) -> Migration:
    """Return a migration that has ended in the phase."""
    entered = [(P.CHECKPOINTED, ended_at - 20), (phase, ended_at)]
    return make_migration(phase=phase, transitions=entered, **fields)
