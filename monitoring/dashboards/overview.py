"""Overview: leader, queue, throughput, and utilisation of the cluster."""

from typing import Final

from monitoring.panels import (
    RATE,
    WINDOW,
    Dashboard,
    Level,
    Row,
    Unit,
    limited,
    lines,
    number,
    quantiles,
    stacked,
)

_NOW: Final = (
    limited(
        number(
            "Leaders",
            "Replicas that are the leader. One is right; without one nothing is scheduled.",
            Unit.NUMBER,
            "sum(shuntyard_acting{@})",
        ),
        (None, Level.BAD),
        (1.0, Level.GOOD),
        (2.0, Level.BAD),
    ),
    number(
        "Waiting jobs",
        "Jobs in the queue, without those just released.",
        Unit.NUMBER,
        "sum(shuntyard_queue_jobs{@})",
    ),
    limited(
        number(
            "Longest wait",
            "Wait of the job that has waited longest.",
            Unit.SECONDS,
            "max(shuntyard_longest_wait_seconds{@})",
        ),
        (86400.0, Level.WARNING),
    ),
    number(
        "CPU used",
        "Share of all nodes' CPU taken by pods of any scheduler and by reservations.",
        Unit.SHARE,
        'max(shuntyard_taken_ratio{@, resource="cpu"})',
    ),
    number(
        "Schedulable nodes",
        "Nodes that are Ready and not cordoned.",
        Unit.NUMBER,
        'max(shuntyard_nodes{@, state="ready"})',
    ),
    number(
        "Migrating jobs",
        "Open migrations: jobs moving to another node.",
        Unit.NUMBER,
        "sum(shuntyard_migrating_jobs{@})",
    ),
)
_QUEUE: Final = (
    stacked(
        lines(
            "Waiting jobs by reason",
            "Jobs in the queue by reason; docs/reasons.md explains each.",
            Unit.NUMBER,
            ("sum by (reason) (shuntyard_waiting_jobs{@}) > 0", "{{reason}}"),
        )
    ),
    lines(
        "Wait until release",
        "From a job's creation to the release of its gang, of the jobs released in the window.",
        Unit.SECONDS,
        *quantiles("shuntyard_job_wait_seconds", WINDOW),
    ),
    lines(
        "Throughput",
        "Pods per second that leave the queue, and that are bound.",
        Unit.PER_SECOND,
        (f"sum(rate(shuntyard_releases_total{{@}}[{RATE}]))", "released"),
        (f"sum by (outcome) (rate(shuntyard_bindings_total{{@}}[{RATE}]))", "{{outcome}}"),
    ),
)
_STARTS: Final = (
    lines(
        "Starts inside their band",
        "Share of the jobs started in the window that started inside the band of their estimate, "
        "by how far ahead that start was expected; two thirds are right.",
        Unit.SHARE,
        (
            f'sum by (ahead) (increase(shuntyard_start_estimates_total{{@, where="inside"}}'
            f"[{WINDOW}])) / (sum by (ahead) (increase(shuntyard_start_estimates_total"
            f"{{@}}[{WINDOW}])) > 0)",
            "{{ahead}}",
        ),
    ),
    lines(
        "Starts beside their band",
        "Estimates whose job started before or after the band, by how far ahead.",
        Unit.NUMBER,
        (
            "sum by (ahead, where) (increase(shuntyard_start_estimates_total"
            f'{{@, where!="inside"}}[{WINDOW}]))',
            "{{where}}, {{ahead}}",
        ),
    ),
)
_CLUSTER: Final = (
    lines(
        "Utilisation",
        "Share of all nodes' resources taken by pods of any scheduler and by reservations.",
        Unit.SHARE,
        ("max by (resource) (shuntyard_taken_ratio{@})", "{{resource}}"),
    ),
    lines(
        "Largest pod that fits",
        "Largest free amount on one node, as a part of the largest node: low while much is free "
        "means that the free room is in pieces.",
        Unit.SHARE,
        ("max by (resource) (shuntyard_largest_free_ratio{@})", "{{resource}}"),
    ),
    stacked(
        lines(
            "Nodes",
            "Nodes by whether they take pods.",
            Unit.NUMBER,
            ("max by (state) (shuntyard_nodes{@})", "{{state}}"),
        )
    ),
)
OVERVIEW: Final = Dashboard(
    name="overview",
    title="Overview",
    about="Leader, queue, throughput, and utilisation of the cluster.",
    rows=(
        Row("Now", _NOW),
        Row("Queue", _QUEUE),
        Row("Start estimates", _STARTS),
        Row("Cluster", _CLUSTER),
    ),
)
