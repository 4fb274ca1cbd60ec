"""Installed by the Helm chart on two real nodes: tested, schedules, is updated, and nothing stays.

The other way of installation: test_installation.py.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.real_nodes.commands import run
from devcluster.real_nodes.installation import REGISTRY, SYSTEM, image
from tests.controlplane.real_training_yard import AGENT_SETTINGS, SETTINGS
from tests.controlplane.training_yard import PATIENCE_SECONDS
from tests.deploy.helm import CHART, built
from tests.fakes.eventually import eventually
from tests.install import remains
from tests.install.tags import FIRST, NEXT
from tests.install.yard import InstalledYard, gang, lent

pytestmark = [pytest.mark.e2e]

SECONDS: Final = 900.0
TEAM: Final = "team-"
"""What the jobs of other tests were in stays, as users' namespaces do."""
SHORT: Final = 'print(\'{"step": 1, "loss": 0.5}\', flush=True)'


class Release:
    """The release of the chart on a cluster.

    Attributes:
        before: What the cluster had before.
    """

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.before = api.call(cluster.kubeconfig, remains.objects)
        self._cluster, self._values = cluster, directory / "values.yaml"

    def put(self, tag: str) -> None:
        """Install the chart with images of a tag, or update to them; wait until all is ready."""
        images = {"extender": "shuntyard-extender", "kubeScheduler": "kube-scheduler"}
        values: dict[str, Any] = {
            part: {"image": {"repository": f"{REGISTRY}/{name}", "tag": tag}}
            for part, name in {**images, "agent": "shuntyard-agent"}.items()
        }
        values["extender"]["settings"] = SETTINGS
        values["agent"]["settings"] = {**AGENT_SETTINGS, "sampling": {"cores": 1.0}}
        directory = {"path": str(self._cluster.layout.volume)}
        values["storage"] = {"kind": "directory", "directory": directory}
        self._values.write_text(yaml.safe_dump(values))
        options = ("--create-namespace", "--wait", "--timeout", f"{SECONDS:.0f}s")
        self.helm(
            *("upgrade", "--install", "shuntyard", str(CHART), "--values", str(self._values)),
            *options,
        )

    def helm(self, *arguments: str) -> str:
        """Run Helm as an administrator and return its output."""
        way = ("--kubeconfig", str(self._cluster.kubeconfig), "--namespace", SYSTEM)
        return run(str(built("helm")), *arguments, *way, seconds=2 * SECONDS)

    def remove(self) -> None:
        """Uninstall the release, if it is there."""
        self.helm("uninstall", "shuntyard", "--ignore-not-found", "--wait", "--timeout", "900s")


@pytest.fixture(scope="module")
def release(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    release = Release(cluster, tmp_path_factory.mktemp("release"))
    release.put(FIRST)
    try:
        yield release
    finally:
        release.remove()


@pytest.fixture
async def yard(cluster: Cluster, release: Release) -> AsyncIterator[InstalledYard]:
    assert release
    async with lent(cluster) as yard:
        yield yard


async def test_the_chart_s_own_test_passes_and_a_gang_is_bound(
    yard: InstalledYard, release: Release
) -> None:
    tested = await asyncio.to_thread(release.helm, "test", "shuntyard", "--timeout", "300s")
    assert "Phase:          Succeeded" in tested
    await yard.submit(gang("first", SHORT))
    await yard.until_bound("first")
    printed = await asyncio.to_thread(yard.run_command, "jobs", "--namespace", yard.team)
    assert "first" in printed


async def test_an_update_takes_the_new_images_and_binds_on(
    yard: InstalledYard, release: Release
) -> None:
    await asyncio.to_thread(release.put, NEXT)

    async def updated() -> bool:
        used = {c["image"] for pod in await yard.replicas() for c in pod["spec"]["containers"]}
        assert used == {image(name, NEXT) for name in ("shuntyard-extender", "kube-scheduler")}
        return True

    await eventually(updated, PATIENCE_SECONDS, "only the new replicas are there")
    await yard.submit(gang("second", SHORT))
    await yard.until_bound("second")


async def test_removal_leaves_only_the_namespace_of_the_release(
    cluster: Cluster, release: Release
) -> None:
    await asyncio.to_thread(release.remove)
    kept = f"namespaces /{SYSTEM}"
    made_by_kubernetes = {
        f"configmaps {SYSTEM}/kube-root-ca.crt",
        f"serviceaccounts {SYSTEM}/default",
    }

    async def gone() -> bool:
        now = await asyncio.to_thread(api.call, cluster.kubeconfig, remains.objects)
        left = {one for one in now - release.before if TEAM not in one}
        assert left <= {kept, *made_by_kubernetes}, sorted(left)
        return True

    await eventually(gone, PATIENCE_SECONDS, "everything of ours is gone")
    await asyncio.to_thread(api.call, cluster.kubeconfig, _remove_namespace)


async def _remove_namespace(client: Any) -> None:
    await client.delete(f"/api/v1/namespaces/{SYSTEM}")
