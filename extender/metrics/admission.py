"""What is counted of admission by price: who was taken, at what gain, and what became of promises.

Sums of utility are in whatever unit users write their utilities in: one cluster, one unit.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.pricing.outcome import Book, PricingOutcome, PricingState, Promise, Standing
from extender.core.pricing.slots import FloatCube
from extender.metrics.series import Series
from shared.model import JobKey

GAIN_BUCKETS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
AHEAD: Final = (0, 1, 2, 4, 8, 16, 32, 64)
"""How many slots from now on the prices to come are told of; beyond the horizon there is none."""
RUNS: Final = "none"
"""Stands for the reason of a job that has a plan and nothing against it."""


class Offered(StrEnum):
    """What came of an offer."""

    ADMITTED = "admitted"
    REJECTED = "rejected"
    LOST = "lost"
    """It had been admitted, and has no place any more."""


class Priced(StrEnum):
    """Resources that have a price; whatever ends in ``/gpu`` is a GPU."""

    CPU = "cpu"
    MEMORY = "memory"
    GPU = "gpu"


class Of(StrEnum):
    """Which of many values."""

    MEAN = "mean"
    MOST = "most"


class AdmissionMetrics:
    """See the module."""

    def __init__(self, series: Series) -> None:
        self._of_offers(series)
        self._of_promises(series)
        self._of_prices(series)

    def _of_offers(self, series: Series) -> None:
        self.offers = series.counter(
            "shuntyard_admission_offers",
            "Jobs with a utility that were admitted, turned away for the first time, or that lost "
            "their place.",
            outcome=Offered,
        )
        self.payoff = series.counter(
            "shuntyard_admission_payoff",
            "Payoff of the jobs that were admitted, in the unit of their utilities.",
        )
        self.gain = series.histogram(
            "shuntyard_admission_gain_ratio",
            "Payoff of jobs when they were admitted, as a part of their utility: of 1 nothing is "
            "paid.",
            GAIN_BUCKETS,
        )
        self.jobs = series.gauge(
            "shuntyard_admission_jobs",
            "Jobs with a utility, by why they do not run now, or run without a plan; `none` of "
            "those that are to run by one.",
            reason=(*Reason, RUNS),
        )

    def _of_promises(self, series: Series) -> None:
        self.promised_jobs = series.gauge(
            "shuntyard_promised_jobs",
            "Admitted jobs that have not ended, by what is becoming of the promised slot.",
            promise=Promise,
        )
        self.promises = series.counter(
            "shuntyard_promises",
            "Admitted jobs that ended, by what became of the promised slot.",
            promise=Promise,
        )

    def _of_prices(self, series: Series) -> None:
        self.promised = series.gauge(
            "shuntyard_promised_ratio",
            "How much of what belongs to jobs with a utility is promised, over all nodes and the "
            "slots to come.",
            resource=Priced,
        )
        self.price = series.gauge(
            "shuntyard_slot_price_ratio",
            "Price in the present slot, from 0 of a resource that is not promised to 1 of one that "
            "is promised whole, on a scale of logarithms, over all nodes.",
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
        self, look: PricingOutcome, before: PricingState, planned: Collection[JobKey]
    ) -> None:
        """Take over a look.

        Args:
            look: What was decided.
            before: What was remembered before it.
            planned: Jobs that had a plan then.
        """
        had = {*planned, *before.plans}
        for job, standing in look.standings.items():
            if standing.plan is not None and job not in had:
                self._admitted(standing)
            elif standing.plan is None and job in had:
                self.offers.labels(outcome=Offered.LOST.value).inc()
        rejected = look.state.refused.keys() - before.refused.keys() - had
        self.offers.labels(outcome=Offered.REJECTED.value).inc(len(rejected))
        for ended in look.ended:
            self.promises.labels(promise=ended.promise.value).inc()
        self._stand(look.standings.values())
        self._prices(look.book)

    def stand_by(self) -> None:
        """Say nothing of the present: another replica knows it."""
        self._stand(())
        self._prices(None)

    def _admitted(self, standing: Standing) -> None:
        self.offers.labels(outcome=Offered.ADMITTED.value).inc()
        self.payoff.inc(max(0.0, standing.payoff))
        if standing.utility:
            self.gain.observe(standing.payoff / standing.utility)

    def _stand(self, standings: Iterable[Standing]) -> None:
        known = list(standings)
        reasons = Counter(one.reason.value if one.reason else RUNS for one in known)
        promises = Counter(one.promise for one in known)
        for reason in (*Reason, RUNS):
            self.jobs.labels(reason=str(reason)).set(reasons[str(reason)])
        for promise in Promise:
            self.promised_jobs.labels(promise=promise.value).set(promises[promise])

    def _prices(self, book: Book | None) -> None:
        found = {} if book is None else _columns(book)
        for priced in Priced:
            columns = found.get(priced, [])
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


def _columns(book: Book) -> Mapping[Priced, list[int]]:
    found: dict[Priced, list[int]] = {}
    for column, name in enumerate(book.resources):
        kind = Priced.GPU if name.endswith("/gpu") else name
        if kind in set(Priced):
            found.setdefault(Priced(kind), []).append(column)
    return found


def _measured(book: Book, columns: list[int]) -> tuple[float, float, float]:
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


def _ahead(book: Book, columns: list[int]) -> Mapping[int, float]:
    """Return the mean price of these columns so many slots from now."""
    pool = book.state.promised.workers
    there = pool.capacity[columns] > 0
    used: FloatCube = pool.used[columns]
    known = [slots for slots in AHEAD if slots < used.shape[1] and there.any()]
    capacity = pool.capacity[columns][there]
    return {slots: float(np.mean(used[:, slots, :][there] / capacity)) for slots in known}
