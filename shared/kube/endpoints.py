"""EndpointSlices of a Service: where its pods listen."""

from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import BrokenAnswerError

SLICES: Final = "/apis/discovery.k8s.io/v1/endpointslices"
SERVICE_LABEL: Final = "kubernetes.io/service-name"


class Target(Struct):
    """``targetRef``: the pod behind an endpoint."""

    name: str = ""


class Endpoint(Struct, rename="camel"):
    """``endpoints[]``."""

    addresses: list[str]
    target_ref: Target | None = None


class Port(Struct):
    """``ports[]``."""

    name: str | None = None
    port: int | None = None


class Slice(Struct, rename="camel"):
    """An EndpointSlice; all its endpoints have the same ports."""

    endpoints: list[Endpoint] | None = None
    ports: list[Port] | None = None


class Slices(Struct):
    """A list of them."""

    items: list[Slice]


_DECODER: Final = msgspec.json.Decoder(Slices)


async def slices_of_service(client: KubeClient, namespace: str, service: str) -> list[Slice]:
    """Return the EndpointSlices of a Service.

    Raises:
        ApiError: They cannot be read.
    """
    path = paths.namespaced(SLICES, namespace)
    body = await client.get(path, {"labelSelector": f"{SERVICE_LABEL}={service}"})
    try:
        return _DECODER.decode(body).items
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenAnswerError(str(error)) from error


def pod_address(slices: list[Slice], pod: str, port_name: str) -> tuple[str, int] | None:
    """Return address and port of a pod by their names; None if it is not behind the Service."""
    for endpoint_slice in slices:
        ports = [
            port.port for port in endpoint_slice.ports or () if port.name == port_name and port.port
        ]
        for endpoint in endpoint_slice.endpoints or ():
            named = endpoint.target_ref is not None and endpoint.target_ref.name == pod
            if named and ports and endpoint.addresses:
                return endpoint.addresses[0], ports[0]
    return None
