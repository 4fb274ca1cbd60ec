"""`POST /v1/what-if` of a running extender: what it says comes true, and nothing is written."""

import aiohttp
import msgspec

from shared import api
from shared.kube import paths
from tests.component.shell import Extender, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


def gang(job, size):
    return [pod(f"{job}-{i}", job=job, size=size) for i in range(size)]


async def ask(
    fake: FakeKube, running: Extender, *pods, namespace: str = "default"
) -> api.WhatIfResponse:
    """Ask about the pods of one job."""
    host, port = running.others[0]
    body = {"apiVersion": "v1", "kind": "List", "items": [_named(one) for one in pods]}
    url = f"http://{host}:{port}/v1/what-if?namespace={namespace}"
    head = fake.tokens.role_pass()
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=body, headers=head) as response,
    ):
        assert response.status == 200, await response.text()
        return msgspec.json.decode(await response.read(), type=api.WhatIfResponse)


def _named(found):
    return {"apiVersion": "v1", "kind": "Pod", **found}


async def test_a_job_goes_where_it_was_said_and_asking_wrote_nothing() -> None:
    async with FakeKube.running() as fake, lease(fake):
        for name in ("a", "b"):
            fake.put(paths.NODES, node(name))
        for one in gang("first", 3):
            fake.put(paths.PODS, one)
        async with (
            extender(fake) as running,
            MiniScheduler(fake, running.scheduler_url).running(),
        ):
            await eventually(lambda: len(bound(fake)) == 3)
            before = (len(fake.objects(paths.PODS)), fake.verbs("pods").count("patch"))
            said = await ask(fake, running, *gang("second", 4))
            waits = await ask(fake, running, *gang("third", 6))
            assert (len(fake.objects(paths.PODS)), fake.verbs("pods").count("patch")) == before

            assert (said.starts_now, said.acting) == (True, True)
            assert not waits.starts_now
            assert waits.obstacles is not None
            assert (waits.entry.reason, waits.obstacles.fits) == ("GangDoesNotFit", 5)
            for one in gang("second", 4):
                fake.put(paths.PODS, one)
            await eventually(lambda: len(bound(fake)) == 7)
            now = {name: where for name, where in bound(fake).items() if "second" in name}
            assert sorted(now.values()) == sorted(one.node for one in said.places)
