"""Metrics of changes of workers: why they were begun, how they ended, how many workers moved."""

from extender.core.elastic.state import Ended, Ending
from extender.core.records.rescale import Cause
from extender.metrics.series import Series


class ScalingMetrics:
    """The metrics of this module.

    Attributes:
        open: Set by the controller at every pass.
    """

    def __init__(self, series: Series) -> None:
        self.open = series.gauge(
            "shuntyard_rescaling_jobs", "Jobs whose number of workers is changing."
        )
        self._ended = series.counter(
            "shuntyard_rescales",
            "Changes of jobs' workers that ended, by why they were begun and how they ended.",
            cause=Cause,
            outcome=Ending,
        )
        self._added = series.counter(
            "shuntyard_workers_added", "Workers that were added to jobs, by cause.", cause=Cause
        )
        self._removed = series.counter(
            "shuntyard_workers_removed", "Workers that left jobs, by cause.", cause=Cause
        )

    def observe(self, ended: Ended) -> None:
        """Count a change that ended."""
        rescale = ended.rescale
        self._ended.labels(cause=rescale.cause.value, outcome=ended.outcome.value).inc()
        if ended.outcome is not Ending.ABORTED:
            moved = self._added if rescale.to > rescale.before else self._removed
            moved.labels(cause=rescale.cause.value).inc(abs(rescale.to - rescale.before))
