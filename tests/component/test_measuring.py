"""The measuring loop publishes gauges of the cluster and of our own loops."""

import asyncio
import contextlib

from bench import made_up
from extender.controllers.measure import MeasureLoop
from extender.core.parameters.placement import NodePriceParameters
from extender.metrics.extender import ExtenderMetrics
from shared.health import Health
from shared.kube import parse
from shared.model import Upsert
from shared.system_clock import SystemClock
from tests.fakes.eventually import eventually


async def test_one_measurement_fills_every_gauge_of_the_cluster() -> None:
    store, metrics, clock = made_up.store(2, 0), ExtenderMetrics(), SystemClock()
    pod = made_up.pod("large", 0, 1, on=made_up.node_name(0), cpu="16")
    store.apply(Upsert(parse.decode_pod(pod)))
    health = Health(clock.monotonic)
    beat = health.heartbeat("measure", 60.0)
    loop = MeasureLoop(store, NodePriceParameters(), clock, metrics, beat, health, lambda: 3)
    task = asyncio.create_task(loop.run())

    async def page() -> str:
        return (await asyncio.to_thread(metrics.render)).decode()

    async def measured() -> bool:
        return 'shuntyard_taken_ratio{resource="cpu"} 0.5\n' in await page()

    await eventually(measured)
    text = await page()
    assert "shuntyard_barrier_pods 3.0\n" in text
    assert 'shuntyard_nodes{state="ready"} 2.0\n' in text
    assert 'shuntyard_loop_silence_seconds{loop="measure"}' in text
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
