"""Kinds of other projects are observed once they are installed; without them all else works."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from extender.app import replay
from extender.controllers.observe import observer as observe_observer
from extender.controllers.observe import optional_kind
from extender.controllers.observe.observer import Observer
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from shared.kube import paths
from tests.component.shell import QUICK, Extender, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_selectors import Object

JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
RAY_CLUSTERS = "/apis/ray.io/v1/rayclusters"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
IN_TREE = "/apis/scheduling.k8s.io/{}/podgroups"
FORBIDDEN = kube_faults.Answer(403, "Forbidden")


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, node("a", cpu="16"))
        yield server


@pytest.fixture(autouse=True)
def short_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_kind, "CATALOG_SECONDS", 0.05)


def observer(running: Extender) -> Observer:
    return next(loop for loop in running.parts.loops if isinstance(loop, Observer))


def observed(running: Extender) -> set[str]:
    """Return the names of the owners and groups that decisions see."""
    snapshot = observer(running).recorder.store.snapshot()
    owners = {owner.name for owner in snapshot.owners}
    return owners | {group.name for group in snapshot.groups.values()}


async def get(running: Extender, path: str) -> tuple[int, bytes]:
    host, port = running.others[0]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{host}:{port}{path}") as response,
    ):
        return response.status, await response.read()


async def ready(running: Extender) -> bool:
    return (await get(running, "/readyz"))[0] == 200


async def waits(running: Extender, job: str, reason: str) -> None:
    async def listed() -> bool:
        _, queue = await get(running, "/v1/queue")
        entries = json.loads(queue)["entries"]
        return (job, reason) in {(entry["job"], entry["reason"]) for entry in entries}

    await eventually(listed, why=f"{job} waits: {reason}")


def named(name: str, over: Object | None = None, **fields: Any) -> Object:
    owners = {"ownerReferences": [{**over, "controller": True}]} if over else {}
    return {"metadata": {"name": name, "namespace": "default", **owners}, **fields}


def put_owner(fake: FakeKube, collection: str, manifest: Object) -> Object:
    """Put an object and return a reference to it."""
    owner = fake.put(collection, manifest)
    meta = owner["metadata"]
    kind = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**kind, "name": meta["name"], "uid": meta["uid"]}


def put_job_set(fake: FakeKube, name: str, replicas: object = 1) -> None:
    """Create a JobSet of two parts, a Job for each, and two gated pods for each Job."""
    counts = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    parts = [
        {"name": part, "replicas": replicas, "template": {"spec": counts}} for part in ("ps", "w")
    ]
    top = put_owner(fake, JOB_SETS, named(name, spec={"replicatedJobs": parts}))
    for part in ("ps", "w"):
        job = put_owner(fake, paths.JOBS, named(f"{name}-{part}-0", top, spec=counts))
        for index in range(2):
            meta = named(f"{name}-{part}-0-{index}", job)["metadata"]
            meta["labels"] = {
                "jobset.sigs.k8s.io/jobset-name": name,
                "jobset.sigs.k8s.io/replicatedjob-name": part,
                labels.JOB_INDEX_LABEL: str(index),
            }
            fake.put(paths.PODS, pod(meta["name"], metadata=meta))


async def test_a_kind_that_is_installed_later_is_observed_without_a_restart(fake: FakeKube) -> None:
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: ready(running))
        fake.install(JOB_SETS)
        put_job_set(fake, "it")
        await eventually(lambda: len(bound(fake)) == 4)


async def test_the_pods_of_a_pod_group_are_a_gang(fake: FakeKube) -> None:
    fake.install(GROUPS)
    fake.put(GROUPS, named("g", spec={"minMember": 3}))
    in_group = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        for index in range(2):
            meta = named(f"p{index}")["metadata"]
            fake.put(paths.PODS, pod(f"p{index}", metadata={**meta, **in_group}))
        await waits(running, "g", "GangIncomplete")
        fake.put(paths.PODS, pod("p2", metadata={**named("p2")["metadata"], **in_group}))
        await eventually(lambda: len(bound(fake)) == 3)


async def test_a_kind_without_the_right_to_list_it_delays_only_its_own_jobs(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(optional_kind, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(optional_kind, "SOON_SECONDS", 0.1)
    fake.install(JOB_SETS)
    put_job_set(fake, "it")
    allowed = kube_faults.Slow()
    fake.faults.order("list", JOB_SETS, *([FORBIDDEN] * 5), allowed)
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await waits(running, "it", "GangSizeUnknown")
        fake.put(paths.PODS, pod("alone"))
        await eventually(lambda: "alone" in bound(fake))
        await eventually(lambda: fake.faults.left == 0)
        lines = [r.message for r in caplog.records if "jobsets.jobset" in r.message]
        assert len(lines) == 1, lines
        assert "gang sizes of its pods must be stated: 403 Forbidden" in lines[0]
        allowed.gate.set()
        await eventually(lambda: len(bound(fake)) == 5)


async def test_a_bad_object_is_named_and_left_out(
    fake: FakeKube, caplog: pytest.LogCaptureFixture
) -> None:
    fake.install(JOB_SETS)
    put_job_set(fake, "odd", replicas="two")
    put_job_set(fake, "it")
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: len(bound(fake)) == 4)
        await waits(running, "odd", "GangSizeUnknown")
    (line,) = {r.message for r in caplog.records if "skipped" in r.message}
    assert line.startswith("skipped default/odd: ")
    assert "$.spec.replicatedJobs[0].replicas" in line


async def test_the_objects_of_a_kind_go_and_come_with_the_kind(
    fake: FakeKube,
) -> None:
    for collection, spec in ((RAY_CLUSTERS, {}), (GROUPS, {"minMember": 2})):
        fake.install(collection)
        fake.put(collection, named(collection.rpartition("/")[2], spec=spec))
    async with extender(fake) as running:
        await eventually(lambda: observed(running) == {"rayclusters", "podgroups"})
        fake.uninstall(RAY_CLUSTERS)
        await eventually(lambda: observed(running) == {"podgroups"})
        assert await ready(running)
        fake.install(RAY_CLUSTERS)
        fake.put(RAY_CLUSTERS, named("again", spec={}))
        await eventually(lambda: observed(running) == {"again", "podgroups"})


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
async def test_the_version_that_the_server_has_is_observed(fake: FakeKube, version: str) -> None:
    collection = IN_TREE.format(version)
    fake.install(collection)
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    fake.put(collection, named("g", spec=spec))
    async with extender(fake) as running:
        await eventually(lambda: observed(running) == {"g"})


async def test_missing_kinds_cost_no_request_of_their_own(fake: FakeKube) -> None:
    async with extender(fake) as running:
        await eventually(lambda: ready(running))
        await eventually(lambda: fake.verbs("apis").count("get") > 5)
    kinds = {optional.kind.path.rpartition("/")[2] for optional in observer(running).optional}
    # of Kubernetes itself, and ours
    kinds -= {"jobs", "deployments", "replicasets", "migrations"}
    assert not kinds & {call.resource for call in fake.calls}


@pytest.mark.parametrize("answer", [FORBIDDEN, kube_faults.Answer(404, "NotFound")])
async def test_each_kind_is_tried_if_the_api_groups_cannot_be_listed(
    fake: FakeKube, answer: kube_faults.Answer
) -> None:
    fake.install(RAY_CLUSTERS)
    fake.put(RAY_CLUSTERS, named("r", spec={}))
    fake.faults.order("get", paths.GROUPS, *([answer] * 1000))
    async with extender(fake) as running:
        await eventually(lambda: observed(running) == {"r"})
        await eventually(lambda: ready(running))
        assert fake.verbs("jobsets") == ["list"]


async def test_readiness_does_not_wait_for_a_kind_that_cannot_be_listed(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe_observer, "PATIENCE_SECONDS", 0.2)
    fake.install(RAY_CLUSTERS)
    fake.put(RAY_CLUSTERS, named("r", spec={}))
    fake.faults.order("list", RAY_CLUSTERS, *([kube_faults.SERVER_ERROR] * 2))
    async with extender(fake) as running:
        assert not await ready(running)
        await eventually(lambda: ready(running))
        await eventually(lambda: observed(running) == {"r"})


async def test_only_the_kinds_in_the_settings_are_observed(fake: FakeKube) -> None:
    for collection in (RAY_CLUSTERS, GROUPS):
        fake.install(collection)
        fake.put(collection, named(collection.rpartition("/")[2], spec={}))
    read = {"read": ["podgroups.scheduling.x-k8s.io"]}
    async with extender(fake, kinds=read) as running:
        await eventually(lambda: ready(running))
        assert observed(running) == {"podgroups"}
        assert "rayclusters" not in {call.resource for call in fake.calls}


async def test_decisions_about_owners_and_groups_replay(fake: FakeKube, tmp_path: Path) -> None:
    fake.install(JOB_SETS)
    fake.install(GROUPS)
    fake.put(GROUPS, named("g", spec={"minMember": 3}))
    put_job_set(fake, "it")
    section = {"directory": tmp_path}
    async with (
        extender(fake, decision_log=section) as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        await eventually(lambda: len(bound(fake)) == 4)
        fake.uninstall(JOB_SETS)
        await eventually(lambda: "it" not in observed(running))
    settings = ExtenderSettings.model_validate(QUICK)
    params = core_parameters(settings, labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, params) == 0


async def test_devices_that_are_published_later_release_waiting_pods(
    fake: FakeKube, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No node offers what they request; the log has class and devices, so it replays."""
    resources = {"requests": {"cpu": "1", "example.com/gpu": "1"}}
    containers = [{"name": "main", "image": "x", "resources": resources}]
    section = {"directory": tmp_path}
    async with (
        extender(fake, decision_log=section) as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        for index in range(2):
            fake.put(paths.PODS, pod(f"g-{index}", job="g", size=2, containers=containers))
        await waits(running, "g", "NoSuchNode")
        assert await ready(running)
        fake.install(paths.DEVICE_CLASSES)
        fake.put(
            paths.DEVICE_CLASSES, named("gpu", spec={"extendedResourceName": "example.com/gpu"})
        )
        fake.install(paths.RESOURCE_SLICES)
        devices = [{"name": f"gpu-{i}"} for i in range(2)]
        published = {"driver": "d", "nodeName": "a", "pool": {"name": "a"}, "devices": devices}
        fake.put(paths.RESOURCE_SLICES, named("slice", spec=published))
        await eventually(lambda: len(bound(fake)) == 2)
    settings = ExtenderSettings.model_validate(QUICK)
    parameters = core_parameters(settings, labels.SCHEDULER_NAME)
    assert await asyncio.to_thread(replay.run, tmp_path, parameters) == 0
    assert " 0 differ" in capsys.readouterr().out
