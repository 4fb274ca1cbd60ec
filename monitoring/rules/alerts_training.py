"""Alerts about agents and migrations."""

from typing import Final

from monitoring.rules.model import Alert, Severity

TRAINING: Final = (
    Alert(
        "ShuntyardAgentsUnheard",
        Severity.WARNING,
        "job:shuntyard_reporting_nodes:unheard_ratio > 0.1",
        "15m",
        "Nothing is heard of {{ $value | humanizePercentage }} of the agents.",
        "Agents are silent or were never there. Nothing is known of the training on their nodes, "
        "and no job is moved from them or to them.",
    ),
    Alert(
        "ShuntyardAgentsRefused",
        Severity.WARNING,
        "sum by (job, verdict) (increase(shuntyard_token_reviews_total"
        '{verdict=~"unauthenticated|forbidden"}[15m])) > 10',
        "15m",
        "{{ $value }} tokens of agents were found {{ $labels.verdict }} in a quarter of an hour.",
        "Somebody reports with a token that is not good, or is no agent's. It may be an agent with "
        "a wrong audience or account, or somebody who should not be there.",
    ),
    Alert(
        "ShuntyardAgentHangs",
        Severity.WARNING,
        "shuntyard_agent_hanging_seconds > 60",
        "5m",
        "The agent at {{ $labels.instance }} has been reading for {{ $value }} s.",
        "An agent's reading of files does not come back, as a rule because the shared volume "
        "hangs. It reports, but knows nothing new of training.",
    ),
    Alert(
        "ShuntyardAgentDropsEvents",
        Severity.INFO,
        "delta(shuntyard_agent_dropped_events[1h]) > 0",
        "",
        "The agent at {{ $labels.instance }} dropped events.",
        "No replica took the agent's heartbeats for so long that it had to drop events.",
    ),
    Alert(
        "ShuntyardMigrationsFail",
        Severity.WARNING,
        'sum by (job) (increase(shuntyard_migrations_total{outcome="failed"}[1h])) > 0',
        "",
        "Migrations failed in the last hour: {{ $value }}.",
        "Pods were evicted for a migration and did not come back as planned. Their owners go on "
        "by themselves, but the jobs may stand still.",
    ),
    Alert(
        "ShuntyardMigrationsAborted",
        Severity.INFO,
        'sum by (job) (increase(shuntyard_migrations_total{outcome="aborted"}[1h])) > 5',
        "",
        "Migrations were aborted in the last hour: {{ $value }}.",
        "Migrations were given up before anything was evicted, as a rule because trainers did not "
        "answer in time. Nothing is lost but the effort.",
    ),
    Alert(
        "ShuntyardMigrationsLoseSteps",
        Severity.WARNING,
        "sum by (job) (increase(shuntyard_migration_lost_steps_total[1h])) > 0",
        "",
        "Migrations of the last hour lost {{ $value }} training steps.",
        "A job resumed before the step of its acknowledged checkpoint: the trainer did not load "
        "what it had saved.",
    ),
    Alert(
        "ShuntyardRescalesAborted",
        Severity.INFO,
        'sum by (job) (increase(shuntyard_rescales_total{outcome="Aborted"}[1h])) > 5',
        "",
        "Changes of workers were given up in the last hour: {{ $value }}.",
        "Elastic jobs were to give up workers or to get more, and it was given up: their trainers "
        "did not save in time, or there was no room for new workers.",
    ),
    Alert(
        "ShuntyardPromisesBroken",
        Severity.WARNING,
        'sum by (job) (increase(shuntyard_promises_total{promise="broken"}[6h])) > 0',
        "",
        "Promises of slots that were not kept in six hours: {{ $value }}.",
        "Jobs that were admitted by price ended later than the slot that was promised, or lost "
        "their place. What they are worth to their owners may be gone.",
    ),
    Alert(
        "ShuntyardMigrationStuck",
        Severity.WARNING,
        "max by (job) (shuntyard_migrating_jobs) > 0 "
        "unless sum by (job) (increase(shuntyard_migration_phase_duration_seconds_count[1h])) > 0",
        "1h",
        "Open migrations that have not gone a phase further for an hour: {{ $value }}.",
        "Migrations are open and nothing happens to them. Each phase has a deadline, so this does "
        "not happen unless the migration loop is in trouble.",
    ),
)
