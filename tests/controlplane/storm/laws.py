"""What must hold in a storm, checked on the API server's own history of the pods.

Nothing here asks the extender, and nothing uses its code.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.controlplane import watching
from tests.controlplane.storm.proxy import Write
from tests.controlplane.watching import Event, History, Object, job_of, node_of

WHOLE_SECONDS: Final = 12.0
"""The extender has seen a gang as whole that was whole for so long without a break.

It may be frozen for 6 s, or killed and restarted, or its watch may restart: a gang that was whole
only for a moment in between does not count."""
ANSWER_SECONDS: Final = 1.0
"""The watch may show a change so long before the answer to its request is read."""
GHOST_SECONDS: Final = 60.0
"""Pods of a gang may come for so long after its user deleted it: the Job controller's, or a
copy that was on its way; after that, whatever exists stays."""
PARTIAL_SECONDS: Final = 60.0
"""Longer than a burst, and the dissolution of one that failed; outages are not counted."""


@dataclass
class Outage:
    """The API server was killed, and its clients did not know their objects until it was over.

    Attributes:
        began: Monotonic seconds.
        over: Monotonic seconds; where nothing awaits the end, the beginning stands for it.
    """

    began: float
    over: float = 0.0

    @property
    def end(self) -> float:
        return max(self.began, self.over)


@dataclass
class Known:
    """What the storm did itself.

    Attributes:
        sizes: Gang size by job.
        cpu: CPUs by node, in cores; a node keeps its entry after it was deleted.
        deleted: Jobs that their user has deleted, and when (monotonic seconds).
        struck: Uids of pods that the storm deleted, or that were on a node that it deleted.
        struck_jobs: Their jobs.
        foreign: Uids of pods of another scheduler that must be left alone.
        outages: When the API server was killed.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    cpu: dict[str, int] = field(default_factory=dict)
    deleted: dict[str, float] = field(default_factory=dict)
    struck: set[str] = field(default_factory=set)
    struck_jobs: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    outages: list[Outage] = field(default_factory=list)


def broken(history: History, known: Known, writes: list[Write]) -> list[str]:
    """Return a line for each law that was broken, with its place."""
    return [
        *(f"pod {uid} was bound to two nodes" for uid in watching.bound_twice(history)),
        *_too_many(history, known),
        *_overfull(history, known),
        *_ghosts(history, known),
        *_dissolved(history, known, writes),
        *_touched(history, known, writes),
    ]


def _lives(pod: Object) -> bool:
    """Return True if the pod may run: on a node, not finished, and not being deleted."""
    return node_of(pod) is not None and not _is_over(pod)


def _is_over(pod: Object) -> bool:
    """Return True if the pod has ended or is being deleted."""
    ended = pod["status"].get("phase") in {"Succeeded", "Failed"}
    return ended or bool(pod["metadata"].get("deletionTimestamp"))


def _living(history: History) -> Iterator[tuple[Event, str, Mapping[str, Object]]]:
    """Yield each event with its job, and the pods of that job that live after it, by uid."""
    every: dict[str, dict[str, Object]] = {}
    for event in history.events:
        job = job_of(event.pod)
        pods = every.setdefault(job, {})
        if not event.gone and _lives(event.pod):
            pods[event.uid] = event.pod
        else:
            pods.pop(event.uid, None)
        yield event, job, pods


def _too_many(history: History, known: Known) -> Iterator[str]:
    """Two copies of a member run: more living pods than the gang has members."""
    worst: dict[str, int] = {}
    for _, job, living in _living(history):
        if job in known.sizes and len(living) > max(known.sizes[job], worst.get(job, 0)):
            worst[job] = len(living)
    for job, count in worst.items():
        yield f"{job}: {count} pods lived at one time in a gang of {known.sizes[job]}"


def _overfull(history: History, known: Known) -> Iterator[str]:
    used: dict[str, dict[str, int]] = {}
    reported: set[str] = set()
    for event in history.events:
        node = node_of(event.pod)
        if node is None or node not in known.cpu:
            continue
        pods = used.setdefault(node, {})
        if event.gone or event.pod["status"].get("phase") in {"Succeeded", "Failed"}:
            pods.pop(event.uid, None)
        else:
            pods[event.uid] = _cores(event.pod)
        if sum(pods.values()) > known.cpu[node] and node not in reported:
            reported.add(node)
            yield f"{node}: {sum(pods.values())} of {known.cpu[node]} CPUs were taken"


def _cores(pod: Object) -> int:
    requests = (c["resources"].get("requests") or {} for c in pod["spec"]["containers"])
    return sum(int(one.get("cpu", "0")) for one in requests)


def _ghosts(history: History, known: Known) -> Iterator[str]:
    """A gang that its user deleted comes back."""
    for job, at in known.deleted.items():
        first = {e.uid: e for e in reversed(history.events) if job_of(e.pod) == job}
        late = [e for e in first.values() if e.at > at + GHOST_SECONDS]
        if late:
            yield f"{job}: {len(late)} pods came {GHOST_SECONDS:.0f} s after it was deleted"
        if left := history.of(job):
            yield f"{job}: {len(left)} pods are there after it was deleted"


def _dissolved(history: History, known: Known, writes: list[Write]) -> Iterator[str]:
    """The extender deletes a bound member of a gang that was whole before."""
    deletes: dict[tuple[str, str], list[float]] = {}
    for write in writes:
        if write.method == "DELETE" and (found := _pod_of(write.path)):
            deletes.setdefault(found, []).append(write.at)
    whole = _whole_spans(history, known)
    seen: set[str] = set()
    for event in history.events:
        job, meta = job_of(event.pod), event.pod["metadata"]
        asked = max(deletes.get((meta["namespace"], meta["name"]), ()), default=None)
        if asked is None or node_of(event.pod) is None or event.uid in seen | known.struck:
            continue
        since = next((s for s, until in whole.get(job, ()) if s < asked <= until), None)
        ended = job in known.deleted and known.deleted[job] <= asked
        if since is not None and event.at > since and not ended and _ours(event, history):
            seen.add(event.uid)
            after = asked - since + WHOLE_SECONDS
            yield f"{job}: we deleted {meta['name']}, bound, {after:.1f} s after it was whole"


def _ours(event: Event, history: History) -> bool:
    """Return True if the pod began to end: a DELETE that was refused has harmed nothing."""
    return any(
        later.uid == event.uid and (later.gone or later.pod["metadata"].get("deletionTimestamp"))
        for later in history.events
    )


def _whole_spans(history: History, known: Known) -> dict[str, list[tuple[float, float]]]:
    """Return, for each gang, from when until when the extender must know it as whole.

    It is whole until nothing of it lives: it was parked, and its next start is another burst.
    """
    begun: dict[str, float] = {}
    since: dict[str, float] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for event, job, living in _living(history):
        if job not in known.sizes:
            continue
        if job in begun and event.at - begun[job] >= WHOLE_SECONDS:
            since.setdefault(job, begun[job] + WHOLE_SECONDS)
        if len(living) >= known.sizes[job]:
            begun.setdefault(job, event.at)
        else:
            begun.pop(job, None)
        if not living and job in since:
            spans.setdefault(job, []).append((since.pop(job), event.at + ANSWER_SECONDS))
    for job, at in since.items():
        spans.setdefault(job, []).append((at, math.inf))
    return spans


def _touched(history: History, known: Known, writes: list[Write]) -> Iterator[str]:
    """The extender writes to a pod of another scheduler."""
    names = {
        (event.pod["metadata"]["namespace"], event.pod["metadata"]["name"])
        for event in history.events
        if event.uid in known.foreign
    }
    for write in writes:
        if _pod_of(write.path) in names:
            yield f"{write.method} {write.path}: a pod of another scheduler"


def partial_seconds(history: History, job: str, size: int, outages: Sequence[Outage] = ()) -> float:
    """Return for how long part of a gang ran that could be whole, if that was too long; else 0.

    Outages do not count, nor does the time until the Job controller has made a member again that a
    whole gang has lost.
    """
    there: dict[str, Object] = {}
    since: float | None = None
    longest, was_whole = 0.0, False
    for event in (event for event in history.events if job_of(event.pod) == job):
        if since is not None:
            longest = max(longest, seconds_outside(outages, since, event.at))
        if event.gone or _is_over(event.pod):
            there.pop(event.uid, None)
        else:
            there[event.uid] = event.pod
        placed = sum(node_of(pod) is not None for pod in there.values())
        was_whole = placed >= size or (was_whole and placed > 0)
        could_be_whole = len(there) >= size or not was_whole
        if not 0 < placed < size or not could_be_whole:
            since = None
        elif since is None:
            since = event.at
    return longest if longest > PARTIAL_SECONDS else 0.0


def seconds_outside(outages: Iterable[Outage], since: float, until: float) -> float:
    """Return the time in which all programs worked."""
    inside = (min(until, one.end) - max(since, one.began) for one in outages)
    return until - since - sum(seconds for seconds in inside if seconds > 0)


def _pod_of(path: str) -> tuple[str, str] | None:
    parts = path.strip("/").split("/")
    if len(parts) >= 6 and parts[:3] == ["api", "v1", "namespaces"] and parts[4] == "pods":
        return parts[3], parts[5]
    return None
