"""kube-scheduler: plain, with our extender, and with the gang schedulers that we compare with."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.credentials import kubeconfigs
from devcluster.credentials.bootstrap import deploy_manifests
from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK
from devcluster.local.state import Component, Probe
from devcluster.programs.building import MODULES
from devcluster.programs.differences import Feature, differences
from shared.errors import InputError
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError, ThrottledError

_USER: Final = "system:kube-scheduler"
_API: Final = "kubescheduler.config.k8s.io/v1"


def plain(program: Path, layout: Layout, port: int) -> Component:
    """Return the kube-scheduler of pods that name none: upstream's defaults, faster client."""
    return _scheduler("default-scheduler", program, layout, port, _config(layout))


def in_tree(program: Path, layout: Layout, port: int, gangs: Feature) -> Component:
    """Return the plain kube-scheduler with Kubernetes' own gangs switched on."""
    flag = f"--feature-gates={gangs.gates_flag}"
    return _scheduler("in-tree-scheduler", program, layout, port, _config(layout), flag)


def coscheduling(program: Path, layout: Layout, port: int) -> Component:
    """Return the plain kube-scheduler with the coscheduling plugin, at the plugin's defaults.

    Source:
        scheduler-plugins v0.34.7 ``manifests/coscheduling/scheduler-config.yaml``.
    """
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    }
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    config = {**_config(layout), "profiles": [profile]}
    return _scheduler("coscheduling", program, layout, port, config)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Times of leader election, in seconds; the defaults are kube-scheduler's."""

    duration_seconds: float = 15
    renew_deadline_seconds: float = 10
    retry_seconds: float = 2

    def section(self) -> dict[str, str]:
        """Return them as fields of ``leaderElection``."""
        return {
            "leaseDuration": f"{self.duration_seconds}s",
            "renewDeadline": f"{self.renew_deadline_seconds}s",
            "retryPeriod": f"{self.retry_seconds}s",
        }


def ours(
    program: Path,
    layout: Layout,
    port: int,
    extender_port: int,
    *,
    name: str = "kube-scheduler",
    server: str | None = None,
    lease: LeaseTimes | None = None,
) -> Component:
    """Return the kube-scheduler of deploy/base/scheduler.yaml, calling the extender here.

    Args:
        program: Its binary.
        layout: The cluster's directory.
        port: Its own.
        extender_port: Where the extender listens for it.
        name: Of the component.
        server: URL of the API server, where it goes there another way; None: straight.
        lease: Times of leader election; None: the defaults.
    """
    (config,) = deploy_manifests("base/scheduler.yaml")
    kubeconfig = layout.user_kubeconfig(_USER)
    if server is not None:
        kubeconfig = kubeconfigs.with_server(kubeconfig, server, kubeconfig.with_stem(name))
    connection = {**config["clientConnection"], "kubeconfig": str(kubeconfig)}
    url = f"http://{LOOPBACK}:{extender_port}"
    extenders = [{**entry, "urlPrefix": url} for entry in config["extenders"]]
    election = {**config["leaderElection"], **(lease.section() if lease else {})}
    changed = {
        **config, "clientConnection": connection, "extenders": extenders,
        "leaderElection": election,
    }  # fmt: skip
    return _scheduler(name, program, layout, port, changed)


def _config(layout: Layout) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(layout.user_kubeconfig(_USER)),
            "qps": 1000,
            "burst": 2000,
        },
    }


def write_config(layout: Layout, name: str, content: Mapping[str, Any]) -> Path:
    """Write a configuration file and return its path."""
    layout.config.mkdir(exist_ok=True)
    file = layout.config / f"{name}.yaml"
    file.write_text(yaml.safe_dump(dict(content), sort_keys=False))
    return file


def _scheduler(
    name: str, program: Path, layout: Layout, port: int, config: Mapping[str, Any], *more: str
) -> Component:
    file = write_config(layout, name, config)
    kubeconfig = config["clientConnection"]["kubeconfig"]
    flags = (
        f"--config={file}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={layout.server.certificate}",
        f"--tls-private-key-file={layout.server.key}",
    )
    return Component(
        argv=(str(program), *flags, *more),
        log=str(layout.log(name)),
        probe=Probe(f"https://{LOOPBACK}:{port}/readyz"),
    )


COSCHEDULING_GROUPS: Final = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
_SERVED_SECONDS: Final = 30.0


class Peer(enum.StrEnum):
    """A kube-scheduler that knows gangs without us; the value is its component's name."""

    IN_TREE = "in-tree-scheduler"
    COSCHEDULING = "coscheduling"

    @property
    def program(self) -> str:
        """Name of the program in `devcluster.programs.versions`."""
        return "kube-scheduler" if self is Peer.IN_TREE else self.value

    def groups(self, kubernetes: str) -> str:
        """Return the URL path of its PodGroups, over all namespaces.

        Raises:
            InputError: This version of Kubernetes has none of its own.
        """
        return COSCHEDULING_GROUPS if self is Peer.COSCHEDULING else _own(kubernetes).path

    def component(self, program: Path, layout: Layout, port: int, kubernetes: str) -> Component:
        """Return its kube-scheduler, for pods that name no scheduler.

        Raises:
            InputError: This version of Kubernetes has no PodGroups of its own.
        """
        if self is Peer.COSCHEDULING:
            return coscheduling(program, layout, port)
        return in_tree(program, layout, port, _own(kubernetes))


def _own(kubernetes: str) -> Feature:
    found = differences(kubernetes).pod_groups
    if found is None:
        raise InputError("in-tree gangs", f"Kubernetes {kubernetes}", "at least 1.36")
    return found


async def prepare_peer(client: KubeClient, peer: Peer, kubernetes: str) -> None:
    """Apply the peer's kind and rights, and wait until its PodGroups are served.

    Raises:
        InputError: This version of Kubernetes has no PodGroups of its own.
        TimeoutError: They are not; for the in-tree gangs the cluster was not started for them.
    """
    if peer is Peer.COSCHEDULING:
        manifests = yaml.safe_load_all((MODULES / "coscheduling" / "podgroups.yaml").read_text())
        await api.apply(client, manifests)

    async def served() -> bool:
        try:
            await client.get(peer.groups(kubernetes))
        except (NotFoundError, ThrottledError):  # a new kind's storage begins by refusing
            return False
        return True

    await api.poll(served, _SERVED_SECONDS)
