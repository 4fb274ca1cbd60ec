"""kube-scheduler: plain, with our extender, and as its peers run it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster.bootstrap import deploy_manifests
from devcluster.differences import POD_GROUPS
from devcluster.layout import Layout
from devcluster.ports import LOOPBACK
from devcluster.state import Component, Probe

_USER: Final = "system:kube-scheduler"
_API: Final = "kubescheduler.config.k8s.io/v1"


def plain(program: Path, layout: Layout, port: int) -> Component:
    """Return the kube-scheduler of pods that name none: upstream's defaults, faster client."""
    return _scheduler("default-scheduler", program, layout, port, _config(layout))


def in_tree(program: Path, layout: Layout, port: int) -> Component:
    """Return the plain kube-scheduler with Kubernetes' own gangs (alpha) switched on."""
    flag = f"--feature-gates={POD_GROUPS.gates_flag}"
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


def ours(program: Path, layout: Layout, port: int, extender_port: int) -> Component:
    """Return the kube-scheduler of deploy/base/scheduler.yaml, calling the extender here."""
    (config,) = deploy_manifests("base/scheduler.yaml")
    connection = {
        **config["clientConnection"],
        "kubeconfig": str(layout.user_kubeconfig(_USER)),
    }
    url = f"http://{LOOPBACK}:{extender_port}"
    extenders = [{**entry, "urlPrefix": url} for entry in config["extenders"]]
    changed = {**config, "clientConnection": connection, "extenders": extenders}
    return _scheduler("kube-scheduler", program, layout, port, changed)


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
    kubeconfig = layout.user_kubeconfig(_USER)
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
