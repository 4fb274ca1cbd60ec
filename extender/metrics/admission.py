"""Metrics of admission by price: admitted jobs, their gain, and kept promises.

Sums of utility are in the unit of the users' utilities: one cluster, one unit.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.pricing.outcome import (
    JobStatus,
    PriceLedger,
    PricingOutcome,
    PricingState,
    Promise,
)
from extender.core.pricing.slots import FloatCube
from extender.metrics.series import Series
from shared.accelerators import is_gpu
from shared.model import JobKey

GAIN_BUCKETS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
AHEAD: Final = (0, 1, 2, 4, 8, 16, 32, 64)
"""How many slots ahead prices are shown; beyond the horizon there is none."""
RUNS: Final = "none"
"""In place of a reason: the job has a plan and may run."""


class Offered(StrEnum):
    """How an offer ended."""

    ADMITTED = "admitted"
    REJECTED = "rejected"
    LOST = "lost"
    """It was admitted, and lost its place."""


class Priced(StrEnum):
    """Resources that have a price; all kinds of GPUs are one."""

    CPU = "cpu"
    MEMORY = "memory"
    GPU = "gpu"


class Of(StrEnum):
    """Which of many values."""

    MEAN = "mean"
    MOST = "most"


class AdmissionMetrics:
    """Metrics of offers, promises and prices."""

    def __init__(self, series: Series) -> None:
        self._of_offers(series)
        self._of_promises(series)
        self._of_prices(series)

    def _of_offers(self, series: Series) -> None:
        self.offers = series.counter(
            "shuntyard_admission_offers",
            "Jobs with a utility that were admitted, rejected for the first time, or that lost "
            "their place.",
            outcome=Offered,
        )
        self.payoff = series.counter(
            "shuntyard_admission_payoff",
            "Payoff of the jobs that were admitted, in the unit of their utilities.",
        )
        self.gain = series.histogram(
            "shuntyard_admission_gain_ratio",
            "Payoff of jobs when they were admitted, as a part of their utility; 1: the job pays "
            "nothing.",
            GAIN_BUCKETS,
        )
        self.jobs = series.gauge(
            "shuntyard_admission_jobs",
            "Jobs with a utility, by the reason why they do not run now, or run without a plan; "
            "`none`: they run by a plan.",
            reason=(*Reason, RUNS),
        )

    def _of_promises(self, series: Series) -> None:
        self.promised_jobs = series.gauge(
            "shuntyard_promised_jobs",
            "Admitted jobs that have not ended, by the state of the promised slot.",
            promise=Promise,
        )
        self.promises = series.counter(
            "shuntyard_promises",
            "Admitted jobs that ended, by whether the promised slot was kept.",
            promise=Promise,
        )

    def _of_prices(self, series: Series) -> None:
        self.promised = series.gauge(
            "shuntyard_promised_ratio",
            "Promised part of the share of jobs with a utility, over all nodes and all slots from "
            "now on.",
            resource=Priced,
        )
        self.price = series.gauge(
            "shuntyard_slot_price_ratio",
            "Price in the present slot on a logarithmic scale, over all nodes: 0, nothing of the "
            "resource is promised; 1, all of it is.",
            resource=Priced,
            of=Of,
        )
        self.prices_ahead = series.gauge(
            "shuntyard_slot_price_ahead_ratio",
            "Mean price so many slots from now, on the same scale, over all nodes.",
            resource=Priced,
            ahead=[*map(str, AHEAD)],
        )

    def observe(
        self, outcome: PricingOutcome, before: PricingState, planned: Collection[JobKey]
    ) -> None:
        """Count what a pass decided.

        Args:
            outcome: The decision.
            before: The state before it.
            planned: Jobs that had a plan before it.
        """
        had = {*planned, *before.plans}
        for job, standing in outcome.statuses.items():
            if standing.plan is not None and job not in had:
                self._admitted(standing)
            elif standing.plan is None and job in had:
                self.offers.labels(outcome=Offered.LOST.value).inc()
        rejected = outcome.state.refused.keys() - before.refused.keys() - had
        self.offers.labels(outcome=Offered.REJECTED.value).inc(len(rejected))
        for ended in outcome.ended:
            self.promises.labels(promise=ended.promise.value).inc()
        self._stand(outcome.statuses.values())
        self._prices(outcome.price_ledger)

    def stand_by(self) -> None:
        """Show nothing: only the leader shows the present state."""
        self._stand(())
        self._prices(None)

    def _admitted(self, standing: JobStatus) -> None:
        self.offers.labels(outcome=Offered.ADMITTED.value).inc()
        self.payoff.inc(max(0.0, standing.payoff))
        if standing.utility:
            self.gain.observe(standing.payoff / standing.utility)

    def _stand(self, standings: Iterable[JobStatus]) -> None:
        jobs = list(standings)
        reasons = Counter(job.reason.value if job.reason else RUNS for job in jobs)
        promises = Counter(job.promise for job in jobs)
        for reason in (*Reason, RUNS):
            self.jobs.labels(reason=str(reason)).set(reasons[str(reason)])
        for promise in Promise:
            self.promised_jobs.labels(promise=promise.value).set(promises[promise])

    def _prices(self, book: PriceLedger | None) -> None:
        columns_of = {} if book is None else _columns(book)
        for priced in Priced:
            columns = columns_of.get(priced, [])
            promised = mean = most = 0.0
            if book is not None and columns:
                promised, mean, most = _measured(book, columns)
            self.promised.labels(resource=priced.value).set(promised)
            self.price.labels(resource=priced.value, of=Of.MEAN.value).set(mean)
            self.price.labels(resource=priced.value, of=Of.MOST.value).set(most)
            ahead = _ahead(book, columns) if book is not None and columns else {}
            for slots in AHEAD:
                labels = {"resource": priced.value, "ahead": str(slots)}
                self.prices_ahead.labels(**labels).set(ahead.get(slots, 0.0))


def _columns(book: PriceLedger) -> Mapping[Priced, list[int]]:
    columns: dict[Priced, list[int]] = {}
    for column, name in enumerate(book.resources):
        kind = Priced.GPU if is_gpu(name) else name
        if kind in set(Priced):
            columns.setdefault(Priced(kind), []).append(column)
    return columns


def _measured(book: PriceLedger, columns: list[int]) -> tuple[float, float, float]:
    """Return what part of these columns is promised, and mean and highest price of this slot."""
    pool = book.state.promised.workers
    capacity = pool.capacity[columns]
    used: FloatCube = pool.used[columns]
    there = capacity > 0
    if not there.any():
        return 0.0, 0.0, 0.0
    whole = float(capacity.sum()) * used.shape[1]
    prices = used[:, 0, :][there] / capacity[there]
    return float(used.sum()) / whole, float(np.mean(prices)), float(np.max(prices))


def _ahead(book: PriceLedger, columns: list[int]) -> Mapping[int, float]:
    """Return the mean price of these columns so many slots from now."""
    pool = book.state.promised.workers
    there = pool.capacity[columns] > 0
    used: FloatCube = pool.used[columns]
    shown = [slots for slots in AHEAD if slots < used.shape[1] and there.any()]
    capacity = pool.capacity[columns][there]
    return {slots: float(np.mean(used[:, slots, :][there] / capacity)) for slots in shown}
