"""When a job ends by the status of its owner: a TrainJob states how far its training is.

The training itself reports it, like an annotation, but about this very run and a moment ago. What
cannot be right is reported as a problem and not used; then the next source counts
(``running_jobs``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.cluster.owners import above
from extender.core.cluster.snapshot import Snapshot
from extender.core.kinds import registry
from extender.core.kinds.abilities import Progressing
from shared.errors import InputError
from shared.model import OwnProgress, Pod

STALE_SECONDS: Final = 600.0
"""What is older does not count. No interval is prescribed: trainings report at their logging steps,
and not for minutes while they evaluate or save."""
AHEAD_SECONDS: Final = 60.0
"""A training's clock may be ahead of ours by so much; beyond that its times do not count."""


@dataclass(frozen=True)
class StatedProgress:
    """What the status states, judged by the clock.

    Attributes:
        stated: As it was read.
        fresh: It counts: it can be used, is about this run and not too old.
        problem: What cannot be used; empty if nothing is wrong.
    """

    stated: OwnProgress
    fresh: bool
    problem: str

    def ends_at(self, now: float) -> float | None:
        """Return when the job ends by it, seconds since the epoch; None if it does not count."""
        left = self.stated.remaining_seconds
        if left is None or not self.fresh:
            return None
        return min(self.stated.written_at, now) + left


def read(
    snapshot: Snapshot, pods: Sequence[Pod], since: float, now: float
) -> StatedProgress | None:
    """Return what the status states of a running job; None if it states nothing.

    Args:
        snapshot: The cluster.
        pods: The job's pods.
        since: Since when all of them run: what was written before is about an earlier life.
        now: Seconds since the epoch.
    """
    first = next((pod for pod in pods if not pod.finished), None)
    kind = None if first is None else registry.progressing(first)
    stated = _of_all(snapshot, kind, pods) if kind else None
    if kind is None or stated is None:
        return None
    problem = stated.problem or _ahead(kind.progress_field, stated.written_at - now)
    fresh = not problem and stated.written_at >= max(since, now - STALE_SECONDS)
    return StatedProgress(stated, fresh, problem)


def _of_all(snapshot: Snapshot, kind: Progressing, pods: Sequence[Pod]) -> OwnProgress | None:
    """Return what is stated of all that run; None where the statements differ.

    A group may hold more than one training.
    """
    running = (pod for pod in pods if not pod.finished)
    by_owner = {pod.controller.uid if pod.controller else pod.uid: pod for pod in running}
    stated = [kind.progress(pod, above(snapshot, pod)) for pod in by_owner.values()]
    return stated[0] if all(statement == stated[0] for statement in stated) else None


def _ahead(field: str, seconds: float) -> str:
    """Return what is wrong with a time that lies so far ahead of ours; empty if nothing is."""
    if seconds <= AHEAD_SECONDS:
        return ""
    return str(InputError(field, f"{seconds:.0f} s ahead of our clock", "a time that has come"))
