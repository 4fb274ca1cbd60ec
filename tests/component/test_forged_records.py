"""Migrations and records that another client wrote on owners have no effect (defect A5)."""

import json

import pytest

from shared import labels
from shared.kube import paths
from tests.component.moving_yard import ends
from tests.component.shell import bound, extender, pod
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.nodes("a", "b")

UNSIGNED = {"signing": {"secret": None}}
MIGRATE = {"migration": {"interval_seconds": 0.1}}
NOW = "2026-01-01T00:00:00Z"
LATER = "2126-01-01T00:00:00Z"


def put_migration(fake):
    """A Migration that would make us create a pod of the forger's choice, and keep all of b."""
    template = pod("forged")
    template["spec"]["serviceAccountName"] = "cluster-admin"
    member = {
        "pod": "gone", "uid": "u", "source": "a", "target": "b",
        "requests": {"cpu": 4000}, "template": template,
    }  # fmt: skip
    spec = {"job": "default/pod/gone", "trigger": "converged", "mover": "recreate"}
    status = {
        "phase": "Recreating",
        "deadline": LATER,
        "transitions": [{"phase": "Recreating", "at": NOW}],
    }
    metadata = {"name": "forged", "namespace": "default"}
    body = {"metadata": metadata, "spec": {**spec, "members": [member]}, "status": status}
    fake.put(paths.MIGRATIONS, body)


def names(fake):
    return {found["metadata"]["name"] for found in fake.objects(paths.PODS)}


async def test_without_signatures_a_forged_migration_makes_us_create_a_pod(fake):
    """The signature exists to prevent this."""
    put_migration(fake)
    async with extender(fake, **UNSIGNED, **MIGRATE):
        await eventually(lambda: names(fake))


async def test_a_forged_migration_is_aborted_without_effect(fake):
    put_migration(fake)
    for i in range(8):  # all the room there is
        fake.put(paths.PODS, pod(f"j-{i}", job="j", size=8))
    async with extender(fake, **MIGRATE):
        await eventually(lambda: ends(fake) == [("Aborted", "NotOurs")])
        await eventually(lambda: _released(fake) == 8)
    assert "forged" not in names(fake)
    assert bound(fake) == {}


def _released(fake):
    return sum(not found["spec"].get("schedulingGates") for found in fake.objects(paths.PODS))


def put_elastic_job(fake, notes):
    """A Job of three workers that may have one to four; ``notes`` go to its owner."""
    metadata = {"name": "e", "namespace": "default", "uid": "e-uid"}
    template = {"metadata": {}, "spec": pod("")["spec"]}
    spec = {"parallelism": 3, "completions": 3, "completionMode": "Indexed", "template": template}
    annotations = {labels.WORKERS: "1..4", labels.SHRINK: "terminate", **notes}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "e", "uid": "e-uid"}
    fake.put(paths.JOBS, {"metadata": {**metadata, "annotations": annotations}, "spec": spec})
    for i in range(3):
        marks = {"labels": {labels.JOB_INDEX_LABEL: str(i)}, "annotations": {}}
        mine = {"ownerReferences": [{**owner, "controller": True}], **marks}
        made = pod(f"e-{i}", metadata=mine, schedulingGates=[], nodeName="a")
        fake.put(paths.PODS, {**made, "status": {"phase": "Running"}})


def record(phase):
    """A change to one worker that another client wrote as in progress."""
    return json.dumps(
        {
            "id": "x", "phase": phase, "cause": "room", "before": 3, "to": 1, "at": 1.0,
            "since": 1.0, "owner": "e-uid", "job": "default/job/e",
        }
    )  # fmt: skip


@pytest.mark.parametrize("phase", ["Asked", "Shrinking"])
async def test_a_forged_record_of_a_change_changes_nothing(fake, phase):
    notes = {labels.RESCALE: record(phase), labels.RECORDS[labels.RESCALE]: "v1:0:1:0"}
    put_elastic_job(fake, notes)
    fake.put(paths.PODS, pod("other"))  # the queue continues: cycles have run
    async with extender(fake, scaling={"interval_seconds": 0.1}):
        await eventually(lambda: _released(fake) >= 4)
    assert fake.object(paths.JOBS, "e", "default")["spec"]["parallelism"] >= 3
    assert {"e-0", "e-1", "e-2"} <= names(fake)
