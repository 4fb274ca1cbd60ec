"""Alerts about scheduling: answers, bindings, gangs, maximum waits."""

from typing import Final

from monitoring.rules.model import Alert, Severity

SCHEDULING: Final = (
    Alert(
        "ShuntyardRequestsFail",
        Severity.CRITICAL,
        "job:shuntyard_requests:fault_ratio_rate5m > 0.01",
        "10m",
        "{{ $value | humanizePercentage }} of the requests to {{ $labels.job }} fail.",
        "Requests end with a status of 5xx: a defect of ours, or failing probes. kube-scheduler "
        "tries again, and every job starts later.",
    ),
    Alert(
        "ShuntyardAnswersSlow",
        Severity.WARNING,
        'job_verb:shuntyard_request_duration_seconds:p99{verb=~"filter|prioritize"} > 1',
        "10m",
        "Answers to {{ $labels.verb }} take {{ $value }} s.",
        "kube-scheduler waits for each of these answers and schedules one pod at a time, so each "
        "of our pods is delayed by that much.",
    ),
    Alert(
        "ShuntyardCycleSlow",
        Severity.WARNING,
        "job:shuntyard_cycle_duration_seconds:p99 > 2",
        "15m",
        "A scheduling cycle takes {{ $value }} s.",
        "Ordering and placing the queue takes long: the queue is very long, there are very many "
        "nodes, or the extender has too little processor time.",
    ),
    Alert(
        "ShuntyardGangsIncomplete",
        Severity.WARNING,
        "sum by (job) (increase(shuntyard_bind_timeouts_total[15m])) > 20",
        "15m",
        "{{ $value }} bind calls ended without their gang in a quarter of an hour.",
        "Pods reach bind without the rest of their gang: something that the planner does not model "
        "delays some members, or they were never created.",
    ),
    Alert(
        "ShuntyardBindingsFail",
        Severity.WARNING,
        'sum by (job) (increase(shuntyard_bindings_total{outcome="failed"}[15m])) > 5',
        "15m",
        "{{ $value }} Bindings failed in a quarter of an hour.",
        "The API server or an admission rule refuses Bindings. Gangs that are partly bound are "
        "completed or dissolved.",
    ),
    Alert(
        "ShuntyardGangsDissolved",
        Severity.WARNING,
        'sum by (job) (increase(shuntyard_deletions_total{cause="partial-gang"}[1h])) > 0',
        "",
        "Gangs stayed partial and were dissolved: {{ $value }} pods deleted in an hour.",
        "Some members of a gang were bound and the others could not be. Bound members without a "
        "step were deleted, so that the gang can be placed again as a whole.",
    ),
    Alert(
        "ShuntyardPinsLost",
        Severity.INFO,
        'sum by (job) (increase(shuntyard_deletions_total{cause="pin-lost"}[1h])) > 5',
        "",
        "{{ $value }} released pods lost all nodes they were pinned to, in an hour.",
        "The nodes of released pods were removed, or other pods filled them, before the pods were "
        "bound. Their owners make new ones; a Job counts a failure.",
    ),
    Alert(
        "ShuntyardWritesRefused",
        Severity.WARNING,
        "job:shuntyard_writes:refused_ratio_rate5m > 0.2",
        "15m",
        "{{ $value | humanizePercentage }} of the writes of {{ $labels.job }} are refused.",
        "The API server refuses patches: a right is missing, an admission rule denies them, or "
        "others change the same objects all the time.",
    ),
    Alert(
        "ShuntyardMaxWaitMissed",
        Severity.WARNING,
        "max by (job) (shuntyard_max_wait_left_seconds) < 0",
        "5m",
        "A job waits beyond its maximum wait: {{ $value }} s are left of it.",
        "A job's maximum wait is over and it does not run. Nodes are reserved for it as they "
        "become free; if none does, it never starts.",
    ),
    Alert(
        "ShuntyardJobsWaitTooLong",
        Severity.INFO,
        "max by (job) (shuntyard_longest_wait_seconds) > 86400",
        "30m",
        "A job has waited for {{ $value | humanizeDuration }}.",
        "A job has been in the queue for more than a day. Others overtake it, or it requests what "
        "the cluster does not have.",
    ),
    Alert(
        "ShuntyardJobsMisconfigured",
        Severity.INFO,
        "max by (job, reason) (shuntyard_waiting_jobs"
        '{reason=~"Misconfigured|GangSizeUnknown|NoSuchNode|NoSuchTopologyLevel|'
        'SharedDevicesOnly"}) > 0',
        "30m",
        "Jobs wait with {{ $labels.reason }}: {{ $value }}.",
        "Jobs wait for something that only their owners can fix: a wrong annotation, a missing "
        "gang size, a node selector that no node matches.",
    ),
)
