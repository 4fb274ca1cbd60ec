"""The extender as the cluster runs it: its own service account, its own settings file."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.components.schedulers import write_config
from devcluster.credentials import kubeconfigs
from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK
from devcluster.local.state import Component, Probe
from shared.kube.client import KubeClient

NAMESPACE: Final = "shuntyard-system"
ACCOUNT: Final = "shuntyard-extender"
READY_PATH: Final = "/readyz"
STOP_SECONDS: Final = 30.0
"""`terminationGracePeriodSeconds` of deploy/base/extender.yaml."""
_TOKEN_SECONDS: Final = 365 * 24 * 3600


def extender(
    layout: Layout,
    kubeconfig: Path,
    *,
    scheduler_port: int,
    api_port: int,
    agents: tuple[str, int],
    settings: Mapping[str, Any],
    name: str = "extender",
) -> Component:
    """Return the extender; ``settings`` win over the cluster's own.

    Args:
        layout: The cluster's directory.
        kubeconfig: For the API server.
        scheduler_port: Port for kube-scheduler, on loopback.
        api_port: Port of the read API, on loopback.
        agents: Address and port for agents.
        settings: Settings that differ from its defaults.
        name: Of the component; its settings, its log and its decision log are named after it.
    """
    decided = {
        "kubernetes": {"kubeconfig": str(kubeconfig)},
        "scheduler": {"listen_host": LOOPBACK, "listen_port": scheduler_port},
        "api": {"listen_host": LOOPBACK, "listen_port": api_port},
        "agents": {
            "listen_host": agents[0],
            "listen_port": agents[1],
            "certificate": str(layout.server.certificate),
            "key": str(layout.server.key),
        },
        "signing": {"secret": "shuntyard-signing-keys"},
        "decision_log": {"directory": str(layout.decisions(name))},
    }
    file = write_config(layout, name, merged(decided, settings))
    return Component(
        argv=(sys.executable, "-m", "extender", "--settings", str(file)),
        log=str(layout.log(name)),
        probe=Probe(f"http://{LOOPBACK}:{api_port}{READY_PATH}"),
        stop_seconds=STOP_SECONDS,
    )


def agents_url(layout: Layout, name: str = "extender") -> str:
    """Return the URL at which an extender of this cluster listens for agents."""
    section = yaml.safe_load((layout.config / f"{name}.yaml").read_text())["agents"]
    return f"https://{section['listen_host']}:{section['listen_port']}"


def write_kubeconfig(layout: Layout, server: str, name: str = "extender") -> Path:
    """Return a kubeconfig with a token of the extender's service account, valid for a year."""

    async def token(client: KubeClient) -> str:
        return await api.request_token(client, NAMESPACE, ACCOUNT, _TOKEN_SECONDS)

    layout.config.mkdir(exist_ok=True)
    file = layout.config / f"{name}.token"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(api.call(layout.kubeconfig, token))
    kubeconfig = layout.user_kubeconfig(f"shuntyard-{name}")
    return kubeconfigs.write_for_token(kubeconfig, server, layout.authority, ACCOUNT, file)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the values of ``over``, group by group."""
    result = dict(base)
    for key, value in over.items():
        inner = result.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            result[key] = merged(inner, value)
        else:
            result[key] = value
    return result
