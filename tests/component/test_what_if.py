"""`POST /v1/what-if` of a running extender: the prediction is right, and nothing is written."""

import aiohttp
import msgspec

from shared.kube import paths
from shared.readapi import api
from tests.component.shell import Extender, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


def gang(job, size):
    return [pod(f"{job}-{i}", job=job, size=size) for i in range(size)]


async def what_if(
    fake: FakeKube, running: Extender, *pods, namespace: str = "default"
) -> api.WhatIfResponse:
    """Send the pods of one job to what-if."""
    host, port = running.others[0]
    body = {"apiVersion": "v1", "kind": "List", "items": [_with_kind(body) for body in pods]}
    url = f"http://{host}:{port}/v1/what-if?namespace={namespace}"
    head = fake.tokens.role_pass()
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=body, headers=head) as response,
    ):
        assert response.status == 200, await response.text()
        return msgspec.json.decode(await response.read(), type=api.WhatIfResponse)


def _with_kind(body):
    return {"apiVersion": "v1", "kind": "Pod", **body}


async def test_a_job_starts_on_the_predicted_nodes_and_what_if_writes_nothing() -> None:
    async with FakeKube.running() as fake, lease(fake):
        for name in ("a", "b"):
            fake.put(paths.NODES, node(name))
        for body in gang("first", 3):
            fake.put(paths.PODS, body)
        async with (
            extender(fake) as running,
            MiniScheduler(fake, running.scheduler_url).running(),
        ):
            await eventually(lambda: len(bound(fake)) == 3)
            before = (len(fake.objects(paths.PODS)), fake.verbs("pods").count("patch"))
            starts = await what_if(fake, running, *gang("second", 4))
            waits = await what_if(fake, running, *gang("third", 6))
            assert (len(fake.objects(paths.PODS)), fake.verbs("pods").count("patch")) == before

            assert (starts.starts_now, starts.acting) == (True, True)
            assert not waits.starts_now
            assert waits.obstacles is not None
            assert (waits.entry.reason, waits.obstacles.fits) == ("GangDoesNotFit", 5)
            for body in gang("second", 4):
                fake.put(paths.PODS, body)
            await eventually(lambda: len(bound(fake)) == 7)
            nodes = [node for name, node in bound(fake).items() if "second" in name]
            assert sorted(nodes) == sorted(place.node for place in starts.places)
