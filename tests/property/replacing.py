"""A small model in which bare pods are replaced: engine, executor's part, an API server.

Everything happens in steps that a test chooses. Each request may fail before or after it is carried
out, or the extender may end there; between two requests a user may delete a pod. The watch delivers
changes as the test orders.
"""

import contextlib
from collections import Counter
from collections.abc import Coroutine, Mapping
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from extender.core.cluster.commands import Command, DeletePod, ReleaseGang, ReleasePod
from extender.core.cluster.replacements import WITHDRAWN
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.store.assumed import Assumption
from extender.store.store import ClusterStore
from extender.writers.leader_writer import LeaderWriter
from extender.writers.replacing import Ending, Replacement
from shared import labels
from shared.kube import parse, paths, writes
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import ApiError, ConnectionLostError, ServerError, from_response
from shared.model import Delete, NodeName, Replace, Upsert
from tests.component.shell import node, pod
from tests.controlplane.moving.copies import is_alive, is_loose, member
from tests.fakes.deciding import queue_pass
from tests.fakes.kube_actions import Actions
from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_request import Target, target

SIZE = 3
NAMES = tuple(f"j-{i}" for i in range(SIZE))
JOB = "default/group/j"
T = TypeVar("T")


class Luck(StrEnum):
    """The outcome of one request."""

    GOOD = "good"
    REFUSED = "refused"
    LOST = "lost"
    """It never arrives, without an error."""
    UNANSWERED = "unanswered"
    """It is carried out, without an answer."""
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"


class CrashError(BaseException):
    """The extender ends."""


BEFORE: Mapping[Luck, BaseException] = {
    Luck.REFUSED: ServerError(503, "ServiceUnavailable", "by the test"),
    Luck.LOST: ConnectionLostError("by the test"),
    Luck.CRASH_BEFORE: CrashError(),
}
AFTER: Mapping[Luck, BaseException] = {
    Luck.UNANSWERED: ConnectionLostError("by the test"),
    Luck.CRASH_AFTER: CrashError(),
}


class World:
    """See the module.

    Attributes:
        luck: Of the requests to come; good where there is none.
        deletions: Before which of the requests to come a user deletes which member.
        unwanted: Members that a user deleted; True where the extender can tell it from its own.
        disturbed: Members of which a request failed while the copy was confirmed, and since then it
            was not settled whether our deletion happened.
        whole: The store has seen the gang whole, and survivors are there.
    """

    def __init__(self) -> None:
        self.server = Actions()
        self.server.store.write(("/api/v1/namespaces", "", "default"), {"metadata": {}})
        self.luck: list[Luck] = []
        self.deletions: list[str | None] = []
        self.unwanted: dict[str, bool] = {}
        self.disturbed: set[str] = set()
        self.whole = False
        self._seen = 0
        for name in ("a", "b"):
            self.put_node(name)
        for name in NAMES:
            self._create(pod(name, job="j", size=SIZE))
        self.restart()

    def restart(self) -> None:
        """Restart the extender: it lists the objects, and has no other state."""
        self.store, self.memory, self.now = ClusterStore(labels.SCHEDULER_NAME), QueueState(), 0.0
        for kind, collection, decode in (
            ("Node", paths.NODES, parse.decode_node),
            ("Pod", paths.PODS, parse.decode_pod),
        ):
            listed = self.server.store.collection(collection, "", lambda _found: True)
            found = tuple(decode(msgspec.json.encode(one)) for one in listed)
            self.store.apply(Replace(kind, kind, found))
        self._seen = self.server.store.version
        self._look()

    def put_node(self, name: str) -> None:
        key = (paths.NODES, "", name)
        if self.server.store.get(key) is None:
            made = {"kind": "Node", "apiVersion": "v1", **node(name, cpu=str(SIZE))}
            made["metadata"]["uid"] = f"node-{name}-{self.server.store.version}"
            self.server.store.write(key, made)

    def remove_node(self, name: str) -> None:
        key = (paths.NODES, "", name)
        if self.server.store.get(key) is not None:
            self.server.store.write(key, None)

    def deliver(self, most: int = 10_000) -> None:
        """Let the watch deliver the next changes."""
        for change in list(self.server.store.since(self._seen))[:most]:
            self._seen = change.version
            collection, namespace, name = change.key
            if collection not in {paths.PODS, paths.NODES}:
                continue
            kind = "Pod" if collection == paths.PODS else "Node"
            decode = parse.decode_pod if kind == "Pod" else parse.decode_node
            if change.after is None:
                uid = (change.before or {})["metadata"]["uid"]
                key = f"{namespace}/{name}" if namespace else name
                self.store.apply(Delete(kind, key, uid))
            else:
                self.store.apply(Upsert(decode(msgspec.json.encode(change.after))))
            self._look()

    def cycle(self, seconds: float) -> None:
        """Decide once, and carry out the commands."""
        self.now += seconds
        reading = Reading(self.now, self.now)
        snapshot = self.store.snapshot()
        decided = queue_pass(snapshot, self.memory, reading, CoreParameters())
        self.memory = decided.state
        dissolved = [c for c in decided.commands if is_dissolution(c)]
        assert not (self.whole and dissolved), "a gang that was whole is dissolved"
        try:
            for command in decided.commands:
                self._carry_out(command)
        except CrashError:
            self.restart()

    def bind(self, index: int) -> None:
        """Bind a released pod where it is planned, as kube-scheduler and the kubelet do."""
        waiting = [p for p in self.pods() if is_loose(p) and not p["spec"].get("nodeName")]
        for found in waiting[index % len(waiting) :][:1] if waiting else ():
            place = found["metadata"]["annotations"].get(labels.NODE)
            there = place and self.server.store.get((paths.NODES, "", place)) is not None
            if there and "deletionTimestamp" not in found["metadata"]:
                found["spec"]["nodeName"] = place
                found["status"]["phase"] = "Running"
                self._write(found)

    def end_pods(self) -> None:
        """Remove the pods that are being deleted, as the kubelets do."""
        for found in self.pods():
            if "deletionTimestamp" in found["metadata"]:
                self.server.store.write((paths.PODS, "default", found["metadata"]["name"]), None)
        self.check()

    def delete(self, name: str) -> None:
        """Delete the pod of a member by its present name, as a user does."""
        mine = [p for p in self.pods() if member(p) == name]
        if not mine:
            return
        alone = len(mine) == 1 and "deletionTimestamp" not in mine[0]["metadata"]
        recognizable = alone or (len(mine) == 2 and name not in self.disturbed and _undeleted(mine))
        self.unwanted[name] = recognizable and self.unwanted.get(name, True)
        first = next((p for p in mine if labels.REPLACED_BY in _notes(p)), mine[0])
        self.server.delete(_target(first["metadata"]["name"]), {})

    def pods(self) -> list[dict[str, Any]]:
        return self.server.store.collection(paths.PODS, "", lambda _found: True)

    def next_luck(self, about: Target) -> Luck:
        """Return the outcome of the next request, after the user's action before it."""
        if self.deletions and (name := self.deletions.pop(0)):
            self.delete(name)
        return self.luck.pop(0) if self.luck else Luck.GOOD

    def was_asked(self, about: Target, luck: Luck, version: str) -> None:
        """Take over how a request ended; ``version`` is that of its object before."""
        name = about.name[: len(NAMES[0])]
        mine = [p for p in self.pods() if name and member(p) == name]
        copies = [p for p in mine if labels.REPLACES in _notes(p)]
        confirmed = any(labels.PROVISIONAL not in _notes(p) for p in copies)
        if not confirmed:
            self.disturbed.discard(name)
        elif luck is not Luck.GOOD:
            self.disturbed.add(name)
            if name in self.unwanted:
                self.unwanted[name] = False
        elif version and self.version(about) not in {"", version} and any(map(_marked, mine)):
            self.disturbed.discard(name)  # our deletion cannot happen any more

    def version(self, about: Target) -> str:
        """Return the resource version of a pod; empty if it is not there."""
        found = self.server.store.get((paths.PODS, about.namespace, about.name))
        return "" if found is None else str(found["metadata"]["resourceVersion"])

    def check(self) -> None:
        """Never two copies of a member, never more members than the gang has."""
        pods = self.pods()
        loose = Counter(member(p) for p in pods if is_loose(p))
        assert max(loose.values(), default=0) <= 1, f"two copies run: {loose}"
        assert sum(map(is_alive, pods)) <= SIZE

    def _look(self) -> None:
        snapshot = self.store.snapshot()
        placed = [
            p for p in snapshot.jobs.get(JOB, ()) if p.node_name and not (p.deleting or p.finished)
        ]
        self.whole = (self.whole and bool(placed)) or len(placed) == SIZE

    def _carry_out(self, command: Command) -> None:
        if isinstance(command, ReleaseGang):
            for one in command.pods:
                self._release(one)
        elif isinstance(command, DeletePod) and not command.bare:
            assert command.cause == WITHDRAWN
            with contextlib.suppress(ApiError):
                run(writes.delete_pod(Client(self), command.pod, command.uid))
                self.store.assume(Assumption.deleted(command.uid, at=self.now))
        elif isinstance(command, DeletePod):
            attempt = Replacement(
                LeaderWriter(Client(self), lambda: True), command.pod, command.uid
            )
            try:
                if run(attempt.carry_out()) is Ending.DELETED:
                    self.store.assume(Assumption.deleted(command.uid, at=self.now))
            except ApiError:
                pass

    def _release(self, one: ReleasePod) -> None:
        held = self.store.snapshot().pods[one.pod]
        assert one.node is not None
        self.store.assume(
            Assumption.reserved(
                held.uid, one.node, plan=one.plan, plan_size=one.plan_size, at=self.now
            )
        )
        notes = {labels.PLAN: one.plan, labels.PLAN_SIZE: str(one.plan_size)}
        write = writes.release(
            Client(self),
            one.pod,
            one.uid,
            gates=one.gates,
            annotations={**notes, labels.NODE: NodeName(one.node)},
            terms=one.terms,
            resource_version=one.resource_version,
        )
        try:
            run(write)
        except ApiError:
            self.store.forget(one.uid)

    def _create(self, manifest: dict[str, Any]) -> None:
        self.server.create(Target(paths.PODS, "default", "", ""), manifest)

    def _write(self, found: dict[str, Any]) -> None:
        self.server.store.write((paths.PODS, "default", found["metadata"]["name"]), found)
        self.check()


class Client(KubeClient):
    """The connection to the model's server; ``luck`` decides the outcome of each request."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return self._ask(path, self._world.server.read)

    async def post(self, path: str, body: Any, params: Mapping[str, str] | None = None) -> bytes:
        return self._ask(path, lambda about: self._world.server.create(about, body))

    async def patch(
        self,
        path: str,
        body: Any,
        *,
        kind: PatchKind = PatchKind.MERGE,
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        return self._ask(path, lambda about: self._world.server.patch(about, body, kind.value))

    async def delete(self, path: str, **options: Any) -> bytes:
        wanted = {"uid": options.get("uid"), "resourceVersion": options.get("resource_version")}
        conditions = {"preconditions": {k: v for k, v in wanted.items() if v}}
        return self._ask(path, lambda about: self._world.server.delete(about, conditions))

    def _ask(self, path: str, act: Any) -> bytes:
        about = target(path)
        luck = self._world.next_luck(about)
        version = self._world.version(about)
        if luck in BEFORE:
            self._world.was_asked(about, luck, version)
            raise BEFORE[luck]
        try:
            answer = act(about)
        except Refusal as refusal:
            body = msgspec.json.encode(refusal.body())
            raise from_response(refusal.status, body, None) from refusal
        finally:
            self._world.was_asked(about, luck, version)
            self._world.check()
        if luck in AFTER:
            raise AFTER[luck]
        return msgspec.json.encode(answer)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing outside itself."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            value: T = end.value
            return value


def is_dissolution(command: Command) -> bool:
    return isinstance(command, DeletePod) and command.cause == "partial-gang"


def _undeleted(pods: list[dict[str, Any]]) -> bool:
    return not any("deletionTimestamp" in p["metadata"] for p in pods)


def _marked(found: dict[str, Any]) -> bool:
    return labels.REPLACED_BY in _notes(found)


def _notes(found: dict[str, Any]) -> dict[str, str]:
    notes: dict[str, str] = found["metadata"].get("annotations") or {}
    return notes


def _target(name: str) -> Target:
    return Target(paths.PODS, "default", name, "")
