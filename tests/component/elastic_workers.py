"""An elastic job over the fake API server: its Job controller, its trainer, its node's agent.

Job ``j`` is Indexed and shares one checkpoint directory: worker 0 reports for all. A worker that is
removed while it runs and the trainer does not hold is counted as ``lost``.
"""

import contextlib
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from extender.core.agents import requests
from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.agents.requests import Ask, Cancel
from extender.core.records.rescale import Rescale
from extender.writers.decision_log.recorder import Recorder
from shared import labels
from shared.kube import paths
from shared.model import NodeName, Uid
from shared.progress import Checkpoint, CheckpointPhase, PodReport
from shared.system_clock import SystemClock
from tests.component.looping import looping
from tests.component.shell import Extender, MiniScheduler, extender, pod
from tests.component.training import index_of, is_owned, mark_deleted
from tests.fakes.kube import FakeKube

CLOCK = SystemClock()
LOOK_SECONDS = 0.01
END_SECONDS = 0.1
PATIENCE_SECONDS = 60.0
JOB = "j"
QUICK = {
    "interval_seconds": 0.1,
    "cooldown_seconds": 0.0,
    "checkpoint_seconds": 25.0,
    "hold_seconds": 30.0,
    "grow_seconds": 20.0,
    "starvation_seconds": None,
}
"""Settings of the section ``scaling``: no deadline passes but where a test makes it short."""
STALE_SECONDS = 10.0
CHECKPOINT = {labels.CHECKPOINT: ""}
TERMINATE = {labels.SHRINK: "terminate"}


def put_job(
    fake: FakeKube,
    workers: int,
    notes: dict[str, str],
    *,
    name: str = JOB,
    span: str = "1..4",
    priority: int = 0,
) -> None:
    """Put an Indexed Job; with a ``span`` it is elastic."""
    annotations = {labels.WORKERS: span, **notes} if span else notes
    spec = {**pod("")["spec"], "priority": priority}
    made = {"metadata": {"annotations": annotations}, "spec": spec}
    counts = {"parallelism": workers, "completions": workers, "completionMode": "Indexed"}
    fake.put(
        paths.JOBS,
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": made, **counts},
        },
    )


@dataclass
class ElasticWorkers:
    """The cluster around the extender.

    Attributes:
        deaf: The trainer does not answer.
        unable: It cannot save.
        silent: The agent does not report.
        lost: Workers of ``j`` that were removed while they trained.
        written: Each number of ``j`` after the first, in order.
    """

    fake: FakeKube
    deaf: bool = False
    unable: bool = False
    silent: bool = False
    lost: list[str] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    phase: CheckpointPhase = CheckpointPhase.NONE
    request: str = ""
    hold_until: float = 0.0
    extender: Extender | None = None
    _ending: dict[str, float] = field(default_factory=dict)
    _sequence: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["ElasticWorkers"]:
        async with looping(self._live, LOOK_SECONDS, "workers"):
            yield self

    def _live(self) -> None:
        self._own()
        self._run_pods()
        self._train()

    def running_workers(self, job: str = JOB) -> int:
        """Workers that run and are not being deleted."""
        return sum(
            p["status"]["phase"] == "Running" and "deletionTimestamp" not in p["metadata"]
            for p in self._pods(job)
        )

    def wanted(self) -> int:
        """The number of workers that ``j`` is ordered to have."""
        spec = self._job()["spec"]
        assert spec["parallelism"] == spec["completions"]
        return 0 if spec.get("suspend") else int(spec["parallelism"])

    def rescale(self) -> Rescale | None:
        """The record of the change of ``j`` that is in progress, or was the last."""
        found = self._job()["metadata"].get("annotations") or {}
        text = found.get(labels.RESCALE)
        return None if text is None else msgspec.json.decode(text, type=Rescale)

    def _job(self) -> dict[str, Any]:
        found = self.fake.object(paths.JOBS, JOB, "default")
        assert found is not None
        return found

    def _pods(self, job: str) -> list[dict[str, Any]]:
        return [p for p in self.fake.objects(paths.PODS) if _job_of(p) == job]

    def _own(self) -> None:
        for job in self.fake.objects(paths.JOBS):
            mine = [p for p in self.fake.objects(paths.PODS) if is_owned(p, job)]
            spec = job["spec"]
            wanted = 0 if spec.get("suspend") else int(spec["parallelism"])
            if job["metadata"]["name"] == JOB and [wanted] != self.written[-1:]:
                self.written.append(wanted)
            for found in mine:
                if index_of(found) >= wanted and "deletionTimestamp" not in found["metadata"]:
                    self._remove(found)
            for index in set(range(wanted)) - {index_of(p) for p in mine}:
                self._make(job, index)
        owners = {j["metadata"]["name"] for j in self.fake.objects(paths.JOBS)}
        for found in self.fake.objects(paths.PODS):
            if _job_of(found) and _job_of(found) not in owners:
                self.fake.remove(paths.PODS, found["metadata"]["name"], "default")

    def _remove(self, found: dict[str, Any]) -> None:
        trains = found["status"]["phase"] == "Running" and self.phase is not CheckpointPhase.ACKED
        if trains and _job_of(found) == JOB:
            self.lost.append(found["metadata"]["name"])
        mark_deleted(self.fake, found)

    def _make(self, job: dict[str, Any], index: int) -> None:
        template, owner = job["spec"]["template"], job["metadata"]
        reference = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": owner["name"],
            "uid": owner["uid"],
            "controller": True,
        }
        metadata = {
            "name": f"{owner['name']}-{index}-{next(self._sequence):05x}",
            "namespace": "default",
            "labels": {labels.JOB_INDEX_LABEL: str(index)},
            "annotations": dict(template["metadata"]["annotations"]),
            "ownerReferences": [reference],
        }
        self.fake.put(paths.PODS, {"metadata": metadata, "spec": template["spec"]})

    def _run_pods(self) -> None:
        for found in self.fake.objects(paths.PODS):
            meta = found["metadata"]
            if meta.get("deletionTimestamp"):
                ends_at = self._ending.setdefault(meta["uid"], time.monotonic() + END_SECONDS)
                if time.monotonic() >= ends_at:
                    self.fake.remove(paths.PODS, meta["name"], meta["namespace"])
            elif found["spec"].get("nodeName") and found["status"]["phase"] == "Pending":
                status = {**found["status"], "phase": "Running"}
                self.fake.put(paths.PODS, {**found, "status": status})

    def _train(self) -> None:
        if self.phase is CheckpointPhase.ACKED and CLOCK.now() >= self.hold_until:
            self.phase = CheckpointPhase.RELEASED
        if self.extender is None or self.extender.task.done() or self.silent:
            return
        loops = self.extender.parts.loops
        recorder = next(loop for loop in loops if isinstance(loop, Recorder))
        for node in self.fake.objects(paths.NODES):
            name = NodeName(node["metadata"]["name"])
            recorder.report(self._heartbeat(name))
            for command in requests.commands(recorder.store.snapshot(), name):
                self._obey(command)

    def _heartbeat(self, node: NodeName) -> NodeHeartbeat:
        checkpoint = Checkpoint(phase=self.phase, request=self.request)
        here = [p for p in self._pods(JOB) if p["spec"].get("nodeName") == node]
        running = [p for p in here if p["status"]["phase"] == "Running" and index_of(p) == 0]
        return NodeHeartbeat(
            node=node,
            boot="boot",
            sequence=next(self._sequence),
            sent_at=CLOCK.now(),
            received_at=time.monotonic(),
            full=True,
            pods=tuple(
                PodReport(uid=Uid(p["metadata"]["uid"]), checkpoint=checkpoint) for p in running
            ),
        )

    def _obey(self, command: Ask | Cancel) -> None:
        match command:
            case Ask() if command.id != self.request and not self.deaf:
                refused = self.unable
                self.phase = CheckpointPhase.REFUSED if refused else CheckpointPhase.ACKED
                self.request, self.hold_until = command.id, command.hold_deadline
            case Cancel() if command.id == self.request and self.phase is CheckpointPhase.ACKED:
                self.phase = CheckpointPhase.RELEASED
            case _:
                return


def settings(scaling: dict[str, Any], log: Path | None = None) -> dict[str, Any]:
    """Sections of the extender's settings; ``stale_seconds`` belongs to the agents' reports."""
    stale_seconds = scaling.pop("stale_seconds", STALE_SECONDS)
    return {
        "scaling": {**QUICK, **scaling},
        "migration": {"policy": "none"},
        "agent_reports": {"stale_seconds": stale_seconds},
        "decision_log": {"directory": log},
    }


@contextlib.asynccontextmanager
async def elastic_cluster(
    fake: FakeKube, *, log: Path | None = None, **scaling: Any
) -> AsyncIterator[tuple[ElasticWorkers, Extender]]:
    """Run workers, agents, the Job controller, a scheduler and an extender."""
    async with (
        ElasticWorkers(fake).running() as workers,
        life(fake, workers, log=log, **scaling) as running,
    ):
        yield workers, running


@contextlib.asynccontextmanager
async def life(
    fake: FakeKube, workers: ElasticWorkers, *, log: Path | None = None, **scaling: Any
) -> AsyncIterator[Extender]:
    """Run an extender; its agents and kube-scheduler are there as well."""
    async with extender(fake, **settings(scaling, log)) as running:
        workers.extender = running
        async with MiniScheduler(fake, running.scheduler_url).running():
            yield running


def _job_of(found: dict[str, Any]) -> str:
    references = found["metadata"].get("ownerReferences") or ()
    return str(references[0]["name"]) if references else ""
