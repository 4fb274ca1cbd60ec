"""Alerts about agents, training, migrations and parkings."""

from typing import Final

from monitoring.rules.model import Alert, Severity

TRAINING: Final = (
    Alert(
        "ShuntyardAgentsSilent",
        Severity.WARNING,
        "job:shuntyard_reporting_nodes:silent_ratio > 0.1",
        "15m",
        "{{ $value | humanizePercentage }} of the agents do not report.",
        "Agents stopped reporting or never did. The training on their nodes is unknown, and no job "
        "is moved from or to them.",
    ),
    Alert(
        "ShuntyardAgentsRefused",
        Severity.WARNING,
        "sum by (job, verdict) (increase(shuntyard_token_reviews_total"
        '{verdict=~"unauthenticated|forbidden"}[15m])) > 10',
        "15m",
        "{{ $value }} tokens of agents were found {{ $labels.verdict }} in a quarter of an hour.",
        "Reports came with a token that is invalid or does not belong to an agent: an agent with a "
        "wrong audience or account, or another program.",
    ),
    Alert(
        "ShuntyardAgentHangs",
        Severity.WARNING,
        "shuntyard_agent_hanging_seconds > 60",
        "5m",
        "The agent at {{ $labels.instance }} has been reading for {{ $value }} s.",
        "An agent's read of files does not return, usually because the shared volume hangs. It "
        "reports, but without new data.",
    ),
    Alert(
        "ShuntyardAgentDropsEvents",
        Severity.INFO,
        "delta(shuntyard_agent_dropped_events[1h]) > 0",
        "",
        "The agent at {{ $labels.instance }} dropped events.",
        "No replica accepted the agent's heartbeats for so long that it had to drop events.",
    ),
    Alert(
        "ShuntyardTrainingHangs",
        Severity.WARNING,
        'max by (job) (shuntyard_training_fault_jobs{kind="Hung"}) > 0',
        "5m",
        "Jobs whose training hangs: {{ $value }}.",
        "Pods of a job run, but its training makes no progress and a pod idles. An Event on the "
        "job names the pod and its node.",
    ),
    Alert(
        "ShuntyardMigrationsFail",
        Severity.WARNING,
        'sum by (job) (increase(shuntyard_migrations_total{outcome="failed"}[1h])) > 0',
        "",
        "Migrations failed in the last hour: {{ $value }}.",
        "Pods were evicted for a migration and did not come back as planned. Their owners continue "
        "by themselves, but the jobs may not run.",
    ),
    Alert(
        "ShuntyardMigrationsAborted",
        Severity.INFO,
        'sum by (job) (increase(shuntyard_migrations_total{outcome="aborted"}[1h])) > 5',
        "",
        "Migrations were aborted in the last hour: {{ $value }}.",
        "Migrations were given up before an eviction, usually because trainers did not answer in "
        "time. No work is lost.",
    ),
    Alert(
        "ShuntyardMigrationsLoseSteps",
        Severity.WARNING,
        "sum by (job) (increase(shuntyard_migration_lost_steps_total[1h])) > 0",
        "",
        "Migrations of the last hour lost {{ $value }} training steps.",
        "A job resumed before the step of its acknowledged checkpoint: the trainer did not load "
        "that checkpoint.",
    ),
    Alert(
        "ShuntyardRescalesAborted",
        Severity.INFO,
        'sum by (job) (increase(shuntyard_rescales_total{outcome="Aborted"}[1h])) > 5',
        "",
        "Changes of workers were given up in the last hour: {{ $value }}.",
        "Changes of the workers of elastic jobs were given up: their trainers did not save in "
        "time, or there was no room for new workers.",
    ),
    Alert(
        "ShuntyardParkingsAborted",
        Severity.INFO,
        'sum by (job) (increase(shuntyard_parkings_total{outcome="Aborted"}[1h])) > 5',
        "",
        "Parkings were given up in the last hour: {{ $value }}.",
        "Jobs that were to leave continue: their trainers did not save in time, or another job "
        "that had to leave with them stayed. The jobs that need their room still wait.",
    ),
    Alert(
        "ShuntyardParkingStuck",
        Severity.WARNING,
        'max by (job) (shuntyard_parking_jobs{phase=~"Asked|Suspending|Resuming"}) > 0 '
        "unless sum by (job) (increase(shuntyard_parkings_total[1h])) > 0",
        "1h",
        "Jobs that leave or come back without progress for an hour: {{ $value }}.",
        "A job is asked for a checkpoint, or its pods leave or come back, and nothing proceeds. "
        "Its places stay kept for it.",
    ),
    Alert(
        "ShuntyardParkingsLoseSteps",
        Severity.INFO,
        "sum by (job) (increase(shuntyard_parking_lost_steps_total[1h])) > 0",
        "",
        "Jobs parked in the last hour did {{ $value }} training steps again.",
        "A job resumed before the step at which it was stopped: it has no checkpoint, or its "
        "trainer did not load it.",
    ),
    Alert(
        "ShuntyardPromisesBroken",
        Severity.WARNING,
        'sum by (job) (increase(shuntyard_promises_total{promise="broken"}[6h])) > 0',
        "",
        "Promises of slots that were not kept in six hours: {{ $value }}.",
        "Jobs that were admitted by price ended later than promised, or lost their place. Their "
        "utility may be lost.",
    ),
    Alert(
        "ShuntyardMigrationStuck",
        Severity.WARNING,
        "max by (job) (shuntyard_migrating_jobs) > 0 "
        "unless sum by (job) (increase(shuntyard_migration_phase_duration_seconds_count[1h])) > 0",
        "1h",
        "Open migrations without progress for an hour: {{ $value }}.",
        "Migrations are open and make no progress. Each phase has a deadline, so the migration "
        "loop itself has a problem.",
    ),
)
