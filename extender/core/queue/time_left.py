"""How long each job still needs, with a band, or what its attained time says of it.

The first source counts that says anything about the time ahead:

1. the status of the job's own object (``owner_progress``);
2. the prediction of the agents, with its band;
3. ``shuntyard.io/expected-duration``;
4. earlier runs of the name that took longer than this one until now: their median, the band from
   the shortest to the longest;
5. nothing: the job is expected to need as long again as it has run.

What was measured in this run comes before what was stated earlier: an owner can state a short
duration to go first, but the agent reads what the training does.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from extender.core.cluster import job_views, owner_progress
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.queue import running_jobs
from extender.core.queue.running_jobs import Source
from extender.core.queue.state import QueueState
from shared.model import JobKey, Pod
from shared.progress import Span

LEAST_SECONDS: Final = 1.0
"""No job is expected to need less: its end has to be noticed, too."""

_ATTAINED_BAND: Final = 5.0
"""With probability 1/6 each a job needs less than a fifth and more than five times what it has run:
the band holds two thirds, like that of the agents. Follows from the law in ``attained``."""


@dataclass(frozen=True)
class TimeLeft:
    """How long a job still needs once it runs.

    Attributes:
        seconds: The expected time, with the band that holds about two thirds of what may come.
        source: Where it is from; None: from the time that it has run alone.
    """

    seconds: Span
    source: Source | None


@dataclass(frozen=True)
class Timed:
    """A job with what is known of its time.

    Attributes:
        job: The job.
        left: How long it still needs.
        ran_seconds: How long it has run until now.
    """

    job: Job
    left: TimeLeft
    ran_seconds: float

    @property
    def runs(self) -> bool:
        """It has nodes."""
        return bool(self.job.having(State.BOUND))


def attained(ran_seconds: float, unknown_seconds: float) -> Span:
    """Return how long a job of unknown length still needs: as long as it has run.

    Rounded down to a power of two times ``unknown_seconds``, so that two such jobs do not take
    turns every few seconds; at least ``unknown_seconds``. The least attained service goes first.

    Source:
        Harchol-Balter and Downey, ACM TOCS 15(3), 1997: a process of age T lives for another T
        with probability 1/2. Queues by powers of a threshold: Gu et al. (Tiresias), NSDI 2019.
    """
    doublings = math.floor(math.log2(max(1.0, ran_seconds / unknown_seconds)))
    value = unknown_seconds * 2.0**doublings
    return Span(value, value / _ATTAINED_BAND, value * _ATTAINED_BAND)


def of(job: Job, session: Session, state: QueueState) -> Timed:
    """Return a job with its time; ``state`` knows earlier runs."""
    pods = session.snapshot.jobs.get(job.key, ())
    since = running_jobs.started_at(pods, session.now) if job.having(State.BOUND) else session.now
    ran = session.now - since
    known = next(_known(job, pods, since, session, state), None)
    if known is None:
        unknown_seconds = session.parameters.service.unknown_seconds
        known = TimeLeft(attained(ran, unknown_seconds), None)
    return Timed(job, known, ran)


def of_running(
    session: Session, state: QueueState, without: Iterable[JobKey] = ()
) -> tuple[Timed, ...]:
    """Return every job of ours that has bound pods, in order of key, but not those ``without``."""
    snapshot, others = session.snapshot, set(without)
    bound = (
        key
        for key, pods in snapshot.jobs.items()
        if key not in others and any(p.uid in snapshot.bound and not p.finished for p in pods)
    )
    return tuple(of(job_views.view(snapshot, key), session, state) for key in sorted(bound))


def _known(
    job: Job, pods: Sequence[Pod], since: float, session: Session, state: QueueState
) -> Iterator[TimeLeft]:
    """Yield what each source says of the time ahead, the first source in front."""
    now = session.now
    if job.having(State.BOUND):
        status = owner_progress.read(session.snapshot, pods, since, now)
        at = status.ends_at(now) if status else None
        if at is not None and at > now:
            yield TimeLeft(_exactly(at - now), Source.STATUS)
        if (predicted := _predicted(session, pods)) is not None:
            yield TimeLeft(predicted, Source.PROGRESS)
    ran, stated = now - since, job.spec.expected_seconds
    if job.having(State.BOUND) and job.spec.accelerators:
        stated = running_jobs.stated_on_its_nodes(session.snapshot, pods)
    if stated is not None and stated > ran:
        yield TimeLeft(_exactly(stated - ran), Source.ANNOTATION)
    if (past := _past(job.key, state.runs, ran)) is not None:
        yield TimeLeft(past, Source.HISTORY)


def _exactly(seconds: float) -> Span:
    seconds = max(LEAST_SECONDS, seconds)
    return Span(seconds, seconds, seconds)


def _predicted(session: Session, pods: Iterable[Pod]) -> Span | None:
    """Return the latest of the ends that agents predict for the members; None if none does."""
    if not session.snapshot.reports:
        return None
    now, spans = session.now, []
    for pod in pods:
        report = session.pod_report(pod.uid)
        span = report.progress.remaining_seconds if report and report.progress else None
        if report and report.progress and span:
            spans.append(_later(span, now - report.progress.updated_at))
    ahead = [span for span in spans if span.high > 0]
    return _at_least(max(ahead, key=lambda span: span.value)) if ahead else None


def _past(key: JobKey, runs: Mapping[str, tuple[float, ...]], ran_seconds: float) -> Span | None:
    past = runs.get(running_jobs.run_name(key), ()) if runs else ()
    left = [seconds - ran_seconds for seconds in past if seconds > ran_seconds]
    return _at_least(Span(median(left), min(left), max(left))) if left else None


def _later(span: Span, seconds: float) -> Span:
    return Span(span.value - seconds, span.low - seconds, span.high - seconds)


def _at_least(span: Span) -> Span:
    value, low, high = (max(LEAST_SECONDS, part) for part in (span.value, span.low, span.high))
    return Span(value, low, high)
