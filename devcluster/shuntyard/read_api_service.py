"""The read API as a Service behind the API server's real service proxy.

The proxy connects to addresses of the Service's Endpoints that a Pod object has too, never to
loopback. So there is a Pod object without a container, with an address of this machine, where a
relay listens; a controller mirrors the Endpoints to an EndpointSlice.

Source:
    kubernetes v1.36.3, pkg/registry/core/service/storage/storage.go: ``ResourceLocation``.
"""

import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import psutil

from devcluster import api
from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK, free_ports
from devcluster.local.state import Component, Probe
from devcluster.local.supervision import Supervisor
from devcluster.shuntyard.extender_process import ACCOUNT, NAMESPACE, READY_PATH
from devcluster.shuntyard.read_api_relay import relay_argv
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError

COMPONENT: Final = "read-api"
SERVICE: Final = "shuntyard-extender"
PORT_NAME: Final = "api"
_PORT: Final = 10262
MOST_REPLICAS: Final = 3
_RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Without it the namespace refuses the Pod."""

_COLLECTIONS: Final = ("/api/v1/endpoints", "/api/v1/services")


def named(program: str, number: int) -> str:
    """Return the name of a replica's component; the first one's is the program's."""
    return program if number == 0 else f"{program}-{number}"


def pod_name(number: int) -> str:
    """Return the name of a replica's pod."""
    return f"{SERVICE}-{number}"


def serve(
    supervisor: Supervisor,
    layout: Layout,
    api_ports: Sequence[int],
    report: Callable[[str], None],
) -> None:
    """Start a relay to each replica and make the Service, if this machine has an address for it.

    Raises:
        ComponentError: A relay did not start.
    """
    here = address(supervisor.file.read().address)
    if here is None:
        report("no Service for the read API: this machine has no address but loopback")
        return
    ports = free_ports(len(api_ports))
    relays = {}
    for number, (port, api_port) in enumerate(zip(ports, api_ports, strict=True)):
        name = named(COMPONENT, number)
        if supervisor.process(name) is not None:  # to the port of an earlier extender
            supervisor.stop(name)
        relays[name] = relay(layout, name, here, port, api_port)
    supervisor.launch(relays)
    api.call(layout.kubeconfig, lambda client: register(client, here, ports))


def address(preferred: str) -> str | None:
    """Return an address of this machine that a proxy may connect to; None if there is none.

    Args:
        preferred: Taken if it is not a loopback address.
    """
    if preferred != LOOPBACK:
        return preferred
    links = psutil.net_if_stats()
    addresses = psutil.net_if_addrs().items()
    texts = [
        one.address
        for link, ones in addresses
        for one in ones
        if one.family == socket.AF_INET and link in links and links[link].isup
    ]
    return next((text for text in texts if _is_proxied_to(text)), None)


def relay(layout: Layout, name: str, here: str, port: int, api_port: int) -> Component:
    """Return the relay from ``port`` to the read API's port on loopback."""
    return Component(
        argv=relay_argv(port, api_port),
        log=str(layout.log(name)),
        probe=Probe(f"http://{here}:{port}{READY_PATH}"),
    )


async def register(client: KubeClient, here: str, ports: Sequence[int]) -> None:
    """Create the Service, its Endpoints, and a Pod behind each; replace earlier ones."""
    await withdraw(client)
    pods = [_pod(number) for number in range(len(ports))]
    await api.apply(client, (_service(), *pods))
    uids = [await _uid(client, number) for number in range(len(ports))]
    await api.apply(client, (_endpoints(here, ports, uids),))
    status = {
        "phase": "Running",
        "podIP": here,
        "podIPs": [{"ip": here}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    for number in range(len(ports)):
        path = paths.pod(NAMESPACE, pod_name(number), "status")
        await client.patch(path, {"status": status})


async def withdraw(client: KubeClient) -> None:
    """Delete the objects of `register`, if they exist."""
    others = [paths.namespaced(kind, NAMESPACE, SERVICE) for kind in _COLLECTIONS]
    pods = [paths.pod(NAMESPACE, pod_name(number)) for number in range(MOST_REPLICAS)]
    for path in (*pods, *others):
        try:
            await client.delete(path, grace_seconds=0)
        except NotFoundError:
            continue


def _is_proxied_to(text: str) -> bool:
    one = ipaddress.ip_address(text)
    return not (one.is_loopback or one.is_link_local or one.is_unspecified or one.is_multicast)


def _service() -> Mapping[str, Any]:
    """Return the Service, without a selector, so that its endpoints are ours."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"ports": [{"name": PORT_NAME, "port": _PORT, "targetPort": PORT_NAME}]},
    }


async def _uid(client: KubeClient, number: int) -> str:
    found = msgspec.json.decode(await client.get(paths.pod(NAMESPACE, pod_name(number))))
    return str(found["metadata"]["uid"])


def _endpoints(here: str, ports: Sequence[int], uids: Sequence[str]) -> Mapping[str, Any]:
    """Return the Endpoints; all replicas have one address here, and a port each.

    The API server merges those of one address unless their pods' uids differ, and one endpoint with
    two ports of the same name cannot become an EndpointSlice.
    """
    replicas = zip(ports, uids, strict=True)
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "subsets": [
            _subset(here, port, number, uid) for number, (port, uid) in enumerate(replicas)
        ],
    }


def _subset(here: str, port: int, number: int, uid: str) -> Mapping[str, Any]:
    target = {"kind": "Pod", "namespace": NAMESPACE, "name": pod_name(number), "uid": uid}
    return {
        "addresses": [{"ip": here, "targetRef": target}],
        "ports": [{"name": PORT_NAME, "port": port}],
    }


def _pod(number: int) -> Mapping[str, Any]:
    """Return the Pod; no scheduler has its scheduler name, so it gets no node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod_name(number), "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "none",
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
