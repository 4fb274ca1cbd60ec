"""SLAQ-like: the next worker goes to the job whose loss it will bring down most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulator.baselines.estimates import Estimates, known
from simulator.baselines.optimus import least_for_all
from simulator.baselines.reconcile import Target, reconcile
from simulator.baselines.seats import Seats
from simulator.baselines.shares import Pot
from simulator.cluster.actions import Action
from simulator.cluster.decider import next_tick
from simulator.cluster.view import JobView, View

_EVERY_SECONDS: Final = 60.0
_NO_CURVE: Final = 0.0


@dataclass
class SlaqLike:
    """Greatest predicted loss reduction in the next interval, normalised by all a job may lose.

    Source:
        Zhang, Stafman, Or, Freedman, SoCC 2017. "Like": its predictions are in place of the true
        curves here, so that its fits cannot be at fault; jobs without a curve keep their least.
    """

    estimates: Estimates
    oracle: Final = True

    def decide(self, view: View) -> Sequence[Action]:
        """Share the cluster out anew."""
        jobs = sorted((*view.running, *view.waiting), key=lambda job: job.asked.number)
        pot = Pot.of(view.machines)
        counts = least_for_all(jobs, pot)
        chosen = [job for job in jobs if job.name in counts]
        growing = {job.name for job in chosen}
        by_name = {job.name: job for job in chosen}
        while growing:
            gains = {
                name: self._drop(by_name[name], counts[name] + 1, view)
                - self._drop(by_name[name], counts[name], view)
                for name in growing
            }
            best = max(gains, key=lambda name: (gains[name], -by_name[name].asked.number))
            job = by_name[best]
            more = counts[best] < job.asked.most_workers
            if gains[best] > 0 and more and pot.has(job.asked, 1, servers=False):
                pot.take(job.asked, 1, servers=False)
                counts[best] += 1
            else:
                growing.discard(best)
        targets = [Target(job, counts[job.name]) for job in chosen]
        return reconcile(Seats(view.snapshot.room), view.running, targets)

    def wakes_at(self, now: float) -> float | None:
        """Losses fall."""
        return next_tick(now, _EVERY_SECONDS)

    def _drop(self, job: JobView, workers: int, view: View) -> float:
        """Return the part of its whole drop that a job makes in the next interval."""
        truth = known(job)
        if truth.curve is None or workers > job.asked.most_workers:
            return _NO_CURVE
        share = job.share or 0.0
        done = self.estimates.rate(job, workers, view.machines) * _EVERY_SECONDS / truth.work
        whole = truth.curve.loss(0.0) - truth.curve.loss(1.0)
        now, then = truth.curve.loss(share), truth.curve.loss(min(1.0, share + done))
        return (now - then) / whole if whole > 0 else _NO_CURVE
