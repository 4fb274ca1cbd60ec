"""What is counted of migrations when they leave a phase."""

from prometheus_client import CollectorRegistry

from extender.metrics.migration import MigrationMetrics
from extender.metrics.series import Series
from shared.model import Migration, MigrationMember, MigrationPhase, Mover, PodShape, Trigger, Uid

P = MigrationPhase


def migration(phase: MigrationPhase) -> Migration:
    member = MigrationMember(
        pod="a",
        uid=Uid("a"),
        source="n1",
        target="n2",
        shape=PodShape(),
        acked_step=100,
        resumed_step=90,
    )
    return Migration(
        namespace="team",
        name="m",
        uid=Uid("m"),
        job="team/job/a",
        trigger=Trigger.CONVERGED,
        mover=Mover.EVICT,
        gain_seconds=30.0,
        phase=phase,
        transitions=((P.EVICTING, 10.0), (phase, 14.0)),
        members=(member,),
    )


def counted(*phases: MigrationPhase) -> CollectorRegistry:
    registry = CollectorRegistry()
    metrics = MigrationMetrics(Series(registry))
    for phase in phases:
        metrics.observe_phase(migration(phase), P.RESUMING, 3.0)
    return registry


def test_a_completed_one_tells_what_it_cost_and_what_it_kept():
    said = counted(P.COMPLETED).get_sample_value
    ended = {"trigger": "converged", "outcome": "completed"}
    assert said("shuntyard_migrations_total", ended) == 1
    assert said("shuntyard_migration_downtime_seconds_sum") == 4.0
    assert said("shuntyard_migration_expected_gain_seconds_total") == 30.0
    assert said("shuntyard_migration_kept_steps_total") == 90
    assert said("shuntyard_migration_lost_steps_total") == 10
    name = "shuntyard_migration_phase_duration_seconds_sum"
    assert said(name, {"phase": "Resuming"}) == 3.0


def test_one_that_goes_on_or_was_aborted_gains_and_costs_nothing():
    said = counted(P.RECREATING, P.ABORTED).get_sample_value
    assert said("shuntyard_migrations_total", {"trigger": "converged", "outcome": "aborted"}) == 1
    assert said("shuntyard_migration_downtime_seconds_count") == 0
    assert said("shuntyard_migration_expected_gain_seconds_total") == 0
    assert said("shuntyard_migration_kept_steps_total") == 0
