"""The read API as a Service, so that the API server's proxy to it is real.

The proxy goes to the addresses of the Service's Endpoints that a Pod object has too, never to
loopback ones. So there is a Pod that nobody runs, with an address of this machine, where a relay
listens; the EndpointSlice beside the Endpoints is made by the controller that mirrors them.

Source:
    kubernetes v1.36.3, pkg/registry/core/service/storage/storage.go: ``ResourceLocation``.
"""

import ipaddress
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import psutil

from devcluster import api
from devcluster.extender_process import ACCOUNT, NAMESPACE, READY_PATH
from devcluster.layout import Layout
from devcluster.ports import LOOPBACK, free_ports
from devcluster.state import Component, Probe
from devcluster.supervision import Supervisor
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError

COMPONENT: Final = "read-api"
SERVICE: Final = "shuntyard-extender"
PORT_NAME: Final = "api"
_PORT: Final = 10262
_POD: Final = "shuntyard-extender-0"
_RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Without it the namespace refuses the Pod."""

_COLLECTIONS: Final = ("/api/v1/endpoints", "/api/v1/services")


def serve(
    supervisor: Supervisor, layout: Layout, api_port: int, report: Callable[[str], None]
) -> None:
    """Start the relay to ``api_port`` and make the Service, if this machine has an address for it.

    Raises:
        ComponentError: The relay did not start.
    """
    here = address(supervisor.file.read().address)
    if here is None:
        report("no Service for the read API: this machine has no address but loopback")
        return
    if supervisor.process(COMPONENT) is not None:  # to the port of an earlier extender
        supervisor.stop(COMPONENT)
    (port,) = free_ports(1)
    supervisor.launch({COMPONENT: relay(layout, here, port, api_port)})
    api.call(layout.kubeconfig, lambda client: register(client, here, port))


def address(preferred: str) -> str | None:
    """Return an address of this machine that a proxy may go to; None if there is none.

    Args:
        preferred: Taken if it is not a loopback address.
    """
    if preferred != LOOPBACK:
        return preferred
    links = psutil.net_if_stats()
    found = psutil.net_if_addrs().items()
    texts = [
        one.address
        for link, ones in found
        for one in ones
        if one.family == socket.AF_INET and link in links and links[link].isup
    ]
    return next((text for text in texts if _is_proxied_to(text)), None)


def relay(layout: Layout, here: str, port: int, api_port: int) -> Component:
    """Return the relay from ``port`` to the read API's port on loopback."""
    ports = (str(port), str(api_port))
    return Component(
        argv=(sys.executable, "-m", "devcluster.read_api_relay", *ports),
        log=str(layout.log(COMPONENT)),
        probe=Probe(f"http://{here}:{port}{READY_PATH}"),
    )


async def register(client: KubeClient, here: str, port: int) -> None:
    """Make the Service, its Endpoints and the Pod behind them."""
    await api.apply(client, (_service(), _pod(), _endpoints(here, port)))
    status = {
        "phase": "Running",
        "podIP": here,
        "podIPs": [{"ip": here}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    await client.patch(paths.pod(NAMESPACE, _POD, "status"), {"status": status})


async def withdraw(client: KubeClient) -> None:
    """Delete what `register` made, if it is there."""
    wanted = [paths.namespaced(kind, NAMESPACE, SERVICE) for kind in _COLLECTIONS]
    for path in (paths.pod(NAMESPACE, _POD), *wanted):
        try:
            await client.delete(path, grace_seconds=0)
        except NotFoundError:
            continue


def _is_proxied_to(text: str) -> bool:
    one = ipaddress.ip_address(text)
    return not (one.is_loopback or one.is_link_local or one.is_unspecified or one.is_multicast)


def _service() -> Mapping[str, Any]:
    """Return the Service; without a selector nobody but us decides who is behind it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"ports": [{"name": PORT_NAME, "port": _PORT, "targetPort": PORT_NAME}]},
    }


def _endpoints(here: str, port: int) -> Mapping[str, Any]:
    target = {"kind": "Pod", "namespace": NAMESPACE, "name": _POD}
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "subsets": [
            {
                "addresses": [{"ip": here, "targetRef": target}],
                "ports": [{"name": PORT_NAME, "port": port}],
            }
        ],
    }


def _pod() -> Mapping[str, Any]:
    """Return the Pod; its scheduler is nobody, so it stays on no node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _POD, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "nobody",
            "serviceAccountName": ACCOUNT,
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "extender",
                    "image": "shuntyard-extender",
                    "securityContext": _RESTRICTED,
                }
            ],
        },
    }
