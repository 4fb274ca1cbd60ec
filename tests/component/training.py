"""Trainers, agents and owners over the fake API server, as a migration needs them.

* A trainer takes steps while its pod runs, saves on request, holds after that, and resumes where
  its job's directory says. It notes every step, so that a step done twice shows.
* An agent reports for its node and carries out what the answer asks.
* Owners make pods as their controllers do: a StatefulSet when the old object is gone, a ReplicaSet
  as soon as it is being deleted, a Job when its pod has ended, or when it is resumed.
* A kubelet runs what is bound and lets a deleted pod end after a moment.
"""

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from extender.core.agents import requests
from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.agents.requests import Ask, Cancel
from extender.writers.decision_log.recorder import Recorder
from shared import labels
from shared.kube import paths
from shared.model import NodeName, Uid
from shared.progress import Category, Checkpoint, CheckpointPhase, PodReport, Progress, Span, Use
from shared.system_clock import SystemClock
from tests.component.looping import looping
from tests.component.shell import Extender
from tests.fakes.kube import FakeKube

CLOCK = SystemClock()
LOOK_SECONDS = 0.01
END_SECONDS = 0.15
"""From the deletion of a running pod to the end of its object."""


@dataclass
class Directory:
    """A job's checkpoint directory: it outlives the pods."""

    saved_step: int | None = None
    steps: Counter[int] = field(default_factory=Counter)


@dataclass
class Trainer:
    """The training program of one pod."""

    uid: str
    directory: Directory
    step: int
    resumed_step: int | None
    request: str = ""
    phase: CheckpointPhase = CheckpointPhase.NONE
    hold_until: float = 0.0

    @property
    def holds(self) -> bool:
        return self.phase is CheckpointPhase.ACKED

    def tick(self) -> None:
        """Take a step, unless a checkpoint was just acknowledged."""
        if self.holds and CLOCK.now() >= self.hold_until:
            self.phase = CheckpointPhase.RELEASED
        if not self.holds:
            self.step += 1
            self.directory.steps[self.step] += 1


@dataclass
class Training:
    """The cluster around the extender.

    Attributes:
        categories: What each job's trainer counts as, by name of the job's directory.
        silent: Nodes whose agents do not report.
        deaf: Jobs whose trainers do not answer requests.
        unable: Jobs whose trainers cannot save.
        stuck: Nodes whose kubelets do not let go of deleted pods.
        paused: Owners make no pods.
        copies: The most trainers of one job that ever ran at the same time.
    """

    fake: FakeKube
    categories: dict[str, Category] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    deaf: set[str] = field(default_factory=set)
    unable: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    paused: bool = False
    directories: dict[str, Directory] = field(default_factory=dict)
    trainers: dict[str, Trainer] = field(default_factory=dict)
    copies: Counter[str] = field(default_factory=Counter)
    extender: Extender | None = None
    _ending: dict[str, float] = field(default_factory=dict)
    _sequence: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _serial: "itertools.count[int]" = field(default_factory=itertools.count)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Training"]:
        async with looping(self._live, LOOK_SECONDS, "training"):
            yield self

    def _live(self) -> None:
        self._run_pods()
        self._train()
        if not self.paused:
            self._own()
        self._report()

    def pods(self, job: str = "") -> list[dict[str, Any]]:
        found = self.fake.objects(paths.PODS)
        return [p for p in found if not job or directory_of(p) == job]

    def trainer_of(self, job: str) -> Trainer | None:
        """The trainer of a job of one pod that runs now."""
        uids = [p["metadata"]["uid"] for p in self.pods(job)]
        return next((self.trainers[uid] for uid in uids if uid in self.trainers), None)

    def doubled(self) -> dict[str, list[int]]:
        """Steps that were done more than once, by job."""
        found = {
            job: [s for s, n in one.steps.items() if n > 1] for job, one in self.directories.items()
        }
        return {job: steps for job, steps in found.items() if steps}

    def _run_pods(self) -> None:
        nodes = {n["metadata"]["name"] for n in self.fake.objects(paths.NODES)}
        for found in self.pods():
            meta, place = found["metadata"], found["spec"].get("nodeName")
            if place and place not in nodes:
                self._end(found)
            elif meta.get("deletionTimestamp"):
                self._let_go(found, place)
            elif place and found["status"]["phase"] == "Pending":
                self._start(found)

    def _start(self, found: dict[str, Any]) -> None:
        name, uid = directory_of(found), found["metadata"]["uid"]
        directory = self.directories.setdefault(name, Directory())
        saved = directory.saved_step
        self.trainers[uid] = Trainer(uid, directory, saved or 0, saved)
        self.fake.put(paths.PODS, {**found, "status": {**found["status"], "phase": "Running"}})

    def _let_go(self, found: dict[str, Any], node: str) -> None:
        uid = found["metadata"]["uid"]
        ends_at = self._ending.setdefault(uid, time.monotonic() + END_SECONDS)
        if time.monotonic() >= ends_at and node not in self.stuck:
            self._end(found)

    def _end(self, found: dict[str, Any]) -> None:
        meta = found["metadata"]
        self.trainers.pop(meta["uid"], None)
        self.fake.remove(paths.PODS, meta["name"], meta["namespace"])

    def _train(self) -> None:
        now: Counter[str] = Counter()
        running = {p["metadata"]["uid"]: directory_of(p) for p in self.pods()}
        for uid, trainer in self.trainers.items():
            if uid in running:
                trainer.tick()
                now[running[uid]] += 1
        for job, count in now.items():
            self.copies[job] = max(self.copies[job], count)

    def _own(self) -> None:
        for job in self.fake.objects(paths.JOBS):
            self._own_job(job)
        for collection in (paths.STATEFULSETS, REPLICA_SETS):
            for owner in self.fake.objects(collection):
                self._own_replicas(owner)

    def _own_job(self, job: dict[str, Any]) -> None:
        mine = [p for p in self.pods() if is_owned(p, job)]
        active = [p for p in mine if "deletionTimestamp" not in p["metadata"]]
        if job["spec"].get("suspend"):
            for found in active:
                mark_deleted(self.fake, found)
            active = []
        else:
            there = {index_of(p) for p in mine}
            for index in range(job["spec"]["parallelism"]):
                if index not in there:
                    self._make(job, f"{job['metadata']['name']}-{index}-{self._suffix()}", index)
        status = {"active": len(active)}
        if job.get("status") != status:
            self.fake.put(paths.JOBS, {**job, "status": status})

    def _own_replicas(self, owner: dict[str, Any]) -> None:
        mine = [p for p in self.pods() if is_owned(p, owner)]
        name, count = owner["metadata"]["name"], owner["spec"]["replicas"]
        if owner["kind"] == "StatefulSet":
            wanted = {f"{name}-{index}": index for index in range(count)}
            names = {p["metadata"]["name"] for p in mine}
            for missing in wanted.keys() - names:
                self._make(owner, missing, wanted[missing])
            for found in mine:
                surplus = found["metadata"]["name"] not in wanted
                if surplus and "deletionTimestamp" not in found["metadata"]:
                    mark_deleted(self.fake, found)
            return
        alive = [p for p in mine if "deletionTimestamp" not in p["metadata"]]
        for _ in range(count - len(alive)):
            self._make(owner, f"{name}-{self._suffix()}", None)

    def _make(self, owner: Mapping[str, Any], name: str, index: int | None) -> None:
        template = owner["spec"]["template"]
        keys = {"Job": labels.JOB_INDEX_LABEL, "StatefulSet": labels.STATEFULSET_INDEX_LABEL}
        marks = {} if index is None else {keys[owner["kind"]]: str(index)}
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            **template["metadata"],
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": {**template["metadata"].get("labels", {}), **marks},
            "ownerReferences": [reference],
        }
        self.fake.put(paths.PODS, {"metadata": metadata, "spec": template["spec"]})

    def _suffix(self) -> str:
        return f"{next(self._serial):05x}"

    def _report(self) -> None:
        """Every agent sends a full report and does what the answer orders."""
        if self.extender is None or self.extender.task.done():
            return
        loops = self.extender.parts.loops
        recorder = next(loop for loop in loops if isinstance(loop, Recorder))
        for node in self.fake.objects(paths.NODES):
            name = node["metadata"]["name"]
            if name in self.silent:
                continue
            recorder.report(self._heartbeat(name))
            for command in requests.commands(recorder.store.snapshot(), NodeName(name)):
                self._obey(command)

    def _heartbeat(self, node: str) -> NodeHeartbeat:
        here = [p for p in self.pods() if p["spec"].get("nodeName") == node]
        reports = (self._pod_report(p) for p in here if p["metadata"]["uid"] in self.trainers)
        return NodeHeartbeat(
            node=NodeName(node),
            boot="boot",
            sequence=next(self._sequence),
            sent_at=CLOCK.now(),
            received_at=time.monotonic(),
            full=True,
            use=Use(cpu_cores=1.0 if here else 0.0),
            cpu_cores=1.0,
            pods=tuple(reports),
        )

    def _pod_report(self, found: dict[str, Any]) -> PodReport:
        job, trainer = directory_of(found), self.trainers[found["metadata"]["uid"]]
        category = self.categories.get(job, Category.PROGRESSING)
        converged_at = 1.0 if category is Category.CONVERGED else None
        return PodReport(
            uid=Uid(trainer.uid),
            progress=Progress(
                metric="loss",
                source="jsonl",
                updated_at=CLOCK.now(),
                step=trainer.step,
                category=category,
                converged_at=converged_at,
                remaining_seconds=Span(10000.0, 9000.0, 11000.0),
            ),
            checkpoint=Checkpoint(
                step=trainer.directory.saved_step,
                save_seconds=0.01,
                save_bytes=1000,
                phase=trainer.phase,
                request=trainer.request,
                acked_step=trainer.step if trainer.holds else None,
                resumed_step=trainer.resumed_step,
            ),
        )

    def _obey(self, command: Ask | Cancel) -> None:
        trainer = self.trainers.get(command.uid)
        if trainer is None:
            return
        job = next(n for n, d in self.directories.items() if d is trainer.directory)
        match command:
            case Ask() if command.id != trainer.request and job not in self.deaf:
                trainer.request = command.id
                if job in self.unable:
                    trainer.phase = CheckpointPhase.REFUSED
                    return
                trainer.directory.saved_step = trainer.step
                trainer.phase = CheckpointPhase.ACKED
                trainer.hold_until = command.hold_deadline
            case Cancel() if command.id == trainer.request and trainer.holds:
                trainer.phase = CheckpointPhase.RELEASED
            case _:
                return


REPLICA_SETS = "/apis/apps/v1/replicasets"


def directory_of(found: Mapping[str, Any]) -> str:
    """Name of the pod's checkpoint directory: its job's, and its index where members are apart."""
    return str(found["metadata"].get("labels", {}).get("directory", ""))


def index_of(found: Mapping[str, Any]) -> int:
    return int(found["metadata"]["labels"][labels.JOB_INDEX_LABEL])


def is_owned(found: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    references = found["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == owner["metadata"]["uid"] for one in references)


def mark_deleted(fake: FakeKube, found: dict[str, Any]) -> None:
    meta = {**found["metadata"], "deletionTimestamp": "2026-11-21T12:00:00Z"}
    if found["spec"].get("nodeName"):
        fake.put(paths.PODS, {**found, "metadata": meta})
    else:
        fake.remove(paths.PODS, meta["name"], meta["namespace"])
