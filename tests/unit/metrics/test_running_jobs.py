"""Metrics of migrations by the phase they left, of changes of workers, and of parkings."""

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from extender.core.elastic.state import Ended, Ending
from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.parking import Cause as ParkingCause
from extender.core.records.parking import Parking
from extender.core.records.parking import Phase as ParkingPhase
from extender.core.records.parking_cost import Cost
from extender.core.records.rescale import Cause, Phase
from extender.metrics.running_jobs import MigrationMetrics, ParkingMetrics, ScalingMetrics
from extender.metrics.series import Series
from shared.model import (
    JobKey,
    Migration,
    MigrationMember,
    MigrationPhase,
    Mover,
    PodShape,
    Trigger,
    Uid,
)
from tests.unit.core.elastic.changing_cluster import rescale

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


def test_a_completed_migration_counts_its_cost_gain_and_steps():
    sample = counted(P.COMPLETED).get_sample_value
    ended = {"trigger": "converged", "outcome": "completed"}
    assert sample("shuntyard_migrations_total", ended) == 1
    assert sample("shuntyard_migration_downtime_seconds_sum") == 4.0
    assert sample("shuntyard_migration_expected_gain_seconds_total") == 30.0
    assert sample("shuntyard_migration_kept_steps_total") == 90
    assert sample("shuntyard_migration_lost_steps_total") == 10
    name = "shuntyard_migration_phase_duration_seconds_sum"
    assert sample(name, {"phase": "Resuming"}) == 3.0


def test_an_open_or_aborted_migration_counts_no_cost_and_no_gain():
    sample = counted(P.RECREATING, P.ABORTED).get_sample_value
    assert sample("shuntyard_migrations_total", {"trigger": "converged", "outcome": "aborted"}) == 1
    assert sample("shuntyard_migration_downtime_seconds_count") == 0
    assert sample("shuntyard_migration_expected_gain_seconds_total") == 0
    assert sample("shuntyard_migration_kept_steps_total") == 0


CHANGES = {
    "shrunk": (4, 2, Ending.DONE, (0, 2)),
    "grown": (2, 5, Ending.DONE, (3, 0)),
    "given back": (2, 5, Ending.WITHDRAWN, (3, 0)),
    "aborted": (4, 2, Ending.ABORTED, (0, 0)),
}


@pytest.mark.parametrize(("before", "to", "outcome", "moved"), CHANGES.values(), ids=CHANGES)
def test_an_ended_change_counts_its_outcome_and_its_workers(
    before: int, to: int, outcome: Ending, moved: tuple[int, int]
) -> None:
    registry = CollectorRegistry()
    metrics = ScalingMetrics(Series(registry))
    change = rescale(Phase.DONE, before, to, cause=Cause.SLOWS)
    metrics.observe(Ended(change, outcome))
    count = registry.get_sample_value(
        "shuntyard_rescales_total", {"cause": "Slows", "outcome": outcome.value}
    )
    assert count == 1.0
    names = ("shuntyard_workers_added_total", "shuntyard_workers_removed_total")
    assert tuple(registry.get_sample_value(n, {"cause": "Slows"}) for n in names) == moved


def test_every_cause_and_outcome_of_a_change_has_a_series_from_the_start() -> None:
    registry = CollectorRegistry()
    ScalingMetrics(Series(registry))
    (family,) = (f for f in registry.collect() if f.name == "shuntyard_rescales")
    series = {(s.labels["cause"], s.labels["outcome"]) for s in family.samples}
    assert series == {(c.value, o.value) for c in Cause for o in Ending}


def test_a_parking_counts_its_save_and_wait_when_it_ends_and_the_restart_once_measured() -> None:
    registry = CollectorRegistry()
    metrics = ParkingMetrics(Series(registry))
    cost = Cost(save_seconds=4.0, stopped_step=90)
    resumed = Parking(
        id="p",
        phase=ParkingPhase.RESUMED,
        cause=ParkingCause.SHARE,
        at=100.0,
        since=260.0,
        job=JobKey("team/job/a"),
        owner=Uid("a"),
        parked_at=110.0,
        resumed_at=250.0,
        cost=cost,
    )
    metrics.observe([resumed], [ParkingPhase.ASKED])
    share = {"cause": "Share"}

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"shuntyard_{name}", {**share, **labels})

    assert value("parkings_total", outcome="Resumed") == 1.0
    assert (value("parking_save_seconds_total"), value("parked_seconds_total")) == (4.0, 140.0)
    assert value("parking_restarts_total") == 0.0
    known = replace(cost, resumed_step=60, restart_seconds=30.0)
    metrics.observe([], [], [replace(resumed, cost=known)])
    assert (value("parking_restarts_total"), value("parking_restart_seconds_total")) == (1.0, 30.0)
    assert value("parking_lost_steps_total") == 30.0
    assert value("parkings_total", outcome="Resumed") == 1.0


def test_budgets_are_counted_and_jobs_without_one_by_the_reason() -> None:
    registry = CollectorRegistry()
    metrics = ParkingMetrics(Series(registry))
    metrics.observe_budgets(3, [NoBudget.NO_LABEL, NoBudget.NO_LABEL])
    assert registry.get_sample_value("shuntyard_drain_budget_jobs") == 3.0
    name = "shuntyard_no_drain_budget_jobs"
    assert registry.get_sample_value(name, {"reason": "NoLabel"}) == 2.0
    assert registry.get_sample_value(name, {"reason": "OtherBudget"}) == 0.0
