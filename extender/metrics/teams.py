"""Metrics of teams: jobs that wait, GPUs in use, GPU hours. A team is a namespace.

The label has the first ``MOST_TEAMS`` namespaces that had a job; all further ones are one team,
``OTHERS``, so the number of series is bounded however many namespaces there are.
"""

from collections import Counter
from collections.abc import Iterable
from threading import Lock
from typing import Final

import numpy as np

from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.gpus import gpus
from extender.core.queue import namespace_shares
from extender.core.queue.notices import QueueEntry
from extender.metrics.series import Series
from shared.accelerators import PARTS

MOST_TEAMS: Final = 50
OTHERS: Final = "(others)"
"""No namespace can have this name."""


class TeamMetrics:
    """Metrics by namespace; the queue is observed by the event loop, GPUs in a thread."""

    def __init__(self, series: Series) -> None:
        self._waiting = series.gauge(
            "shuntyard_team_waiting_jobs",
            "Waiting jobs of a namespace, without those on their way to a node; at most 50 "
            "namespaces, the rest as `(others)`.",
            ["team"],
        )
        self._gpus = series.gauge(
            "shuntyard_team_gpus",
            "GPUs that the bound and released pods of a namespace request; slices by their part.",
            ["team"],
        )
        self._gpu_seconds = series.counter(
            "shuntyard_team_gpu_seconds",
            "GPUs that a namespace held, multiplied by the seconds; counted by every replica.",
            ["team"],
        )
        self._lock = Lock()
        self._teams: set[str] = set()
        self._held: dict[str, int] = {}
        self._measured_at: float | None = None

    def observe_queue(self, entries: Iterable[QueueEntry]) -> None:
        """Set the jobs that wait, as a pass left them."""
        waiting = [entry for entry in entries if entry.reason is not Reason.RELEASING]
        counts = Counter(self._team(entry.job.key) for entry in waiting)
        for team in self._known():
            self._waiting.labels(team=team).set(counts[team])

    def observe_gpus(self, snapshot: Snapshot, monotonic: float) -> None:
        """Set the GPUs in use, and count what was held since the last call.

        Args:
            snapshot: The cluster.
            monotonic: The clock's reading, in seconds.
        """
        held = self._gpus_by_team(snapshot)
        if self._measured_at is not None:
            seconds = max(0.0, monotonic - self._measured_at)
            for team, parts in self._held.items():
                self._gpu_seconds.labels(team=team).inc(parts / PARTS * seconds)
        self._held, self._measured_at = dict(held), monotonic
        for team in self._known():
            self._gpus.labels(team=team).set(held[team] / PARTS)

    def _gpus_by_team(self, snapshot: Snapshot) -> Counter[str]:
        held: Counter[str] = Counter()
        table = snapshot.node_table
        found = gpus(table)
        if not found.columns.size:
            return held  # going through 100,000 pods takes a tenth of a second
        demands = namespace_shares.Demands(table, lambda amounts: np.array(found.of(amounts)))
        for key, shapes in namespace_shares.by_job(snapshot):
            if parts := sum(int(demands.of(shape)) for shape in shapes):
                held[self._team(key)] += parts
        return held

    def _team(self, job: str) -> str:
        """Return the label of a job's namespace; ``job`` is its key."""
        namespace = job.partition("/")[0]
        with self._lock:
            if namespace not in self._teams:
                if len(self._teams - {OTHERS}) >= MOST_TEAMS:
                    namespace = OTHERS
                self._teams.add(namespace)
        return namespace

    def _known(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._teams)
