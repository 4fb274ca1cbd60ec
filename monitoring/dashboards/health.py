"""Scheduler health: latency of answers, age of its data, and its loops."""

from typing import Final

from monitoring.panels import (
    RATE,
    Dashboard,
    Level,
    Row,
    Unit,
    limited,
    lines,
    quantiles,
    stacked,
    wide,
)

_VERBS: Final = 'verb=~"filter|prioritize|bind"'
_REQUESTS: Final = (
    limited(
        lines(
            "Answers to kube-scheduler (p99)",
            "Time to answer filter, prioritize and bind; bind waits for the gang, "
            "so the limit is not for it.",
            Unit.SECONDS,
            (
                "histogram_quantile(0.99, sum by (le, verb) (rate("
                f"shuntyard_request_duration_seconds_bucket{{@, {_VERBS}}}[{RATE}])))",
                "{{verb}}",
            ),
        ),
        (1.0, Level.BAD),
    ),
    lines(
        "Requests",
        "Requests per second, by verb.",
        Unit.REQUESTS,
        (f"sum by (verb) (rate(shuntyard_requests_total{{@}}[{RATE}])) > 0", "{{verb}}"),
    ),
    lines(
        "Failed requests",
        "Requests per second that were refused, wrong, or hit a defect of ours.",
        Unit.REQUESTS,
        (
            f'sum by (outcome) (rate(shuntyard_requests_total{{@, outcome!="ok"}}[{RATE}]))',
            "{{outcome}}",
        ),
    ),
)
_CONNECTIONS: Final = (
    lines(
        "Open connections",
        "Connections that are open, by listener; one that waits for an answer counts.",
        Unit.NUMBER,
        ("sum by (instance, listener) (shuntyard_connections{@})", "{{listener}} {{instance}}"),
    ),
    lines(
        "Closed connections",
        "Connections a second that a listener ended or turned away: crowded, too many were open; "
        "late, the body of a request took too long.",
        Unit.PER_SECOND,
        (
            f"sum by (listener, why) (rate(shuntyard_connections_ended_total{{@}}[{RATE}]))",
            "{{listener}} {{why}}",
        ),
    ),
)
_BARRIER: Final = (
    lines(
        "Waiting bind calls",
        "Calls at the barrier, whose gang or Binding is not complete yet.",
        Unit.NUMBER,
        ("sum(shuntyard_barrier_pods{@})", "calls"),
    ),
    lines(
        "Wait of bind calls",
        "Wait at the barrier, 99th percentile and mean, and time-outs a second.",
        Unit.SECONDS,
        (
            "histogram_quantile(0.99, sum by (le) "
            f"(rate(shuntyard_barrier_wait_seconds_bucket{{@}}[{RATE}])))",
            "p99",
        ),
        (
            f"sum(rate(shuntyard_barrier_wait_seconds_sum{{@}}[{RATE}])) / "
            f"sum(rate(shuntyard_barrier_wait_seconds_count{{@}}[{RATE}]))",
            "mean",
        ),
    ),
    lines(
        "Refused writes",
        "Failed writes to the API server and Bindings per second.",
        Unit.PER_SECOND,
        (f'sum(rate(shuntyard_writes_total{{@, outcome="refused"}}[{RATE}]))', "writes"),
        (f'sum(rate(shuntyard_bindings_total{{@, outcome="failed"}}[{RATE}]))', "bindings"),
        (f"sum(rate(shuntyard_bind_timeouts_total{{@}}[{RATE}]))", "bind time-outs"),
    ),
)
_BURSTS: Final = (
    wide(
        lines(
            "Held answers",
            "How long answers to filter were held while other pods were bound.",
            Unit.SECONDS,
            *quantiles("shuntyard_burst_hold_seconds", RATE),
        )
    ),
    wide(
        lines(
            "Pods bound in bursts",
            "Pods per second that were bound while an answer was held, beside all that were bound.",
            Unit.PER_SECOND,
            (f"sum(rate(shuntyard_burst_pods_total{{@}}[{RATE}]))", "in bursts"),
            (f'sum(rate(shuntyard_bindings_total{{@, outcome="bound"}}[{RATE}]))', "all"),
        )
    ),
)
_VIEW: Final = (
    limited(
        lines(
            "Age of watches",
            "Time since the last event of each watch; bookmarks come about once a minute.",
            Unit.SECONDS,
            ("max by (source) (shuntyard_watch_last_event_age_seconds{@})", "{{source}}"),
        ),
        (600.0, Level.BAD),
    ),
    lines(
        "Age of heartbeats",
        "Time since an agent's last heartbeat: the mean and the oldest.",
        Unit.SECONDS,
        ("max by (of) (shuntyard_heartbeat_age_seconds{@})", "{{of}}"),
    ),
    stacked(
        lines(
            "Agents",
            "Nodes by the state of their agent's reports.",
            Unit.NUMBER,
            ("max by (state) (shuntyard_reporting_nodes{@})", "{{state}}"),
        )
    ),
)
_PROCESS: Final = (
    limited(
        lines(
            "Scheduling cycle",
            "Time to decide one cycle, 99th percentile.",
            Unit.SECONDS,
            (
                "histogram_quantile(0.99, sum by (le) "
                f"(rate(shuntyard_cycle_duration_seconds_bucket{{@}}[{RATE}])))",
                "p99",
            ),
        ),
        (2.0, Level.BAD),
    ),
    limited(
        lines(
            "Loop lag",
            "How late the event loop woke a sleeper, 99th percentile, by replica.",
            Unit.SECONDS,
            (
                "histogram_quantile(0.99, sum by (le, instance) "
                f"(rate(shuntyard_loop_lag_seconds_bucket{{@}}[{RATE}])))",
                "{{instance}}",
            ),
        ),
        (0.5, Level.BAD),
    ),
    limited(
        lines(
            "Silence of loops",
            "Time since the last sign of life of each loop; too long ends the process.",
            Unit.SECONDS,
            ("max by (loop) (shuntyard_loop_silence_seconds{@})", "{{loop}}"),
        ),
        (30.0, Level.BAD),
    ),
)
_CERTIFICATES: Final = (
    lines(
        "Validity of certificates",
        "Time until each certificate in use ends; renewal is due when a third of its life is left.",
        Unit.SECONDS,
        ("min by (certificate) (shuntyard_certificate_left_seconds{@})", "{{certificate}}"),
    ),
    lines(
        "Failed renewals",
        "Passes per second in which new files could not be used, or none could be made.",
        Unit.PER_SECOND,
        (
            "sum by (listener) (rate("
            f'shuntyard_certificate_renewals_total{{@, outcome="refused"}}[{RATE}]))',
            "files of {{listener}}",
        ),
        (f"sum(rate(shuntyard_certificate_failures_total{{@}}[{RATE}]))", "making"),
    ),
    lines(
        "Failed handshakes",
        "Handshakes a second that ended without a connection, by listener.",
        Unit.PER_SECOND,
        (
            f"sum by (listener) (rate(shuntyard_tls_refusals_total{{@}}[{RATE}]))",
            "{{listener}}",
        ),
    ),
)
_COST: Final = (
    lines(
        "CPU",
        "Cores each process of ours uses.",
        Unit.NUMBER,
        (f"rate(process_cpu_seconds_total{{@}}[{RATE}])", "{{job}} {{instance}}"),
    ),
    lines(
        "Memory",
        "Memory each process of ours holds.",
        Unit.BYTES,
        ("process_resident_memory_bytes{@}", "{{job}} {{instance}}"),
    ),
    lines(
        "Agents' reads and reports",
        "Time an agent needs to read what is due, and to send a heartbeat, 99th percentile.",
        Unit.SECONDS,
        (
            "histogram_quantile(0.99, sum by (le) "
            f"(rate(shuntyard_agent_reading_duration_seconds_bucket{{@}}[{RATE}])))",
            "reading",
        ),
        (
            "histogram_quantile(0.99, sum by (le) "
            f"(rate(shuntyard_agent_heartbeat_duration_seconds_bucket{{@}}[{RATE}])))",
            "sending",
        ),
    ),
)
HEALTH: Final = Dashboard(
    name="health",
    title="Scheduler health",
    about="Latency of answers, age of its data, and its loops.",
    rows=(
        Row("Requests", _REQUESTS),
        Row("Connections", _CONNECTIONS),
        Row("Barrier and writes", _BARRIER),
        Row("Bursts", _BURSTS),
        Row("View of the cluster", _VIEW),
        Row("Loops", _PROCESS),
        Row("Certificates", _CERTIFICATES),
        Row("Resource usage", _COST),
    ),
)
