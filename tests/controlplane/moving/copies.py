"""What a watch history proves about copies of bare pods: never two of one member at one time."""

import re
from collections import Counter

from tests.controlplane.watching import History, Object, is_gated, job_of

COPY = re.compile(r"-r[0-9a-f]{8}$")
"""What we append to the name of a pod to get the name of its copy."""


def member(pod: Object) -> str:
    """Return the name of the first pod in the line of copies that this pod belongs to."""
    return COPY.sub("", str(pod["metadata"]["name"]))


def is_loose(pod: Object) -> bool:
    """Return True if the pod may run: it has no gate of ours and has not finished."""
    return not is_gated(pod) and pod["status"].get("phase") not in {"Succeeded", "Failed"}


def is_alive(pod: Object) -> bool:
    """Return True if the pod is bound, has not finished and is not being deleted."""
    bound = pod["spec"].get("nodeName")
    return bool(bound) and is_loose(pod) and "deletionTimestamp" not in pod["metadata"]


def alive(history: History, job: str) -> int:
    """Return how many pods of a job are alive now."""
    return sum(is_alive(pod) for pod in history.of(job))


def doubled(history: History) -> tuple[str, ...]:
    """Return the members of which two pods could run at the same time.

    A pod without our gate counts until its object is gone, also while it is being deleted.
    """
    pods: dict[str, Object] = {}
    found: set[str] = set()
    for event in history.events:
        if event.gone:
            pods.pop(event.uid, None)
        else:
            pods[event.uid] = event.pod
        loose = Counter(member(pod) for pod in pods.values() if is_loose(pod))
        found.update(name for name, count in loose.items() if count > 1)
    return tuple(sorted(found))


def most_alive(history: History, job: str) -> int:
    """Return how many pods of a job were alive at one time at most."""
    pods: dict[str, Object] = {}
    most = 0
    for event in history.events:
        if event.gone:
            pods.pop(event.uid, None)
        else:
            pods[event.uid] = event.pod
        most = max(most, sum(is_alive(p) for p in pods.values() if job_of(p) == job))
    return most
