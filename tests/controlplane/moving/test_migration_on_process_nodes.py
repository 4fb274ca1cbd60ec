"""A converged training job moves on a real control plane; real processes, observed from outside."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bench.specon.files import Ack, JobFiles, overlaps, repeated
from bench.specon.jobs import Manifest, Training
from devcluster.cluster import Cluster
from shared import labels
from shared.readapi.ledgers import MigrationEntry
from tests.controlplane import training_yard
from tests.controlplane.training_yard import (
    NODES,
    TrainingYard,
    converging,
    lent,
    two_at_once,
)
from tests.controlplane.watching import Object, job_of
from tests.controlplane.yard import Start

pytestmark = pytest.mark.controlplane

SOURCE, TARGET = NODES
SLOW = 0.5
"""Seconds that writing a checkpoint takes, so that a program that does not wait for it fails."""


@pytest.fixture(scope="module")
def start() -> Start:
    return training_yard.start


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with lent(cluster) as yard:
        yield yard


async def test_a_converged_job_moves_and_resumes_at_its_last_step(yard: TrainingYard) -> None:
    await yard.begin_on(SOURCE, converging("it", save_seconds=SLOW))
    ended = await yard.until_phase("Completed")
    await yard.until_done("it")
    ack = _went_on_where_it_was(yard.files("it"))
    assert two_at_once(yard.history, _is_of(yard, ended)) == []
    assert yard.jobs.first(lambda job: job["spec"].get("suspend")) > ack.written_at
    assert _steps_of(ended) == (ack.step, ack.step)
    assert _places_of(ended) == (SOURCE, TARGET)
    (entry,) = await yard.ledger()
    _the_ledger_agrees(entry, ack, "suspend")
    await yard.until_nothing_is_kept()
    shown = await asyncio.to_thread(_shuntyard, yard, "migrations")
    assert all(word in shown for word in ("it", SOURCE, TARGET, "Completed", str(ack.step)))
    assert "it" in await asyncio.to_thread(_shuntyard, yard, "jobs")


@dataclass(frozen=True)
class Owned:
    """A training with an owner of some kind, and how its pods leave."""

    kind: str
    mover: str
    index_label: str = ""

    def training(self) -> Training:
        own = {labels.MIN_AVAILABLE: "1"} if self.kind == "Job" else {}
        policy = "Always" if self.kind == "StatefulSet" else "Never"
        made = converging("it", save_seconds=SLOW, annotations=own, restart_policy=policy)
        return replace(made, index_label=self.index_label)

    def manifest(self, template: Manifest) -> Manifest:
        metadata = {"name": "it", **({} if self.kind != "Pod" else template["metadata"])}
        spec = {"Pod": _pod, "StatefulSet": _stateful_set, "Job": _indexed_job}[self.kind]
        group = {"Pod": "v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}[self.kind]
        body = {"apiVersion": group, "kind": self.kind, "metadata": metadata}
        return {**body, "spec": spec(template)}


def _pod(template: Manifest) -> Manifest:
    spec: Manifest = template["spec"]
    return spec


def _stateful_set(template: Manifest) -> Manifest:
    template["metadata"]["labels"]["app"] = "it"
    selector = {"matchLabels": {"app": "it"}}
    return {"replicas": 1, "serviceName": "it", "selector": selector, "template": template}


def _indexed_job(template: Manifest) -> Manifest:
    counts = {"completions": 2, "parallelism": 2, "backoffLimitPerIndex": 3}
    return {**counts, "completionMode": "Indexed", "template": template}


OWNERS: dict[str, Owned] = {
    "a bare pod is made again": Owned("Pod", "recreate"),
    "a StatefulSet makes it again": Owned("StatefulSet", "evict"),
    "one of two pods of an Indexed Job is made again": Owned(
        "Job", "evict", labels.JOB_INDEX_LABEL
    ),
}


@pytest.mark.e2e
@pytest.mark.parametrize("owned", OWNERS.values(), ids=OWNERS)
async def test_a_job_moves_with_every_kind_of_owner(yard: TrainingYard, owned: Owned) -> None:
    training = owned.training()
    await yard.begin_on(SOURCE, training, owned.manifest(yard.template(training)))
    ended = await yard.until_phase("Completed")
    index = ended["spec"]["members"][0].get("index")
    member = str(index) if owned.index_label else ""
    await yard.until_done("it", member)
    ack = _went_on_where_it_was(yard.files("it", member))
    is_it = _is_of(yard, ended)
    assert two_at_once(yard.history, is_it) == []
    left = yard.pods.first(lambda pod: is_it(pod) and "deletionTimestamp" in pod["metadata"])
    assert left > ack.written_at
    assert _steps_of(ended) == (ack.step, ack.step)
    assert _places_of(ended) == (SOURCE, TARGET)
    entry = next(e for e in await yard.ledger() if e.name == ended["metadata"]["name"])
    _the_ledger_agrees(entry, ack, owned.mover)


def _went_on_where_it_was(files: JobFiles) -> Ack:
    """Check the trainers' own files; return the checkpoint.

    A container that is restarted after the end of its training is left out.
    """
    lives = files.lives()
    uids = dict.fromkeys(life.uid for life in lives)
    before, after = (next(life for life in lives if life.uid == uid) for uid in uids)
    (ack,) = files.acks()
    steps = files.steps()
    assert (before.node, after.node) == (SOURCE, TARGET)
    assert ack.uid == before.uid
    assert overlaps(lives) == ()
    assert max(step.step for step in steps if step.at < after.begun_at) == ack.step
    assert min(step.step for step in steps if step.at > after.begun_at) == ack.step + 1
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    assert repeated(steps) == 0
    return ack


def _is_of(yard: TrainingYard, migration: Object) -> Any:
    """Return a check whether a pod is the one that moves, before or after."""
    index = migration["spec"]["members"][0].get("index")

    def is_it(pod: Object) -> bool:
        marks = pod["metadata"].get("labels") or {}
        same = index is None or marks.get(labels.JOB_INDEX_LABEL, str(index)) == str(index)
        return same and job_of(pod) == yard.key("it")

    return is_it


def _steps_of(migration: Object) -> tuple[int, int]:
    (member,) = migration["status"]["members"]
    return member["ackedStep"], member["resumedStep"]


def _places_of(migration: Object) -> tuple[str, str]:
    (member,) = migration["spec"]["members"]
    return member["source"], member["target"]


def _the_ledger_agrees(entry: MigrationEntry, ack: Ack, mover: str) -> None:
    (move,) = entry.members
    assert (entry.phase, entry.trigger, entry.mover) == ("Completed", "converged", mover)
    assert (move.source, move.target) == (SOURCE, TARGET)
    assert (move.acked_step, move.resumed_step) == (ack.step, ack.step)
    assert entry.lost_steps == 0
    assert entry.downtime_seconds is not None
    assert entry.downtime_seconds > 0


def _shuntyard(yard: TrainingYard, command: str) -> str:
    argv = [sys.executable, "-m", "cli", command, "--url", yard.cluster.extender_url]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
