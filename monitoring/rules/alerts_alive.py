"""Alerts about our processes: are they there, does one decide, do their loops and watches live."""

from typing import Final

from monitoring.rules.model import Alert, Severity

ALIVE: Final = (
    Alert(
        "ShuntyardAbsent",
        Severity.CRITICAL,
        "absent(shuntyard_acting)",
        "5m",
        "No extender of Shuntyard is seen.",
        "Prometheus has no series of any extender: none runs, or none can be scraped. Without an "
        "extender no pod of Shuntyard is released or bound.",
    ),
    Alert(
        "ShuntyardNobodyDecides",
        Severity.CRITICAL,
        "sum by (job) (shuntyard_acting) == 0",
        "2m",
        "No replica of {{ $labels.job }} decides.",
        "Extenders run, but none holds the Lease: kube-scheduler is away, or its Lease cannot be "
        "read. No job is released, none is moved.",
    ),
    Alert(
        "ShuntyardSeveralDecide",
        Severity.CRITICAL,
        "sum by (job) (shuntyard_acting) > 1",
        "1m",
        "{{ $value }} replicas of {{ $labels.job }} decide at once.",
        "More than one extender takes itself for the one that decides. Writes carry preconditions, "
        "so nothing is bound twice; but two orders of the queue are at work.",
    ),
    Alert(
        "ShuntyardTargetDown",
        Severity.WARNING,
        'up{job=~".*shuntyard.*"} == 0',
        "10m",
        "{{ $labels.instance }} of {{ $labels.job }} cannot be scraped.",
        "One replica or one agent does not answer Prometheus. A second replica takes over; without "
        "its agent nothing is known of the training on a node.",
    ),
    Alert(
        "ShuntyardLoopSilent",
        Severity.WARNING,
        "max by (job, instance, loop) (shuntyard_loop_silence_seconds) > 30",
        "1m",
        "Loop {{ $labels.loop }} of {{ $labels.instance }} has been silent for {{ $value }} s.",
        "A loop of an extender gives no sign of life. The liveness probe ends the process when it "
        "lasts; until then what that loop does is not done.",
    ),
    Alert(
        "ShuntyardLoopLag",
        Severity.WARNING,
        "job:shuntyard_loop_lag_seconds:p99 > 0.5",
        "10m",
        "The event loop of {{ $labels.job }} is {{ $value }} s late.",
        "An extender is short of processor time, or something blocks it. Answers to kube-scheduler "
        "come late, and the Lease may be given up.",
    ),
    Alert(
        "ShuntyardWatchSilent",
        Severity.WARNING,
        "max by (job, instance, source) (shuntyard_watch_last_event_age_seconds) > 600",
        "5m",
        "{{ $labels.instance }} has heard nothing of {{ $labels.source }} for {{ $value }} s.",
        "A watch sends a bookmark about once a minute even if nothing happens. One that is silent "
        "is broken, and decisions rest on an old view.",
    ),
    Alert(
        "ShuntyardRelistsOften",
        Severity.INFO,
        "sum by (job, source) (increase(shuntyard_watch_relists_total[1h])) > 30",
        "15m",
        "{{ $labels.source }} was listed anew {{ $value }} times in an hour.",
        "Watches break again and again, and each time everything is listed anew. The API server is "
        "overloaded, or something between it and the extender ends connections.",
    ),
    Alert(
        "ShuntyardConnectionsCrowded",
        Severity.WARNING,
        "sum by (job, instance, listener) "
        '(increase(shuntyard_connections_ended_total{why="crowded"}[15m])) > 5',
        "5m",
        "The listener {{ $labels.listener }} of {{ $labels.instance }} has too many connections.",
        "As many connections are open as may be, and those that ask for nothing are ended for "
        "others: the limit is too small for this cluster, or somebody floods the listener.",
    ),
    Alert(
        "ShuntyardObjectsSkipped",
        Severity.WARNING,
        "increase(shuntyard_skipped_objects_total[1h]) > 0",
        "",
        "{{ $labels.instance }} passed over objects it could not read.",
        "The API server sent objects in a form that the extender does not know. They are as "
        "if they were not there.",
    ),
    Alert(
        "ShuntyardDecisionLogIncomplete",
        Severity.INFO,
        "sum by (job, instance, why) (increase(shuntyard_decision_log_dropped_total[15m])) > 0",
        "5m",
        "The decision log of {{ $labels.instance }} lacks {{ $value }} records: {{ $labels.why }}.",
        "Records of the decision log could not be written, or came faster than the disk took them. "
        "Scheduling goes on; what was decided meanwhile cannot be decided again from the log.",
    ),
)
