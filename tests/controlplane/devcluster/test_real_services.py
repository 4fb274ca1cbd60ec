"""Services on real nodes: names, addresses, and the route from a pod to the API server and back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, RealNodes
from devcluster.real_nodes import services
from shared.kube import paths
from shared.kube.errors import ApiError
from tests.controlplane.devcluster.real_yard import (
    FIRST,
    SECOND,
    RealYard,
    container,
    opened,
    pod,
    python,
    real_cluster,
)
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster, pytest.mark.e2e]

PATIENCE_SECONDS = 60.0
PORT = 8000
NODES = {"its own node": FIRST, "the other node": SECOND}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with real_cluster(tmp_path_factory, ClusterOptions(real=RealNodes(2))) as cluster:
        yield cluster


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[RealYard]:
    async with opened(cluster) as yard:
        yield yard


def service(name: str, **spec: Any) -> dict[str, Any]:
    """A Service for the pods that are labelled with its name."""
    ports = [{"name": "http", "port": 80, "targetPort": PORT}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": ports, **spec},
    }


def serving(name: str, script: str = f"httpd -f -p {PORT} -h /etc", **fields: Any) -> Any:
    """A pod of `service` on the first node that serves its name at ``/hostname``."""
    made = pod(name, container(script, **fields))
    made["metadata"]["labels"] = {"app": name}
    return made


@pytest.fixture
async def web(yard: RealYard) -> AsyncIterator[str]:
    """A pod behind a Service with an address and behind a headless one; returns its address."""
    headless = service("web", clusterIP="None")
    headless["metadata"]["name"] = "heads"
    await api.apply(yard.client, [service("web"), headless])
    await yard.create(serving("web", readinessProbe=PROBE))
    ready = await yard.until("web", is_ready)
    yield ready["status"]["podIP"]
    await yard.remove("web")
    for name in ("web", "heads"):
        await yard.client.delete(paths.namespaced("/api/v1/services", "default", name))


PROBE = {"httpGet": {"path": "/hostname", "port": PORT}, "periodSeconds": 1}


def is_ready(found: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in found["status"].get("conditions", ())}
    return conditions.get("Ready") == "True"


UNTIL = """
import time
def until(call, *given, **named):
    # a node's routes and names come after the API server shows a pod as ready
    while True:
        try:
            return call(*given, **named)
        except OSError:
            time.sleep(0.2)
"""
RESOLVE = f"""{UNTIL}
import socket, sys
for name in sys.argv[1:]:
    print(*sorted({{one[4][0] for one in until(socket.getaddrinfo, name, 80)}}))
"""


async def test_names_of_services_are_their_addresses_or_those_of_their_pods(
    yard: RealYard, web: str
) -> None:
    found = await api.get(yard.client, paths.namespaced("/api/v1/services", "default", "web"))
    names = ("web", "web.default.svc.cluster.local", "heads.default.svc")
    script = python(RESOLVE)
    script["command"] += names
    await yard.finished(pod("resolves", script, node=SECOND))
    address = found["spec"]["clusterIP"]
    assert (await yard.log_of("resolves")).split() == [address, address, web]


FETCH = f"""{UNTIL}
import sys, urllib.request
for url in sys.argv[1:]:
    print(until(urllib.request.urlopen, url, timeout=10).read().decode().strip())
"""


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
@pytest.mark.parametrize("host_network", [False, True], ids=["a pod", "the node's network"])
async def test_a_service_leads_to_its_pod_from_everywhere(
    yard: RealYard, web: str, node: str, host_network: bool
) -> None:
    name = f"calls-{node}-{host_network}".lower()
    script = python(FETCH)
    script["command"] += ["http://web/hostname", f"http://heads:{PORT}/hostname"]
    spec = {"hostNetwork": host_network, "dnsPolicy": "ClusterFirstWithHostNet"}
    await yard.finished(pod(name, script, node=node, **spec))
    assert (await yard.log_of(name)).split() == ["web", "web"]


ITSELF = f"""{UNTIL}
import functools, http.server, threading, urllib.request
files = functools.partial(http.server.SimpleHTTPRequestHandler, directory="/etc")
server = http.server.ThreadingHTTPServer(("", {PORT}), files)
threading.Thread(target=server.serve_forever).start()
url = "http://self.default/hostname"  # "self" alone is the pod's own name
print(until(urllib.request.urlopen, url, timeout=10).read().decode(), end="", flush=True)
"""


async def test_a_pod_reaches_itself_by_its_service(yard: RealYard) -> None:
    await api.apply(yard.client, [service("self")])
    itself = pod("self", python(ITSELF, readinessProbe=PROBE))
    itself["metadata"]["labels"] = {"app": "self"}
    await yard.create(itself)
    await yard.until_log("self", "self\n")
    await yard.remove("self")
    await yard.client.delete(paths.namespaced("/api/v1/services", "default", "self"))


async def test_the_api_servers_proxy_reaches_a_pod_by_its_service(yard: RealYard, web: str) -> None:
    path = paths.namespaced("/api/v1/services", "default", "web:http", "proxy/hostname")

    async def reached() -> bool:
        try:
            return await yard.client.get(path) == b"web\n"
        except ApiError as error:  # its EndpointSlice has not reached the API server's cache
            raise AssertionError(str(error)) from error

    await eventually(reached, PATIENCE_SECONDS, "the proxy knows the pod")


WHO = f"""{UNTIL}
import json, ssl, urllib.request
files = "/var/run/secrets/kubernetes.io/serviceaccount/"
trust = ssl.create_default_context(cafile=files + "ca.crt")
def ask(path, **body):
    request = urllib.request.Request(
        "https://kubernetes.default.svc" + path,
        json.dumps(body).encode(),
        {{"Authorization": "Bearer " + open(files + "token").read(),
          "Content-Type": "application/json"}},
    )
    return json.load(until(urllib.request.urlopen, request, context=trust, timeout=10))
review = ask("/apis/authentication.k8s.io/v1/selfsubjectreviews",
             apiVersion="authentication.k8s.io/v1", kind="SelfSubjectReview")
print(review["status"]["userInfo"]["username"], open(files + "namespace").read())
"""


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
async def test_a_pod_is_its_service_account_at_the_api_server(yard: RealYard, node: str) -> None:
    name = f"asks-{node}"
    await yard.finished(pod(name, python(WHO), node=node))
    output = await yard.log_of(name)
    assert output.split() == ["system:serviceaccount:default:default", "default"]


HTTPS = f"""
import http.server, pathlib, ssl, subprocess
class Handler(http.server.SimpleHTTPRequestHandler):
    pass
make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 1 -subj /CN=probed"
subprocess.run(make.split(), check=True, cwd="/tmp")
server = http.server.HTTPServer(("", {PORT}), Handler)
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain("/tmp/c", "/tmp/k")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


async def test_a_kubelet_probes_by_https(yard: RealYard) -> None:
    probe = {"httpGet": {"path": "/", "port": PORT, "scheme": "HTTPS"}, "periodSeconds": 1}
    await yard.create(pod("probed", python(HTTPS, readinessProbe=probe)))
    await yard.until("probed", is_ready)
    await yard.remove("probed")


async def test_names_and_addresses_are_there_again_after_a_power_failure(
    yard: RealYard, web: str
) -> None:
    machines = yard.cluster.machines
    await asyncio.to_thread(machines.power_off, SECOND)
    await asyncio.to_thread(yard.cluster.restart, services.DNS)
    await asyncio.to_thread(machines.power_on, SECOND)
    script = python(FETCH)
    script["command"] += ["http://web/hostname"]
    await yard.finished(pod("after", script, node=SECOND))
    assert await yard.log_of("after") == "web\n"
