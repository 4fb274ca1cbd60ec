"""What must hold in a storm, checked on the API server's own history of the pods.

Nothing here asks the extender, and nothing uses its code.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shared import labels
from tests.controlplane import watching
from tests.controlplane.storm.proxy import Write
from tests.controlplane.watching import Event, History, Object, job_of, node_of

WHOLE_SECONDS: Final = 12.0
"""The extender has seen a gang as whole that was whole for so long without a break.

It may be frozen for 6 s, or killed and restarted, or its watch may restart: a gang that was whole
only for a moment in between does not count."""
GHOST_SECONDS: Final = 60.0
"""Pods of a gang may come for so long after its user deleted it: the Job controller's, or a
copy that was on its way; after that, whatever exists stays."""
DUPLICATE_SECONDS: Final = 30.0
"""After the API server was killed the Job controller may make a pod again whose creation was
written and its answer lost; when it has seen both, it deletes one.

Source:
    Kubernetes 1.36 ``pkg/controller/job/indexed_job_utils.go``:
    ``appendDuplicatedIndexPodsForRemoval``."""

PARTIAL_SECONDS: Final = 60.0
"""Longer than a member takes to end in its grace period."""


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
        server_kills: When the API server was killed (monotonic seconds).
    """

    sizes: dict[str, int] = field(default_factory=dict)
    cpu: dict[str, int] = field(default_factory=dict)
    deleted: dict[str, float] = field(default_factory=dict)
    struck: set[str] = field(default_factory=set)
    struck_jobs: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    server_kills: list[float] = field(default_factory=list)


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
    return (
        node_of(pod) is not None
        and not pod["metadata"].get("deletionTimestamp")
        and pod["status"].get("phase") not in {"Succeeded", "Failed"}
    )


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
    made: dict[str, float] = {}
    for event, job, living in _living(history):
        made.setdefault(event.uid, event.at)
        if job not in known.sizes or len(living) <= known.sizes[job]:
            continue
        count = len(living) - _made_twice(living, made, known, event.at)
        if count > max(known.sizes[job], worst.get(job, 0)):
            worst[job] = count
    for job, count in worst.items():
        yield f"{job}: {count} pods lived at one time in a gang of {known.sizes[job]}"


def _made_twice(
    living: Mapping[str, Object], made: Mapping[str, float], known: Known, now: float
) -> int:
    """Return how many of these pods the Job controller made again after a kill, and just now."""
    first: set[tuple[str, str]] = set()
    count = 0
    for uid in sorted(living, key=made.__getitem__):
        seat = _seat(living[uid])
        if seat is None or seat not in first:
            first.update(() if seat is None else (seat,))
            continue
        after_kill = any(0 <= made[uid] - at <= DUPLICATE_SECONDS for at in known.server_kills)
        count += after_kill and now - made[uid] <= DUPLICATE_SECONDS
    return count


def _seat(pod: Object) -> tuple[str, str] | None:
    """Return the Job of an indexed pod and its index there."""
    meta = pod["metadata"]
    index = (meta.get("labels") or {}).get(labels.JOB_INDEX_LABEL)
    owners = [o["uid"] for o in meta.get("ownerReferences") or () if o.get("controller")]
    return (str(owners[0]), str(index)) if owners and index is not None else None


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
    whole = _whole_since(history, known)
    seen: set[str] = set()
    for event in history.events:
        job, meta = job_of(event.pod), event.pod["metadata"]
        since = whole.get(job)
        asked = deletes.get((meta["namespace"], meta["name"]))
        if since is None or not asked or event.uid in seen | known.struck:
            continue
        if node_of(event.pod) is not None and event.at > since:
            ended = job in known.deleted and known.deleted[job] <= max(asked)
            if max(asked) > since and not ended and _ours(event, history):
                seen.add(event.uid)
                after = max(asked) - since + WHOLE_SECONDS
                yield f"{job}: we deleted {meta['name']}, bound, {after:.1f} s after it was whole"


def _ours(event: Event, history: History) -> bool:
    """Return True if the pod began to end: a DELETE that was refused has harmed nothing."""
    return any(
        later.uid == event.uid and (later.gone or later.pod["metadata"].get("deletionTimestamp"))
        for later in history.events
    )


def _whole_since(history: History, known: Known) -> dict[str, float]:
    """Return, for each gang, the moment from which the extender must know it as whole."""
    begun: dict[str, float] = {}
    since: dict[str, float] = {}
    for event, job, living in _living(history):
        if job not in known.sizes or job in since:
            continue
        if job in begun and event.at - begun[job] >= WHOLE_SECONDS:
            since[job] = begun[job] + WHOLE_SECONDS
        elif len(living) >= known.sizes[job]:
            begun.setdefault(job, event.at)
        else:
            begun.pop(job, None)
    return since


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


def partial_seconds(history: History, job: str, size: int) -> float:
    """Return for how long part of a gang had nodes, if that was too long; else 0."""
    placed: set[str] = set()
    since, longest = 0.0, 0.0
    for event in (event for event in history.events if job_of(event.pod) == job):
        if 0 < len(placed) < size:
            longest = max(longest, event.at - since)
        before = len(placed)
        if event.gone or event.pod["status"].get("phase") == "Failed":
            placed.discard(event.uid)
        elif node_of(event.pod) is not None:
            placed.add(event.uid)
        if before in {0, size}:
            since = event.at
    return longest if longest > PARTIAL_SECONDS else 0.0


def _pod_of(path: str) -> tuple[str, str] | None:
    parts = path.strip("/").split("/")
    if len(parts) >= 6 and parts[:3] == ["api", "v1", "namespaces"] and parts[4] == "pods":
        return parts[3], parts[5]
    return None
