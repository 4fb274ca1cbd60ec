"""A yard in which Jobs train, are parked and come back: trainers, agents, owners, a scheduler."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from extender.core.records.parking import Parking, Phase
from shared import labels
from shared.kube import paths
from tests.component.moving_yard import PATIENCE_SECONDS, scheduled
from tests.component.shell import Extender, extender, pod
from tests.component.training import Training
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

JOB = "m"
QUICK = {
    "interval_seconds": 0.1,
    "checkpoint_seconds": 25.0,
    "hold_seconds": 30.0,
    "resume_seconds": 40.0,
    "least_wait_seconds": 0.0,
    "least_run_seconds": 0.0,
    "rest_seconds": 0.0,
    "most_per_hour": 100,
}
"""Settings of the section ``preemption``: no deadline passes but where a test makes it short."""


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


def put_job(
    fake: FakeKube,
    size: int = 1,
    *,
    name: str = JOB,
    namespace: str = "default",
    notes: dict[str, str] | None = None,
    checkpoint: bool = True,
    gated: bool = True,
    priority: int = 0,
    **spec: Any,
) -> None:
    """Put a Job of a gang; ``notes`` are its own annotations."""
    own = {labels.CHECKPOINT: ""} if checkpoint else {}
    pods = {**pod("")["spec"], "priority": priority}
    if not gated:
        del pods["schedulingGates"]
    template = {"metadata": {"labels": {"directory": name}, "annotations": own}, "spec": pods}
    counts = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
    metadata = {"name": name, "namespace": namespace, "annotations": notes or {}}
    made = {"template": template, **counts, **spec}
    fake.put(paths.JOBS, {"metadata": metadata, "spec": made})


def job_of(fake: FakeKube, name: str = JOB) -> dict[str, Any]:
    found = fake.object(paths.JOBS, name, "default")
    assert found is not None
    return found


def noted(fake: FakeKube, key: str, text: str | None, name: str = JOB) -> None:
    """Set an annotation of the Job as its user does; None removes it."""
    job = job_of(fake, name)
    kept = {k: v for k, v in (job["metadata"].get("annotations") or {}).items() if k != key}
    notes = kept if text is None else {**kept, key: text}
    fake.put(paths.JOBS, {**job, "metadata": {**job["metadata"], "annotations": notes}})


def park(fake: FakeKube, name: str = JOB) -> None:
    noted(fake, labels.PARK, "true", name)


def resume(fake: FakeKube, name: str = JOB) -> None:
    noted(fake, labels.PARK, None, name)


def move(fake: FakeKube, *nodes: str, name: str = JOB) -> None:
    noted(fake, labels.MOVE, ",".join(nodes) or "*", name)


def parking_of(fake: FakeKube, name: str = JOB) -> Parking | None:
    """The record on the Job."""
    text = (job_of(fake, name)["metadata"].get("annotations") or {}).get(labels.PARKING)
    return None if text is None else msgspec.json.decode(text, type=Parking)


def is_suspended(fake: FakeKube, name: str = JOB) -> bool:
    return bool(job_of(fake, name)["spec"].get("suspend"))


async def reached(fake: FakeKube, phase: Phase, name: str = JOB, why: str = "") -> Parking:
    """Wait until the parking of the Job is in the phase; return it."""

    def check() -> Parking | None:
        one = parking_of(fake, name)
        return one if one is not None and (one.phase, one.why) == (phase, why) else None

    await eventually(lambda: check() is not None, PATIENCE_SECONDS)
    found = check()
    assert found is not None, parking_of(fake, name)
    return found


async def trains(training: Training, name: str = JOB, count: int = 1) -> None:
    """Wait until so many trainers of the Job run."""
    await eventually(
        lambda: (
            sum(p["metadata"]["uid"] in training.trainers for p in training.pods(name)) == count
        ),
        PATIENCE_SECONDS,
    )


def settings(
    preemption: dict[str, Any],
    log: Path | None = None,
    *,
    gangs: bool = False,
    tenancy: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Sections of the extender's settings."""
    return {
        "preemption": {**QUICK, **preemption},
        "migration": {"rebalance": "never", "interval_seconds": 0.1, "gangs": gangs},
        "decision_log": {"directory": log},
        "tenancy": tenancy or {},
    }


@contextlib.asynccontextmanager
async def yard(
    fake: FakeKube,
    *,
    log: Path | None = None,
    order: str = "cps",
    gangs: bool = False,
    tenancy: dict[str, Any] | None = None,
    drain: dict[str, Any] | None = None,
    **preemption: Any,
) -> AsyncIterator[tuple[Training, Extender]]:
    """Run trainers, agents, owners, a scheduler and an extender."""
    sections = settings(preemption, log, gangs=gangs, tenancy=tenancy)
    async with (
        Training(fake).running() as training,
        extender(fake, **sections, queue={"order": order}, drain=drain or {}) as running,
        scheduled(fake, training, running),
    ):
        yield training, running


@contextlib.asynccontextmanager
async def restarted(
    fake: FakeKube, training: Training, **preemption: Any
) -> AsyncIterator[Extender]:
    """Run another extender after the first was killed."""
    changes = settings(preemption)
    async with extender(fake, **changes) as running, scheduled(fake, training, running):
        yield running
