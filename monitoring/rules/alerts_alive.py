"""Alerts about processes: the extender runs and has one leader, its loops and watches work."""

from typing import Final

from monitoring.rules.model import Alert, Severity

ALIVE: Final = (
    Alert(
        "ShuntyardAbsent",
        Severity.CRITICAL,
        "absent(shuntyard_acting)",
        "5m",
        "Prometheus sees no extender of Shuntyard.",
        "Prometheus has no series of any extender: none runs, or none can be scraped. Without an "
        "extender no pod of Shuntyard is released or bound.",
    ),
    Alert(
        "ShuntyardNoLeader",
        Severity.CRITICAL,
        "sum by (job) (shuntyard_acting) == 0",
        "2m",
        "{{ $labels.job }} has no leader.",
        "Extenders run, but none is the leader: kube-scheduler is missing, or its Lease cannot be "
        "read. No job is released or moved.",
    ),
    Alert(
        "ShuntyardSeveralLeaders",
        Severity.CRITICAL,
        "sum by (job) (shuntyard_acting) > 1",
        "1m",
        "{{ $labels.job }} has {{ $value }} leaders.",
        "More than one extender acts as the leader. Writes carry preconditions, so nothing is "
        "bound twice, but two orders of the queue compete.",
    ),
    Alert(
        "ShuntyardTargetDown",
        Severity.WARNING,
        'up{job=~".*shuntyard.*"} == 0',
        "10m",
        "{{ $labels.instance }} of {{ $labels.job }} cannot be scraped.",
        "A replica or an agent does not answer Prometheus. A second replica takes over; without "
        "its agent the training on a node is unknown.",
    ),
    Alert(
        "ShuntyardLoopSilent",
        Severity.WARNING,
        "max by (job, instance, loop) (shuntyard_loop_silence_seconds) > 30",
        "1m",
        "Loop {{ $labels.loop }} of {{ $labels.instance }} has been silent for {{ $value }} s.",
        "A loop of an extender gives no sign of life, and its work is not done. If that lasts, the "
        "liveness probe ends the process.",
    ),
    Alert(
        "ShuntyardLoopLag",
        Severity.WARNING,
        "job:shuntyard_loop_lag_seconds:p99 > 0.5",
        "10m",
        "The event loop of {{ $labels.job }} is {{ $value }} s late.",
        "An extender is short of processor time, or something blocks it. Answers to kube-scheduler "
        "come late, and the Lease may be lost.",
    ),
    Alert(
        "ShuntyardWatchSilent",
        Severity.WARNING,
        "max by (job, instance, source) (shuntyard_watch_last_event_age_seconds) > 600",
        "5m",
        "{{ $labels.instance }} has received no event of {{ $labels.source }} for {{ $value }} s.",
        "A watch sends a bookmark about once a minute even if nothing happens. A silent watch is "
        "broken, and decisions use old data.",
    ),
    Alert(
        "ShuntyardRelistsOften",
        Severity.INFO,
        "sum by (job, source) (increase(shuntyard_watch_relists_total[1h])) > 30",
        "15m",
        "{{ $labels.source }} was listed again {{ $value }} times in an hour.",
        "Watches break repeatedly, and each time everything is listed again. The API server is "
        "overloaded, or something between it and the extender closes connections.",
    ),
    Alert(
        "ShuntyardConnectionsCrowded",
        Severity.WARNING,
        "sum by (job, instance, listener) "
        '(increase(shuntyard_connections_ended_total{why="crowded"}[15m])) > 5',
        "5m",
        "The listener {{ $labels.listener }} of {{ $labels.instance }} has too many connections.",
        "The listener has reached its limit and ends idle connections to accept new ones: the "
        "limit is too small for this cluster, or a client floods the listener.",
    ),
    Alert(
        "ShuntyardObjectsSkipped",
        Severity.WARNING,
        "increase(shuntyard_skipped_objects_total[1h]) > 0",
        "",
        "{{ $labels.instance }} skipped objects that it could not read.",
        "The API server sent objects in a form that the extender does not know. It treats them as "
        "missing.",
    ),
    Alert(
        "ShuntyardDecisionLogIncomplete",
        Severity.INFO,
        "sum by (job, instance, why) (increase(shuntyard_decision_log_dropped_total[15m])) > 0",
        "5m",
        "The decision log of {{ $labels.instance }} lacks {{ $value }} records: {{ $labels.why }}.",
        "Records of the decision log could not be written, or came faster than the disk took them. "
        "Scheduling continues; decisions made meanwhile cannot be replayed.",
    ),
)
