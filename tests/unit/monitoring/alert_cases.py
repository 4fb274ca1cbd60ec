"""For each alert: series that make it fire, and similar series that do not.

Values are promtool's: ``0+5x30`` is 0 and thirty times 5 more, one each minute.
"""

from dataclasses import dataclass
from typing import Final

JOB: Final = 'job="shuntyard-extender", instance="a"'
OTHER: Final = 'job="shuntyard-extender", instance="b"'
AGENT: Final = 'job="shuntyard-agent", instance="n1"'
EXTENDER: Final = {"job": "shuntyard-extender"}

Series = dict[str, str]


@dataclass(frozen=True)
class Case:
    """When an alert fires, and when it does not.

    Attributes:
        labels: Of the alert that fires, without alertname and severity.
        summary: The summary.
        at: When one looks.
    """

    fires: Series
    quiet: Series
    labels: dict[str, str]
    summary: str
    at: str = "90m"


def _histogram(name: str, labels: str, slow: str, fast: str, edge: str, most: str) -> Series:
    """Return a histogram of three buckets: up to the edge, up to the most, all."""
    return {
        f'{name}_bucket{{{labels}, le="{edge}"}}': fast,
        f'{name}_bucket{{{labels}, le="{most}"}}': slow,
        f'{name}_bucket{{{labels}, le="+Inf"}}': slow,
    }


ALIVE: Final = {
    "ShuntyardAbsent": Case(
        fires={f"up{{{JOB}}}": "0x120"},
        quiet={f"shuntyard_acting{{{JOB}}}": "0x120"},
        labels={},
        summary="Prometheus sees no extender of Shuntyard.",
    ),
    "ShuntyardNoLeader": Case(
        fires={f"shuntyard_acting{{{JOB}}}": "0x120", f"shuntyard_acting{{{OTHER}}}": "0x120"},
        quiet={f"shuntyard_acting{{{JOB}}}": "0x120", f"shuntyard_acting{{{OTHER}}}": "1x120"},
        labels=EXTENDER,
        summary="shuntyard-extender has no leader.",
    ),
    "ShuntyardSeveralLeaders": Case(
        fires={f"shuntyard_acting{{{JOB}}}": "1x120", f"shuntyard_acting{{{OTHER}}}": "1x120"},
        quiet={f"shuntyard_acting{{{JOB}}}": "1x120", f"shuntyard_acting{{{OTHER}}}": "0x120"},
        labels=EXTENDER,
        summary="shuntyard-extender has 2 leaders.",
    ),
    "ShuntyardTargetDown": Case(
        fires={f"up{{{JOB}}}": "0x120"},
        quiet={f"up{{{JOB}}}": "1x85 0x5 1x30", 'up{job="other", instance="a"}': "0x120"},
        labels={**EXTENDER, "instance": "a"},
        summary="a of shuntyard-extender cannot be scraped.",
    ),
    "ShuntyardLoopSilent": Case(
        fires={f'shuntyard_loop_silence_seconds{{{JOB}, loop="bind"}}': "40x120"},
        quiet={f'shuntyard_loop_silence_seconds{{{JOB}, loop="bind"}}': "20x120"},
        labels={**EXTENDER, "instance": "a", "loop": "bind"},
        summary="Loop bind of a has been silent for 40 s.",
    ),
    "ShuntyardLoopLag": Case(
        fires=_histogram("shuntyard_loop_lag_seconds", JOB, "0+60x120", "0+50x120", "0.5", "1.0"),
        quiet=_histogram("shuntyard_loop_lag_seconds", JOB, "0+60x120", "0+60x120", "0.5", "1.0"),
        labels=EXTENDER,
        summary="The event loop of shuntyard-extender is 0.97 s late.",
    ),
    "ShuntyardWatchSilent": Case(
        fires={f'shuntyard_watch_last_event_age_seconds{{{JOB}, source="Pod"}}': "0+60x120"},
        quiet={f'shuntyard_watch_last_event_age_seconds{{{JOB}, source="Pod"}}': "70x120"},
        labels={**EXTENDER, "instance": "a", "source": "Pod"},
        summary="a has received no event of Pod for 5400 s.",
    ),
    "ShuntyardRelistsOften": Case(
        fires={f'shuntyard_watch_relists_total{{{JOB}, source="Pod", reason="gone"}}': "0+1x120"},
        quiet={f'shuntyard_watch_relists_total{{{JOB}, source="Pod", reason="gone"}}': "7x120"},
        labels={**EXTENDER, "source": "Pod"},
        summary="Pod was listed again 60 times in an hour.",
    ),
    "ShuntyardConnectionsCrowded": Case(
        fires={
            f'shuntyard_connections_ended_total{{{JOB}, listener="agents", why="crowded"}}': (
                "0+6x120"
            )
        },
        quiet={
            f'shuntyard_connections_ended_total{{{JOB}, listener="agents", why="crowded"}}': (
                "0x80 5x40"
            ),
            f'shuntyard_connections_ended_total{{{JOB}, listener="agents", why="late"}}': "0+6x120",
        },
        labels={**EXTENDER, "instance": "a", "listener": "agents"},
        summary="The listener agents of a has too many connections.",
    ),
    "ShuntyardObjectsSkipped": Case(
        fires={f"shuntyard_skipped_objects_total{{{JOB}}}": "0x80 1x40"},
        quiet={f"shuntyard_skipped_objects_total{{{JOB}}}": "5x120"},
        labels={**EXTENDER, "instance": "a"},
        summary="a skipped objects that it could not read.",
    ),
    "ShuntyardDecisionLogIncomplete": Case(
        fires={f'shuntyard_decision_log_dropped_total{{{JOB}, why="disk"}}': "0+1x120"},
        quiet={f'shuntyard_decision_log_dropped_total{{{JOB}, why="disk"}}': "5x120"},
        labels={**EXTENDER, "instance": "a", "why": "disk"},
        summary="The decision log of a lacks 15 records: disk.",
    ),
}
_VERB: Final = f'{JOB}, verb="filter"'
_DURATION: Final = "shuntyard_request_duration_seconds"
_CYCLE: Final = "shuntyard_cycle_duration_seconds"
SCHEDULING: Final = {
    "ShuntyardRequestsFail": Case(
        fires={
            f'shuntyard_requests_total{{{JOB}, outcome="ok"}}': "0+90x120",
            f'shuntyard_requests_total{{{JOB}, outcome="fault"}}': "0+10x120",
        },
        quiet={
            f'shuntyard_requests_total{{{JOB}, outcome="ok"}}': "0+9000x120",
            f'shuntyard_requests_total{{{JOB}, outcome="fault"}}': "0+10x120",
        },
        labels=EXTENDER,
        summary="10% of the requests to shuntyard-extender fail.",
    ),
    "ShuntyardAnswersSlow": Case(
        fires=_histogram(_DURATION, _VERB, "0+60x120", "0+50x120", "1.0", "2.5"),
        quiet={
            **_histogram(_DURATION, _VERB, "0+60x120", "0+60x120", "1.0", "2.5"),
            **_histogram(_DURATION, f'{JOB}, verb="bind"', "0+60x120", "0+50x120", "1.0", "2.5"),
        },
        labels={**EXTENDER, "verb": "filter"},
        summary="Answers to filter take 2.41 s.",
    ),
    "ShuntyardCycleSlow": Case(
        fires=_histogram(_CYCLE, JOB, "0+60x120", "0+10x120", "1.0", "2.5"),
        quiet=_histogram(_CYCLE, JOB, "0+60x120", "0+60x120", "1.0", "2.5"),
        labels=EXTENDER,
        summary="A scheduling cycle takes 2.482 s.",
    ),
    "ShuntyardGangsIncomplete": Case(
        fires={f"shuntyard_bind_timeouts_total{{{JOB}}}": "0+2x120"},
        quiet={f"shuntyard_bind_timeouts_total{{{JOB}}}": "0+1x120"},
        labels=EXTENDER,
        summary="30 bind calls ended without their gang in a quarter of an hour.",
    ),
    "ShuntyardBindingsFail": Case(
        fires={f'shuntyard_bindings_total{{{JOB}, outcome="failed"}}': "0+1x120"},
        quiet={
            f'shuntyard_bindings_total{{{JOB}, outcome="failed"}}': "3x120",
            f'shuntyard_bindings_total{{{JOB}, outcome="bound"}}': "0+9x120",
        },
        labels=EXTENDER,
        summary="15 Bindings failed in a quarter of an hour.",
    ),
    "ShuntyardGangsDissolved": Case(
        fires={f'shuntyard_deletions_total{{{JOB}, cause="partial-gang"}}': "0x80 4x40"},
        quiet={
            f'shuntyard_deletions_total{{{JOB}, cause="partial-gang"}}': "4x120",
            f'shuntyard_deletions_total{{{JOB}, cause="pin-lost"}}': "0+1x120",
        },
        labels=EXTENDER,
        summary="Gangs stayed partial and were dissolved: 4 pods deleted in an hour.",
    ),
    "ShuntyardPinsLost": Case(
        fires={f'shuntyard_deletions_total{{{JOB}, cause="pin-lost"}}': "0+1x120"},
        quiet={f'shuntyard_deletions_total{{{JOB}, cause="pin-lost"}}': "0x80 3x40"},
        labels=EXTENDER,
        summary="60 released pods lost all nodes they were pinned to, in an hour.",
    ),
    "ShuntyardWritesRefused": Case(
        fires={
            f'shuntyard_writes_total{{{JOB}, outcome="done"}}': "0+5x120",
            f'shuntyard_writes_total{{{JOB}, outcome="refused"}}': "0+5x120",
        },
        quiet={
            f'shuntyard_writes_total{{{JOB}, outcome="done"}}': "0+50x120",
            f'shuntyard_writes_total{{{JOB}, outcome="refused"}}': "0+5x120",
        },
        labels=EXTENDER,
        summary="50% of the writes of shuntyard-extender are refused.",
    ),
    "ShuntyardMaxWaitMissed": Case(
        fires={f"shuntyard_max_wait_left_seconds{{{JOB}}}": "-30x120"},
        quiet={f"shuntyard_max_wait_left_seconds{{{JOB}}}": "30x120"},
        labels=EXTENDER,
        summary="A job waits beyond its maximum wait: -30 s are left of it.",
    ),
    "ShuntyardJobsWaitTooLong": Case(
        fires={f"shuntyard_longest_wait_seconds{{{JOB}}}": "90000x120"},
        quiet={f"shuntyard_longest_wait_seconds{{{JOB}}}": "80000x120"},
        labels=EXTENDER,
        summary="A job has waited for 1d 1h 0m 0s.",
    ),
    "ShuntyardJobsMisconfigured": Case(
        fires={f'shuntyard_waiting_jobs{{{JOB}, reason="GangSizeUnknown"}}': "2x120"},
        quiet={
            f'shuntyard_waiting_jobs{{{JOB}, reason="GangSizeUnknown"}}': "0x120",
            f'shuntyard_waiting_jobs{{{JOB}, reason="GangDoesNotFit"}}': "9x120",
        },
        labels={**EXTENDER, "reason": "GangSizeUnknown"},
        summary="Jobs wait with GangSizeUnknown: 2.",
    ),
}
_NODES: Final = "shuntyard_reporting_nodes"
_PHASES: Final = "shuntyard_migration_phase_duration_seconds_count"
TRAINING: Final = {
    "ShuntyardAgentsSilent": Case(
        fires={
            f'{_NODES}{{{JOB}, state="fresh"}}': "8x120",
            f'{_NODES}{{{JOB}, state="silent"}}': "1x120",
            f'{_NODES}{{{JOB}, state="stale"}}': "1x120",
        },
        quiet={
            f'{_NODES}{{{JOB}, state="fresh"}}': "98x120",
            f'{_NODES}{{{JOB}, state="silent"}}': "1x120",
            f'{_NODES}{{{JOB}, state="stale"}}': "1x120",
        },
        labels=EXTENDER,
        summary="20% of the agents do not report.",
    ),
    "ShuntyardAgentsRefused": Case(
        fires={f'shuntyard_token_reviews_total{{{JOB}, verdict="forbidden"}}': "0+1x120"},
        quiet={
            f'shuntyard_token_reviews_total{{{JOB}, verdict="forbidden"}}': "2x120",
            f'shuntyard_token_reviews_total{{{JOB}, verdict="accepted"}}': "0+9x120",
        },
        labels={**EXTENDER, "verdict": "forbidden"},
        summary="15 tokens of agents were found forbidden in a quarter of an hour.",
    ),
    "ShuntyardAgentHangs": Case(
        fires={f"shuntyard_agent_hanging_seconds{{{AGENT}}}": "0+60x120"},
        quiet={f"shuntyard_agent_hanging_seconds{{{AGENT}}}": "0x120"},
        labels={"job": "shuntyard-agent", "instance": "n1"},
        summary="The agent at n1 has been reading for 5400 s.",
    ),
    "ShuntyardAgentDropsEvents": Case(
        fires={f"shuntyard_agent_dropped_events{{{AGENT}}}": "0x80 12x40"},
        quiet={f"shuntyard_agent_dropped_events{{{AGENT}}}": "12x120"},
        labels={"job": "shuntyard-agent", "instance": "n1"},
        summary="The agent at n1 dropped events.",
    ),
    "ShuntyardTrainingHangs": Case(
        fires={f'shuntyard_training_fault_jobs{{{JOB}, kind="Hung"}}': "0x20 2x100"},
        quiet={f'shuntyard_training_fault_jobs{{{JOB}, kind="Diverged"}}': "1x120"},
        labels=EXTENDER,
        summary="Jobs whose training hangs: 2.",
    ),
    "ShuntyardMigrationsFail": Case(
        fires={f'shuntyard_migrations_total{{{JOB}, outcome="failed"}}': "0x80 1x40"},
        quiet={f'shuntyard_migrations_total{{{JOB}, outcome="completed"}}': "0+1x120"},
        labels=EXTENDER,
        summary="Migrations failed in the last hour: 1.",
    ),
    "ShuntyardMigrationsAborted": Case(
        fires={f'shuntyard_migrations_total{{{JOB}, outcome="aborted"}}': "0+1x120"},
        quiet={f'shuntyard_migrations_total{{{JOB}, outcome="aborted"}}': "0x80 2x40"},
        labels=EXTENDER,
        summary="Migrations were aborted in the last hour: 60.",
    ),
    "ShuntyardMigrationsLoseSteps": Case(
        fires={f"shuntyard_migration_lost_steps_total{{{JOB}}}": "0x80 50x40"},
        quiet={
            f"shuntyard_migration_lost_steps_total{{{JOB}}}": "50x120",
            f"shuntyard_migration_kept_steps_total{{{JOB}}}": "0+90x120",
        },
        labels=EXTENDER,
        summary="Migrations of the last hour lost 50 training steps.",
    ),
    "ShuntyardRescalesAborted": Case(
        fires={f'shuntyard_rescales_total{{{JOB}, outcome="Aborted"}}': "0+1x120"},
        quiet={
            f'shuntyard_rescales_total{{{JOB}, outcome="Aborted"}}': "0x80 2x40",
            f'shuntyard_rescales_total{{{JOB}, outcome="Done"}}': "0+1x120",
        },
        labels=EXTENDER,
        summary="Changes of workers were given up in the last hour: 60.",
    ),
    "ShuntyardParkingsAborted": Case(
        fires={f'shuntyard_parkings_total{{{JOB}, outcome="Aborted"}}': "0+1x120"},
        quiet={
            f'shuntyard_parkings_total{{{JOB}, outcome="Aborted"}}': "0x80 2x40",
            f'shuntyard_parkings_total{{{JOB}, outcome="Resumed"}}': "0+1x120",
        },
        labels=EXTENDER,
        summary="Parkings were given up in the last hour: 60.",
    ),
    "ShuntyardParkingStuck": Case(
        fires={
            f'shuntyard_parking_jobs{{{JOB}, phase="Resuming"}}': "1x180",
            f"shuntyard_parkings_total{{{JOB}}}": "4x180",
        },
        quiet={
            f'shuntyard_parking_jobs{{{JOB}, phase="Resuming"}}': "1x180",
            f'shuntyard_parking_jobs{{{OTHER}, phase="Parked"}}': "5x180",
            f"shuntyard_parkings_total{{{JOB}}}": "0+1x180",
        },
        labels=EXTENDER,
        summary="Jobs that leave or come back without progress for an hour: 1.",
        at="170m",
    ),
    "ShuntyardParkingsLoseSteps": Case(
        fires={f"shuntyard_parking_lost_steps_total{{{JOB}}}": "0x80 50x40"},
        quiet={f"shuntyard_parking_lost_steps_total{{{JOB}}}": "50x120"},
        labels=EXTENDER,
        summary="Jobs parked in the last hour did 50 training steps again.",
    ),
    "ShuntyardPromisesBroken": Case(
        fires={f'shuntyard_promises_total{{{JOB}, promise="broken"}}': "0x80 1x40"},
        quiet={
            f'shuntyard_promises_total{{{JOB}, promise="broken"}}': "1x120",
            f'shuntyard_promises_total{{{JOB}, promise="kept"}}': "0+1x120",
        },
        labels=EXTENDER,
        summary="Promises of slots that were not kept in six hours: 1.",
    ),
    "ShuntyardMigrationStuck": Case(
        fires={
            f"shuntyard_migrating_jobs{{{JOB}}}": "1x180",
            f'{_PHASES}{{{JOB}, phase="Resuming"}}': "4x180",
        },
        quiet={
            f"shuntyard_migrating_jobs{{{JOB}}}": "1x180",
            f'{_PHASES}{{{JOB}, phase="Resuming"}}': "0+1x180",
        },
        labels=EXTENDER,
        summary="Open migrations without progress for an hour: 1.",
        at="170m",
    ),
}
_DAY: Final = 86400
_LISTENERS: Final = {**EXTENDER, "certificate": "agents"}


def _certificate(left_seconds: int, life_seconds: int, certificate: str = "agents") -> Series:
    """Return what two replicas say of a certificate; the other one has a newer one already."""
    labels = f'certificate="{certificate}"'
    return {
        f"shuntyard_certificate_left_seconds{{{JOB}, {labels}}}": f"{left_seconds}x120",
        f"shuntyard_certificate_life_seconds{{{JOB}, {labels}}}": f"{life_seconds}x120",
        f"shuntyard_certificate_left_seconds{{{OTHER}, {labels}}}": f"{life_seconds}x120",
        f"shuntyard_certificate_life_seconds{{{OTHER}, {labels}}}": f"{life_seconds}x120",
    }


CERTIFICATES: Final = {
    "ShuntyardCertificateExpiresSoon": Case(
        fires=_certificate(14 * _DAY, 90 * _DAY),
        quiet={
            **_certificate(16 * _DAY, 90 * _DAY),
            **_certificate(100 * _DAY, 1825 * _DAY, "authority"),
        },
        labels=_LISTENERS,
        summary="The certificate agents of shuntyard-extender ends in 14d 0h 0m 0s.",
    ),
    "ShuntyardCertificateExpires": Case(
        fires=_certificate(_DAY - 60, 90 * _DAY),
        quiet={
            **_certificate(_DAY + 60, 90 * _DAY),
            **_certificate(_DAY // 2, _DAY, "scheduler"),
        },
        labels=_LISTENERS,
        summary="The certificate agents of shuntyard-extender ends in 23h 59m 0s.",
    ),
    "ShuntyardCertificatesNotIssued": Case(
        fires={f"shuntyard_certificate_failures_total{{{JOB}}}": "0+6x120"},
        quiet={f"shuntyard_certificate_failures_total{{{JOB}}}": "0x80 40x40"},
        labels={**EXTENDER, "instance": "a"},
        summary="a cannot make certificates, or cannot publish its CA.",
    ),
    "ShuntyardCertificateRefused": Case(
        fires={
            f'shuntyard_certificate_renewals_total{{{JOB}, listener="api", outcome="refused"}}': (
                "0+6x120"
            )
        },
        quiet={
            f'shuntyard_certificate_renewals_total{{{JOB}, listener="api", outcome="refused"}}': (
                "0x80 5x40"
            ),
            f'shuntyard_certificate_renewals_total{{{JOB}, listener="api", outcome="renewed"}}': (
                "0+6x120"
            ),
        },
        labels={**EXTENDER, "instance": "a", "listener": "api"},
        summary="The listener api of a cannot use its new files.",
    ),
    "ShuntyardHandshakesFail": Case(
        fires={f'shuntyard_tls_refusals_total{{{JOB}, listener="agents"}}': "0+6x120"},
        quiet={f'shuntyard_tls_refusals_total{{{JOB}, listener="agents"}}': "0+1x120"},
        labels={**EXTENDER, "listener": "agents"},
        summary="The listener agents of shuntyard-extender refuses 0.1 handshakes a second.",
    ),
}
CASES: Final = {**ALIVE, **SCHEDULING, **TRAINING, **CERTIFICATES}
