"""A storm of drains on two hundred fake nodes: no gang loses an acknowledged step or stays partial.

Nodes are cordoned, get notices and taints, and vanish; the extender and the API server are killed,
some of it at a time. Important gangs make others leave. `SHUNTYARD_STORM_DRAINS` sets how many
strikes (200), `SHUNTYARD_STORM_SECONDS` for how long at most, `SHUNTYARD_STORM_SEED` which. What
happened is read from the API server's history and the records on the jobs.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from shared.kube import paths
from shared.system_clock import SystemClock
from tests.controlplane import faults
from tests.controlplane.jobs import priority_class
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.storm import kwok_drains, laws, work
from tests.controlplane.storm.kwok_drains import Gangs, KwokDrains, Ledger
from tests.controlplane.storm.laws import Known, Outage
from tests.controlplane.storm.proxy import FaultyWay
from tests.controlplane.storm.recovery import Recovery
from tests.controlplane.storm.strikes import Strikes
from tests.controlplane.storm.test_drain_storm import DRAINING, DRAINS, SECONDS, SEED
from tests.controlplane.storm.test_storm import QUIET_SECONDS, say, working
from tests.controlplane.watching import History
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

LEAST: Final = 50
"""Gangs that run when the storm begins."""
AT_ONCE: Final = 12
"""Strikes at a time."""
EVERY: Final = 20
"""Strikes between two lines of progress."""
RUN_SECONDS: Final = (60.0, 240.0)
MOST_FAILED: Final = 0.01
"""Part of the starts that fail after victims have left."""
BEAT_SECONDS: Final = 1.0


@pytest.fixture
def extender_settings() -> Mapping[str, Any]:
    waits = {"enabled": True, "least_wait_seconds": 2, "least_run_seconds": 3, "resume_seconds": 60}
    return {
        "queue": {"settle_seconds": 0.1},
        "migration": {"policy": "none"},
        "agent_reports": {"stale_seconds": 30},
        "preemption": {**DRAINING["preemption"], **waits},
    }


@dataclass
class Storm:
    """What the laws are about."""

    yard: Yard
    way: FaultyWay
    known: Known
    agents: PlayedAgents
    gangs: Gangs
    drains: KwokDrains
    jobs: History

    def broken(self, ledger: Ledger) -> Iterator[str]:
        """Yield a line for each law that was broken."""
        history, known = self.yard.history, self.known
        yield from laws.broken(history, known, self.way.writes)
        for job, size in known.sizes.items():
            if seconds := laws.partial_seconds(history, job, size, known.outages):
                yield f"{job}: partial for {seconds:.0f} s"
        for name, step in self.agents.doubled():
            if f"{self.yard.team}/{name}" not in known.struck_jobs:
                yield f"{name}: step {step} was done twice"
        yield from ledger.broken()

    def report(self, ledger: Ledger, failed: list[str]) -> None:
        drains, gangs = self.drains, self.gangs
        say(f"\n{drains.count.total()} strikes, {gangs.made} gangs, {self.agents.acks} checkpoints")
        struck = len(self.known.struck_jobs & self.known.sizes.keys())
        say(f"the longest recovery of all programs took {drains.recovery.longest:.0f} s")
        say(f"{drains.left} times a job left; {struck} gangs on nodes that vanished")
        causes = sorted(one.cause.value for one in ledger.last.values())
        for cause in dict.fromkeys(causes):
            say(f"{causes.count(cause):5} parkings: {cause}")
        say(f"{len(ledger.starts()):5} starts after others had left, {len(failed)} of them failed")
        killed = {f"kill {name}": count for name, count in drains.killed.items()}
        for name, count in sorted({**drains.count, **killed}.items()):
            say(f"{count:5} {name}")


async def test_no_acknowledged_step_is_lost_in_a_storm_of_drains_on_two_hundred_nodes(
    yard: Yard, way: FaultyWay
) -> None:
    names = [
        *await yard.nodes(kwok_drains.nodes(0, kwok_drains.NORTH)),
        *await yard.nodes(kwok_drains.nodes(kwok_drains.NORTH, kwok_drains.NODES)),
    ]
    await yard.submit(priority_class(kwok_drains.IMPORTANT, 1000))
    collection = paths.namespaced(paths.JOBS, yard.team)
    async with faults.enduring(yard.client, collection) as jobs:
        storm = made(yard, way, names, jobs)
        await storm.drains.recovery.prepare()
        async with storm.agents.playing():
            left = await strike(storm)
            await yard.history.caught_up(yard.client)
    since_epoch = SystemClock().now() - time.monotonic()
    released = kwok_drains.first_released(yard.history, storm.known)
    ledger = Ledger.read(jobs)
    failed = ledger.failed(
        {job: at + since_epoch for job, at in released.items()},
        [Outage(one.began + since_epoch, one.end + since_epoch) for one in storm.known.outages],
    )
    storm.report(ledger, failed)
    assert ([*storm.broken(ledger)], left) == ([], [])
    assert len(failed) <= MOST_FAILED * len(ledger.starts()), failed
    assert storm.drains.left > 0
    assert storm.agents.acks > 0


def made(yard: Yard, way: FaultyWay, names: list[str], jobs: History) -> Storm:
    known = Known()
    known.cpu.update(dict.fromkeys(names, kwok_drains.CPU))
    agents = PlayedAgents(
        yard.cluster, yard.client, yard.team, tuple(names),
        beat_seconds=BEAT_SECONDS, busy_only=True,
        size_of=lambda name: known.sizes[f"{yard.team}/{name}"],
    )  # fmt: skip
    strikes = Strikes(
        yard.cluster, yard.client, way, yard.history, known, yard.team, random.Random(SEED + 2),
        made_of=kwok_drains.nodes,
    )  # fmt: skip
    drains = KwokDrains(
        yard, names, random.Random(SEED + 1),
        faults=strikes, agents=agents, recovery=Recovery(yard),
    )  # fmt: skip
    gangs = Gangs(
        yard.client, yard.history, known, yard.team, random.Random(SEED),
        run_seconds=RUN_SECONDS, jobs=jobs,
    )  # fmt: skip
    return Storm(yard, way, known, agents, gangs, drains, jobs)


async def strike(storm: Storm) -> list[str]:
    """Strike while gangs come and go; return what did not run or did not go in the end."""
    async with asyncio.TaskGroup() as group:
        over = asyncio.Event()
        group.create_task(working(storm.gangs, over))
        await eventually(lambda: storm.gangs.running() >= LEAST, QUIET_SECONDS, "many gangs run")
        began, shown = time.monotonic(), 0
        while (count := storm.drains.count.total()) < DRAINS and time.monotonic() < began + SECONDS:
            async with asyncio.TaskGroup() as some:
                for _ in range(AT_ONCE):
                    some.create_task(storm.drains.strike())
            if count >= shown + EVERY:
                shown = count
                seconds = time.monotonic() - began
                gangs = f"{storm.gangs.made} gangs, {storm.gangs.running()} run"
                say(f"{count} strikes in {seconds:.0f} s, {gangs}")
        over.set()
    storm.gangs.end_soon()
    return await work.until_quiet(storm.gangs, QUIET_SECONDS)
