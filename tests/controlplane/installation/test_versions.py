"""The tests of first use and of our rights on every version of Kubernetes that is wired.

The first run builds each version's programs, with progress on the terminal: minutes for each.
"""

import asyncio
import copy
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.credentials.bootstrap import deploy_manifests
from devcluster.demo import jobs as examples
from devcluster.options import ClusterOptions, KwokNodes, Schedulers
from devcluster.programs.differences import Differences, differences
from devcluster.programs.versions import RELEASES
from devcluster.pytest_plugin import terminal
from devcluster.rights import calls, granted
from shared import labels
from shared.kube import auth, migrations, moving, paths
from shared.kube.client import KubeClient
from shared.kube.errors import InvalidError
from tests.controlplane.jobs import Manifest, Pods, job, pod
from tests.controlplane.watching import annotation, is_gated
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually
from tests.fakes.migrations import make_member, make_migration

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS = 90.0
SETTINGS = {"queue": {"settle_seconds": 0.05}}
UNGATED = Pods(gated=False)


@pytest.fixture(scope="module", params=sorted(RELEASES))
def kubernetes(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def has(kubernetes: str) -> Differences:
    return differences(kubernetes)


@pytest.fixture(scope="module")
def cluster(
    kubernetes: str,
    has: Differences,
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> Iterator[Cluster]:
    options = ClusterOptions(
        kubernetes=kubernetes,
        schedulers=Schedulers.SHUNTYARD,
        settings=SETTINGS,
        in_tree_gangs=has.gangs is not None,
        mutating_policies=True,
        record_api_calls=True,
    )
    directory = tmp_path_factory.mktemp("version")
    cluster = Cluster.up(directory, options, terminal(pytestconfig))
    try:
        cluster.add_kwok_nodes(KwokNodes(0))
        yield cluster
    finally:
        cluster.down()


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    return (KwokNodes(3, cpu="4"),)


async def read(yard: Yard, path: str) -> dict[str, Any]:
    return dict(json.loads(await yard.client.get(path)))


async def test_the_server_has_that_version_and_serves_the_listed_apis(
    yard: Yard, kubernetes: str, has: Differences
) -> None:
    assert (await read(yard, "/version"))["gitVersion"] == f"v{kubernetes}"
    served = [one["groupVersion"] for one in await _versions(yard)]
    assert has.mutating_policies.api in served
    if has.gangs is not None:
        assert has.gangs.api in served


async def _versions(yard: Yard) -> list[dict[str, Any]]:
    groups = (await read(yard, paths.GROUPS))["groups"]
    return [version for group in groups for version in group["versions"]]


KINDS = {"queued": Pods(), "direct": UNGATED}


@pytest.mark.parametrize("pods", KINDS.values(), ids=KINDS)
async def test_a_gang_is_bound_whole_by_its_plan(yard: Yard, pods: Pods) -> None:
    await yard.submit(job("it", 6, pods))
    await yard.until_bound("it")
    assert {annotation(one, labels.PLAN_SIZE) for one in yard.of("it")} == {"6"}
    assert len({annotation(one, labels.PLAN) for one in yard.of("it")}) == 1


async def test_a_gang_that_does_not_fit_waits_with_an_event(yard: Yard) -> None:
    await yard.submit(job("wide", 20))
    await yard.until_waiting("wide", "GangDoesNotFit")
    await eventually(lambda: yard.events("GangDoesNotFit"), PATIENCE_SECONDS)
    assert yard.bound("wide") == 0


async def test_a_migration_is_accepted_and_stored_by_its_schema(yard: Yard) -> None:
    one = replace(make_migration(make_member("m-0")), namespace=yard.team)
    extender = yard.cluster.layout.user_kubeconfig("shuntyard-extender")  # no other may write them
    async with KubeClient.connect(await asyncio.to_thread(auth.load, extender)) as client:
        answer = await moving.create_migration(client, one, {})
        assert answer is not None
        found = migrations.decode(answer)
        assert (found.members[0].pod, found.phase) == ("m-0", one.phase)
        with pytest.raises(InvalidError):
            await client.patch(
                paths.migration(yard.team, one.name, "status"), {"status": {"phase": "Elsewhere"}}
            )


async def test_the_command_reads_the_queue_through_the_api_server(yard: Yard) -> None:
    await yard.submit(job("wide", 20))
    await yard.until_waiting("wide", "GangDoesNotFit")
    argv = (sys.executable, "-m", "cli", "queue", "-o", "wide")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SHUNTYARD")}
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={**kept, "KUBECONFIG": str(yard.cluster.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed
    assert b"wide" in printed
    assert b"GangDoesNotFit" in printed


async def test_an_example_runs_to_its_end(yard: Yard, tmp_path: Path) -> None:
    (example,) = [one for one in examples.read_jobs(tmp_path) if "whole-nodes-3" in one.name]
    await examples.create(yard.client, examples.surroundings())
    await examples.create(yard.client, map(_short, example.manifests))
    path = paths.job(*example.name.split("/"))

    async def done() -> bool:
        return int((await read(yard, path)).get("status", {}).get("succeeded", 0)) == example.size

    await eventually(done, PATIENCE_SECONDS, f"{example.name} is complete")


def _short(manifest: examples.Manifest) -> Manifest:
    """Let each pod of a Job run for a second on a node of kwok."""
    changed = copy.deepcopy(dict(manifest))
    if changed["kind"] == "Job":
        metadata = changed["spec"]["template"].setdefault("metadata", {})
        metadata.setdefault("annotations", {})[labels.SIMULATED_DURATION] = "1s"
    return changed


async def test_the_api_server_itself_gates_our_pods(yard: Yard, has: Differences) -> None:
    await api.apply(yard.client, deploy_manifests("components/gate/waiting.yaml"))
    collection = has.mutating_policies.path
    bindings = f"{collection.removesuffix('ies')}ybindings"
    for path, manifest in zip((collection, bindings), gate_policies(has), strict=True):
        await yard.client.post(path, manifest)

    async def gated() -> bool:
        params = {"dryRun": "All"}
        made = await yard.client.post(paths.pods(yard.team), pod("p", UNGATED), params=params)
        return is_gated(json.loads(made))

    await eventually(gated, PATIENCE_SECONDS, "a pod that names our scheduler has the gate")


def gate_policies(has: Differences) -> list[Manifest]:
    """The gate as we ship it; before 1.36 as docs/versions.md says: beta, and no groups yet."""
    found = [copy.deepcopy(dict(one)) for one in deploy_manifests("components/gate/policy.yaml")]
    for one in found:
        one["apiVersion"] = has.mutating_policies.api
    if not has.has_mutating_policies:
        conditions = found[0]["spec"]["matchConditions"]
        conditions[:] = [one for one in conditions if "schedulingGroup" not in one["expression"]]
    return found


def test_no_call_of_ours_is_refused(cluster: Cluster) -> None:
    found = granted.compare(calls.read(cluster.layout.audit), granted.shipped())
    assert (found.missing, found.foreign) == ((), ()), list(granted.refusals(found))
