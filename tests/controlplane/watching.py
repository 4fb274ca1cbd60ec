"""The watch history of pods at the API server, and the laws it proves.

Nothing here asks the extender. A history is in the order of resource versions, which is the order
in which the API server accepted the writes.
"""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, GoneError, transient
from tests.fakes.eventually import eventually

Object = Mapping[str, Any]

BURST_SECONDS = 10.0
"""From the first to the last Binding of a gang; later it is partial."""


@dataclass(frozen=True)
class Event:
    """One change of a pod; ``at`` is when we saw it, in monotonic seconds."""

    type: str
    version: int
    at: float
    pod: Object

    @property
    def uid(self) -> str:
        return str(self.pod["metadata"]["uid"])

    @property
    def gone(self) -> bool:
        return self.type == "DELETED"


@dataclass
class History:
    """All changes of all pods since the recording began; ``pods`` are those that exist now."""

    events: list[Event] = field(default_factory=list)
    pods: dict[str, Object] = field(default_factory=dict)
    version: int = 0

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.version = event.version
        if event.gone:
            self.pods.pop(event.uid, None)
        else:
            self.pods[event.uid] = event.pod

    def of(self, job: str) -> list[Object]:
        """The pods of a job that exist now, by name."""
        found = [pod for pod in self.pods.values() if job_of(pod) == job]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def bound(self, job: str) -> int:
        """How many of them are bound now."""
        return sum(node_of(pod) is not None for pod in self.of(job))

    def write(self, path: Path) -> None:
        """Write a line of JSON for each change, for a reader who traces a failure."""
        with path.open("w") as file:
            for event in self.events:
                line = {"type": event.type, "at": event.at, "object": event.pod}
                file.write(json.dumps(line) + "\n")

    async def caught_up(self, client: KubeClient) -> None:
        """Wait until the history has every change that the server has now."""
        listed = json.loads(await client.get(paths.PODS))["items"]
        newest = max((int(pod["metadata"]["resourceVersion"]) for pod in listed), default=0)
        await eventually(lambda: self.version >= newest)


@asynccontextmanager
async def recording(client: KubeClient) -> AsyncIterator[History]:
    """Yield a history that grows while the block runs.

    Raises:
        GoneError: The server forgot where we were: the history has a hole and proves nothing.
    """
    history = History()
    page = json.loads(await client.get(paths.PODS))
    history.version = int(page["metadata"]["resourceVersion"])
    for pod in page["items"]:
        history.pods[pod["metadata"]["uid"]] = pod
    task = asyncio.create_task(_follow(client, history), name="watch history")
    try:
        yield history
    finally:
        ended = task.done()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            assert not ended


def job_of(pod: Object) -> str:
    """Return ``namespace/name`` of the pod's job: by label, else its controller, else itself."""
    metadata = pod["metadata"]
    marks = metadata.get("labels") or {}
    name = marks.get(labels.JOB) or marks.get(labels.TRAINING_JOB_NAME)
    if not name:
        owners = [o["name"] for o in metadata.get("ownerReferences") or () if o.get("controller")]
        name = owners[0] if owners else metadata["name"]
    return f"{metadata['namespace']}/{name}"


def name_of(pod: Object) -> str:
    """Return the pod's ``namespace/name``."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def role_of(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(labels.ROLE, ""))


def node_of(pod: Object) -> str | None:
    node: str | None = pod["spec"].get("nodeName")
    return node


def is_gated(pod: Object) -> bool:
    return any(gate["name"] == labels.GATE for gate in pod["spec"].get("schedulingGates") or ())


def annotation(pod: Object, key: str) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(key, ""))


def queued_condition(pod: Object) -> Object:
    """Return the pod's condition ``shuntyard.io/Queued``; empty if it has none."""
    conditions = pod["status"].get("conditions") or ()
    return next((c for c in conditions if c["type"] == labels.QUEUED_CONDITION), {})


def releases(history: History) -> tuple[Event, ...]:
    """Return, in order, the changes that took our gate from a pod."""
    return tuple(_turns(history, lambda pod: not is_gated(pod), after=is_gated))


def bindings(history: History) -> tuple[Event, ...]:
    """Return, in order, the changes that gave a pod its node."""
    return tuple(_turns(history, lambda pod: node_of(pod) is not None))


def release_order(history: History) -> tuple[str, ...]:
    """Return the jobs in the order in which the first pod of each was released."""
    return tuple(dict.fromkeys(job_of(event.pod) for event in releases(history)))


def releases_are_blocks(history: History) -> bool:
    """Return True if every job was released as a whole before the next one's first pod."""
    jobs = [job_of(event.pod) for event in releases(history)]
    changes = sum(a != b for a, b in itertools.pairwise(jobs))
    return changes == len(set(jobs)) - 1


def bind_roles(history: History, job: str) -> tuple[str, ...]:
    """Return the roles of a job's pods in the order in which they were bound."""
    return tuple(role_of(event.pod) for event in bindings(history) if job_of(event.pod) == job)


def rank_of_last(roles: tuple[str, ...], role: str) -> int:
    """Return the position, from 1, of the last pod of that role."""
    return max(i for i, found in enumerate(roles, start=1) if found == role)


def bound_twice(history: History) -> tuple[str, ...]:
    """Return pods that changed their node: the API server forbids it, so it is always empty."""
    nodes: dict[str, set[str]] = {}
    for event in history.events:
        if node := node_of(event.pod):
            nodes.setdefault(event.uid, set()).add(node)
    return tuple(uid for uid, found in nodes.items() if len(found) > 1)


def partial_gangs(
    history: History, sizes: Mapping[str, int], burst_seconds: float = BURST_SECONDS
) -> tuple[str, ...]:
    """Return the jobs of ``sizes`` that were partial at some time.

    A gang is *binding* from its first Binding on; it is partial if it is neither unbound nor
    complete when ``burst_seconds`` have passed or the history ends. One that was complete once and
    then loses a member is not a broken burst.
    """
    return tuple(
        job for job, size in sizes.items() if _was_partial(history, job, size, burst_seconds)
    )


def _was_partial(history: History, job: str, size: int, burst_seconds: float) -> bool:
    placed: set[str] = set()
    begun = 0.0
    for event in history.events:
        if job_of(event.pod) != job:
            continue
        if placed and event.at - begun > burst_seconds:
            return True
        if event.gone or event.pod["status"].get("phase") == "Failed":
            placed.discard(event.uid)
        elif node_of(event.pod) is not None:
            begun = begun if placed else event.at
            placed.add(event.uid)
        if len(placed) >= size:
            return False
    return bool(placed)


def _turns(
    history: History,
    condition: Callable[[Object], bool],
    after: Callable[[Object], bool] = lambda _: True,
) -> Iterator[Event]:
    """Yield the first change of each pod with ``condition``; once ``after`` was seen before it."""
    open_pods: set[str] = set()
    done: set[str] = set()
    for event in history.events:
        if event.gone or event.uid in done:
            continue
        if after(event.pod):
            open_pods.add(event.uid)
        if event.uid in open_pods and condition(event.pod):
            done.add(event.uid)
            yield event


async def _follow(client: KubeClient, history: History) -> None:
    while True:
        params = {"watch": "1", "resourceVersion": str(history.version), "timeoutSeconds": "3600"}
        try:
            async for line in client.stream(paths.PODS, params):
                _take(history, json.loads(line))
        except ApiError as error:  # the API server was restarted: nothing is lost, continue
            if not transient(error):
                raise
            await asyncio.sleep(0.05)


def _take(history: History, line: Mapping[str, Any]) -> None:
    if line["type"] == "ERROR":
        status = line["object"]
        raise GoneError(status.get("code", 0), status.get("reason", ""), status.get("message", ""))
    pod = line["object"]
    version = int(pod["metadata"]["resourceVersion"])
    history.add(Event(line["type"], version, time.monotonic(), pod))
