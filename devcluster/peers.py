"""Other gang schedulers, for comparisons: what their kube-scheduler needs in the cluster."""

import enum
from pathlib import Path
from typing import Final

import yaml

from devcluster import api, schedulers
from devcluster.building import MODULES
from devcluster.differences import POD_GROUPS
from devcluster.layout import Layout
from devcluster.state import Component
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError, ThrottledError

IN_TREE_GROUPS: Final = f"/apis/{POD_GROUPS.api}/podgroups"
COSCHEDULING_GROUPS: Final = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
_SERVED_SECONDS: Final = 30.0


class Peer(enum.StrEnum):
    """A kube-scheduler that knows gangs without us; the value is its component's name."""

    IN_TREE = "in-tree-scheduler"
    COSCHEDULING = "coscheduling"

    @property
    def program(self) -> str:
        """Name of the program in `devcluster.versions`."""
        return "kube-scheduler" if self is Peer.IN_TREE else self.value

    @property
    def groups(self) -> str:
        """URL path of its PodGroups, over all namespaces."""
        return IN_TREE_GROUPS if self is Peer.IN_TREE else COSCHEDULING_GROUPS

    def component(self, program: Path, layout: Layout, port: int) -> Component:
        """Return its kube-scheduler, for pods that name no scheduler."""
        make = schedulers.in_tree if self is Peer.IN_TREE else schedulers.coscheduling
        return make(program, layout, port)


async def prepare(client: KubeClient, peer: Peer) -> None:
    """Apply the peer's kind and rights, and wait until its PodGroups are served.

    Raises:
        TimeoutError: They are not; for the in-tree gangs the cluster was not started for them.
    """
    if peer is Peer.COSCHEDULING:
        manifests = yaml.safe_load_all((MODULES / "coscheduling" / "podgroups.yaml").read_text())
        await api.apply(client, manifests)

    async def served() -> bool:
        try:
            await client.get(peer.groups)
        except (NotFoundError, ThrottledError):  # a new kind's storage begins by refusing
            return False
        return True

    await api.poll(served, _SERVED_SECONDS)
