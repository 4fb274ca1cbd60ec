import pytest

from shared.kube import endpoints, paths
from shared.kube.client import KubeClient
from shared.kube.endpoints import Endpoint, Port, Slice, Target
from tests.fakes.kube import FakeKube

READ = [Port("agents", 1), Port("api", 2)]

CASES: dict[str, tuple[list[Slice], tuple[str, int] | None]] = {
    "none": ([], None),
    "empty": ([Slice()], None),
    "of another pod": ([Slice([Endpoint(["10.0.0.1"], Target("b"))], READ)], None),
    "of no pod": ([Slice([Endpoint(["10.0.0.1"])], READ)], None),
    "without the port": ([Slice([Endpoint(["10.0.0.1"], Target("a"))], READ[:1])], None),
    "without an address": ([Slice([Endpoint([], Target("a"))], READ)], None),
    "in the second": (
        [
            Slice([Endpoint(["10.0.0.1"], Target("b"))], READ),
            Slice([Endpoint(["10.0.0.2", "10.0.0.3"], Target("a"))], READ),
        ],
        ("10.0.0.2", 2),
    ),
}


@pytest.mark.parametrize(("slices", "want"), CASES.values(), ids=CASES)
def test_where_a_pod_listens(slices: list[Slice], want: tuple[str, int] | None) -> None:
    assert endpoints.pod_address(slices, "a", "api") == want


async def test_the_slices_of_a_service_are_read() -> None:
    def put(fake: FakeKube, name: str, service: str) -> None:
        metadata = {"name": name, "namespace": "n", "labels": {endpoints.SERVICE_LABEL: service}}
        endpoint = {"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "a"}}
        fake.put(
            endpoints.SLICES,
            {"metadata": metadata, "endpoints": [endpoint], "ports": [{"name": "api", "port": 2}]},
        )

    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.install(endpoints.SLICES)
        put(fake, "s-1", "s")
        put(fake, "t-1", "t")
        found = await endpoints.slices_of_service(client, "n", "s")
    assert len(found) == 1
    assert endpoints.pod_address(found, "a", "api") == ("10.0.0.1", 2)
    assert paths.namespaced(endpoints.SLICES, "n").endswith("/namespaces/n/endpointslices")
