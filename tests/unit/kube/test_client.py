import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from shared.kube import errors, paths
from shared.kube.auth import Credentials
from shared.kube.client import KubeClient
from shared.kube.tokens import FileToken
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

NODE = {"metadata": {"name": "n1"}}
WATCH = {"watch": "1"}


async def test_a_refused_token_is_read_again_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    async with FakeKube.running() as fake:
        fake.token = "old"
        credentials = Credentials(fake.credentials.server, token=FileToken(file))
        async with KubeClient.connect(credentials) as client:
            await client.get(paths.NODES)
            fake.token = "new"
            file.write_text("new")
            await client.get(paths.NODES)
            assert fake.verbs("nodes") == ["list"] * 3
            fake.token = "another"
            with pytest.raises(errors.UnauthorizedError):
                await client.get(paths.NODES)
            assert fake.verbs("nodes") == ["list"] * 5


async def test_a_fixed_token_is_not_tried_twice() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.token = "secret"
        with pytest.raises(errors.UnauthorizedError):
            await client.get(paths.NODES)
        assert fake.verbs("nodes") == ["list"]


FAULTS: dict[str, tuple[kube_faults.Fault, type[errors.ApiError]]] = {
    "conflict": (kube_faults.CONFLICT, errors.ConflictError),
    "gone": (kube_faults.GONE, errors.GoneError),
    "server error": (kube_faults.SERVER_ERROR, errors.ServerError),
    "throttled": (kube_faults.throttled(3), errors.ThrottledError),
    "disconnect": (kube_faults.Disconnect(), errors.ConnectionLostError),
    "lost answer": (kube_faults.LostAnswer(), errors.ConnectionLostError),
}


@pytest.mark.parametrize(("fault", "error"), FAULTS.values(), ids=FAULTS)
async def test_a_write_that_fails_is_an_error_and_is_not_repeated(
    fault: kube_faults.Fault, error: type[errors.ApiError]
) -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.faults.order("create", paths.NODES, fault)
        with pytest.raises(error):
            await client.post(paths.NODES, NODE)
        assert fake.verbs("nodes") == ["create"]
        done = fake.object(paths.NODES, "n1") is not None
        assert done is isinstance(fault, kube_faults.LostAnswer)


async def test_an_error_has_the_retry_after_of_the_server() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.faults.order("list", paths.NODES, kube_faults.throttled(3))
        with pytest.raises(errors.ThrottledError) as caught:
            await client.get(paths.NODES)
        assert caught.value.retry_after_seconds == 3


async def test_a_refused_connection_is_a_lost_one() -> None:
    async with KubeClient.connect(Credentials("http://127.0.0.1:1")) as client:
        with pytest.raises(errors.ConnectionLostError):
            await client.get(paths.NODES)


async def test_a_stream_that_ends_inside_a_line_is_a_lost_connection() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        version = fake.put(paths.NODES, NODE)["metadata"]["resourceVersion"]
        fake.put(paths.NODES, {"metadata": {"name": "n2"}})
        fake.faults.order("watch", paths.NODES, kube_faults.TruncatedLine())
        with pytest.raises(errors.ConnectionLostError):
            await anext(client.stream(paths.NODES, {**WATCH, "resourceVersion": version}))


async def test_silence_is_a_lost_connection_where_a_limit_is_set() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.faults.order("watch", paths.NODES, kube_faults.Freeze())
        with pytest.raises(errors.ConnectionLostError):
            await anext(client.stream(paths.NODES, WATCH, stall_seconds=0.05))


async def test_a_line_of_several_mebibytes_arrives() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        manifest = {"metadata": {"name": "large"}, "data": {"text": "x" * (5 * 2**20)}}
        fake.put("/api/v1/configmaps", manifest)
        stream = client.stream("/api/v1/configmaps", WATCH)
        async with aclosing(stream) as lines:
            assert len(await anext(lines)) > 5 * 2**20


async def test_a_stream_left_early_ends_on_the_server_too() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.put(paths.NODES, NODE)
        async with aclosing(client.stream(paths.NODES, WATCH)) as lines:
            await anext(lines)
            assert fake.watches.open == 1
        await eventually(lambda: _nudged(fake) == 0)


async def test_watches_do_not_keep_requests_waiting() -> None:
    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.put(paths.NODES, NODE)
        streams = [client.stream(paths.NODES, WATCH) for _ in range(8)]
        for stream in streams:
            await anext(stream)
        async with asyncio.timeout(60):
            await client.get(paths.NODES)
        for stream in streams:
            await stream.aclose()


def _nudged(fake: FakeKube) -> int:
    """Cause an event: aiohttp notices a closed connection when it writes."""
    fake.put(paths.NODES, {**NODE, "status": {"serial": str(len(fake.calls))}})
    return fake.watches.open
