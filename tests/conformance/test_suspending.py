"""Suspending and resuming a Job, as migrations need it."""

import json
from typing import Any

import pytest

from shared import labels
from shared.kube import moving, parse, paths, writes
from shared.kube.errors import ConflictError
from shared.model import Owner
from tests.conformance.conftest import NODE, OTHER_UID, PATIENCE_SECONDS, REAL, Server, ref
from tests.fakes.eventually import eventually


async def job(server: Server, **spec: Any) -> Owner:
    template = {
        "spec": {
            "restartPolicy": "Never",
            "schedulerName": "none",
            "containers": [{"name": "main", "image": "example.org/none:1"}],
        }
    }
    body = {"metadata": {"name": "j"}, "spec": {"template": template, **spec}}
    return parse.decode_job(json.dumps(await server.create(paths.JOBS, body)).encode())


async def live_job(server: Server) -> Owner:
    return parse.decode_job(await server.client.get(paths.job(server.namespace, "j")))


async def test_a_job_is_suspended_by_its_version_and_resumed(server: Server) -> None:
    await job(server)
    seen = await eventually(lambda: live_job(server))
    suspended = parse.decode_job(
        await retried(
            server, lambda one: moving.suspend(server.client, server.namespace, one, "n/m")
        )
    )
    assert suspended.job is not None
    assert suspended.job.suspended
    assert suspended.annotations[labels.MIGRATION] == "n/m"
    with pytest.raises(ConflictError):
        await moving.suspend(server.client, server.namespace, seen, "n/m")
    with pytest.raises(ConflictError):
        await moving.resume(server.client, server.namespace, "j", OTHER_UID)
    for _ in range(2):
        answer = await moving.resume(server.client, server.namespace, "j", seen.uid)
        resumed = parse.decode_job(answer)
        assert resumed.job is not None
        assert not resumed.job.suspended
        assert labels.MIGRATION not in resumed.annotations


async def retried(server: Server, write: Any) -> bytes:
    """The Job's controller writes to it too: a version that was read may soon be outdated."""
    while True:
        try:
            return bytes(await write(await live_job(server)))
        except ConflictError:
            continue


async def test_the_failure_conditions_of_a_job_are_read(server: Server) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [143]}}
    made = await job(
        server,
        completions=2,
        parallelism=2,
        completionMode="Indexed",
        backoffLimitPerIndex=3,
        podFailurePolicy={"rules": [rule]},
    )
    assert made.job is not None
    assert (made.job.per_index, made.job.failures_left, made.job.fails_with_pod) == (True, 3, True)


@REAL
async def test_a_resumed_job_makes_new_pods_while_old_ones_still_end(server: Server) -> None:
    """This is why a migration resumes only when the last old object is gone."""
    await job(server)
    (pod,) = await eventually(lambda: _pods(server), PATIENCE_SECONDS)
    await writes.bind(server.client, *ref(pod), NODE)
    await retried(server, lambda one: moving.suspend(server.client, server.namespace, one, "n/m"))
    await eventually(lambda: server.deleting(pod["metadata"]["name"]), PATIENCE_SECONDS)
    await eventually(lambda: _active(server, 0), PATIENCE_SECONDS)
    assert (await live_job(server)).job.failures_left == 6  # type: ignore[union-attr] - a Job
    await moving.resume(server.client, server.namespace, "j", (await live_job(server)).uid)
    both = await eventually(lambda: _two(server), PATIENCE_SECONDS)
    assert sum("deletionTimestamp" in one["metadata"] for one in both) == 1


@REAL
async def test_a_suspended_job_counts_no_failure_when_its_pods_end(server: Server) -> None:
    await job(server, backoffLimit=0)
    (pod,) = await eventually(lambda: _pods(server), PATIENCE_SECONDS)
    await writes.bind(server.client, *ref(pod), NODE)
    await retried(server, lambda one: moving.suspend(server.client, server.namespace, one, "n/m"))
    await eventually(lambda: server.deleting(pod["metadata"]["name"]), PATIENCE_SECONDS)
    ended = {"status": {"phase": "Failed"}}
    await server.client.patch(paths.pod(server.namespace, pod["metadata"]["name"], "status"), ended)
    await writes.delete_pod(server.client, *ref(pod), grace_seconds=0)
    await eventually(lambda: _none(server), PATIENCE_SECONDS)
    await moving.resume(server.client, server.namespace, "j", (await live_job(server)).uid)
    await eventually(lambda: _pods(server), PATIENCE_SECONDS)
    status = (await server.get("j", paths.JOBS))["status"]
    assert status.get("failed", 0) == 0


async def _pods(server: Server) -> list[dict[str, Any]]:
    return list((await server.listed())["items"])


async def _two(server: Server) -> list[dict[str, Any]]:
    found = await _pods(server)
    return found if len(found) == 2 else []


async def _none(server: Server) -> bool:
    return not await _pods(server)


async def _active(server: Server, count: int) -> bool:
    found = (await live_job(server)).job
    return found is not None and found.active == count
