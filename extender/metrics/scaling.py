"""What is counted of changes of workers: why they were begun, how they ended, how many came."""

from extender.core.elastic.state import Ended, Ending
from extender.core.records.rescale import Cause
from extender.metrics.series import Series


class ScalingMetrics:
    """See the module.

    Attributes:
        open: Set by the loop at every look.
    """

    def __init__(self, series: Series) -> None:
        self.open = series.gauge(
            "shuntyard_rescaling_jobs", "Jobs of which the number of workers is just changing."
        )
        self._ended = series.counter(
            "shuntyard_rescales",
            "Changes of jobs' workers that ended, by why they were begun and how they ended.",
            cause=Cause,
            outcome=Ending,
        )
        self._added = series.counter(
            "shuntyard_workers_added", "Workers that jobs were given, by cause.", cause=Cause
        )
        self._removed = series.counter(
            "shuntyard_workers_removed", "Workers that left jobs, by cause.", cause=Cause
        )

    def observe(self, ended: Ended) -> None:
        """Count a change that ended."""
        one = ended.rescale
        self._ended.labels(cause=one.cause.value, outcome=ended.outcome.value).inc()
        if ended.outcome is not Ending.ABORTED:
            moved = self._added if one.to > one.before else self._removed
            moved.labels(cause=one.cause.value).inc(abs(one.to - one.before))
