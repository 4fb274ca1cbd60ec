"""Recording rules: queries that alerts and other dashboards use often."""

from typing import Final

from monitoring.rules.model import Recording


def _quantile(name: str, metric: str, level: str, *by: str) -> Recording:
    groups = ", ".join(("job", *by, "le"))
    query = f"histogram_quantile({level}, sum by ({groups}) (rate({metric}_bucket[5m])))"
    return Recording(name, query)


RECORDINGS: Final = (
    _quantile(
        "job_verb:shuntyard_request_duration_seconds:p99",
        "shuntyard_request_duration_seconds",
        "0.99",
        "verb",
    ),
    _quantile(
        "job:shuntyard_cycle_duration_seconds:p99", "shuntyard_cycle_duration_seconds", "0.99"
    ),
    _quantile("job:shuntyard_loop_lag_seconds:p99", "shuntyard_loop_lag_seconds", "0.99"),
    Recording(
        "job:shuntyard_job_wait_seconds:p50_1h",
        "histogram_quantile(0.5, sum by (job, le) (rate(shuntyard_job_wait_seconds_bucket[1h])))",
    ),
    Recording(
        "job:shuntyard_job_wait_seconds:p99_1h",
        "histogram_quantile(0.99, sum by (job, le) (rate(shuntyard_job_wait_seconds_bucket[1h])))",
    ),
    Recording(
        "job:shuntyard_requests:fault_ratio_rate5m",
        'sum by (job) (rate(shuntyard_requests_total{outcome="fault"}[5m]))'
        " / sum by (job) (rate(shuntyard_requests_total[5m]))",
    ),
    Recording(
        "job:shuntyard_writes:refused_ratio_rate5m",
        'sum by (job) (rate(shuntyard_writes_total{outcome="refused"}[5m]))'
        " / (sum by (job) (rate(shuntyard_writes_total[5m])) > 0)",
    ),
    Recording(
        "job:shuntyard_reporting_nodes:silent_ratio",
        'max by (job) (sum by (job, instance) (shuntyard_reporting_nodes{state=~"stale|silent"}))'
        " / max by (job) (sum by (job, instance) (shuntyard_reporting_nodes) > 0)",
    ),
)
