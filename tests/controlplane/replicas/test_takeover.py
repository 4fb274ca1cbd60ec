"""The leader of two replicas is killed, frozen or cut off: the other one takes over.

While gangs are released, and with a part of the Bindings written, at moments drawn by chance.
"""

import asyncio
import random
import urllib.request
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families

from devcluster.options import KwokNodes
from devcluster.shuntyard.outages import Outage, Replica
from tests.controlplane.faults import Step, at, gang, until_whole
from tests.controlplane.replicas import pairs
from tests.controlplane.replicas.pairs import WHY_NOT, PairYard, moments
from tests.controlplane.yard import Start
from tests.fakes.eventually import eventually

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "never"),
]

GANGS, SIZE = 6, 12
SETTINGS = {
    "gang": {
        "bind_parallelism": 1,  # a burst long enough to be hit in its middle
        "pin_lost_seconds": 2.0,
        "backoff_seconds": 0.5,
        "most_backoff_seconds": 2.0,
    }
}
PHASES = ("release", "bind", "bind")
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def start() -> Start:
    return partial(pairs.start, settings=SETTINGS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("outage", Outage)
async def test_every_gang_is_whole_in_the_end(pair: PairYard, outage: Outage, seed: int) -> None:
    yard, rng = pair.yard, random.Random(f"{outage} {seed}")
    await yard.nodes(KwokNodes(GANGS, cpu=str(SIZE)))
    gangs = [gang(f"g{i}", SIZE) for i in range(GANGS)]
    for i, (phase, count, delay) in enumerate(moments(rng, PHASES, GANGS * SIZE)):
        act = await pair.preparing(outage, delay)
        async with at(yard, Step(phase, count, act)):
            if i == 0:
                await yard.submit(*gangs)
        await pair.until_taken_over()
        await pair.heal()
    for i in range(GANGS):
        await until_whole(yard, f"g{i}", SIZE)
    assert {len(yard.of(f"g{i}")) for i in range(GANGS)} == {SIZE}


@pytest.mark.parametrize("outage", [Outage.FROZEN, Outage.CUT, Outage.SILENT])
async def test_a_former_leader_that_comes_back_leaves_the_rest_to_the_new_one(
    pair: PairYard, outage: Outage
) -> None:
    """It has the state of a burst that it began; the other replica has completed the burst."""
    yard = pair.yard
    await yard.nodes(KwokNodes(2, cpu=str(SIZE)))
    before = {one: await bound_by(one) for one in pair.replicas}
    act = await pair.preparing(outage)
    async with at(yard, Step("bind", SIZE // 2, act)):
        await yard.submit(gang("it", SIZE))
    other = await pair.until_taken_over()
    await until_whole(yard, "it", SIZE)
    assert pair.struck is not None
    victim = pair.struck
    victim.let_go()
    await eventually(lambda: not yard.cluster.runs(victim.scheduler), 30.0, "it lost the Lease")
    posted = {one: await bound_by(one) - before[one] for one in (victim, other)}
    assert sum(posted.values()) <= SIZE + 1, "an answer may have been lost, and no more"
    assert posted[victim] <= SIZE // 2 + 1
    await pair.heal()


async def bound_by(one: Replica) -> float:
    """Return how many Bindings a replica has completed."""

    def page() -> str:
        url = f"{one.cluster.url_of(one.extender)}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())

    text = await asyncio.to_thread(page)
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "shuntyard_bindings_total" and sample.labels["outcome"] == "bound"
    )
