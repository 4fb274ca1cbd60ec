"""A storm of faults on the real control plane; the laws of docs/architecture.md hold all the time.

`SHUNTYARD_STORM_SECONDS` says how long it lasts (ten minutes), `SHUNTYARD_STORM_SEED` which strikes
come; the same seed gives the same strikes, not the same moments.
"""

import asyncio
import os
import random
import sys
import time
from typing import Final

import pytest

from devcluster.options import KwokNodes
from shared.kube import paths
from tests.controlplane import faults
from tests.controlplane.jobs import Pods, pod
from tests.controlplane.storm import laws, work
from tests.controlplane.storm.laws import Known
from tests.controlplane.storm.proxy import FaultyWay
from tests.controlplane.storm.strikes import CPU, NODES, Strikes
from tests.controlplane.storm.work import Work
from tests.controlplane.watching import Event
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

SECONDS: Final = float(os.environ.get("SHUNTYARD_STORM_SECONDS", "600"))
SEED: Final = int(os.environ.get("SHUNTYARD_STORM_SEED", "1"))
QUIET_SECONDS: Final = 300.0
"""A Job makes a member anew after its back-off, which grows with each strike at that member."""
STEP_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 2.0
BYSTANDERS: Final = 3


async def test_no_law_is_broken_in_a_storm(yard: Yard, way: FaultyWay) -> None:
    rng = random.Random(SEED)
    known = Known()
    names = await yard.nodes(KwokNodes(NODES, cpu=str(CPU)))
    known.cpu.update(dict.fromkeys(names, CPU))
    known.foreign.update(await bystanders(yard))
    strikes = Strikes(
        yard.cluster, yard.client, way, yard.history, known, yard.team, random.Random(SEED + 1)
    )
    gangs = Work(yard.client, yard.history, known, yard.team, rng)
    async with asyncio.TaskGroup() as group:
        over = asyncio.Event()
        group.create_task(working(gangs, over))
        await striking(strikes, gangs)
        over.set()
    left = await work.until_quiet(gangs, QUIET_SECONDS)
    await yard.history.caught_up(yard.client)
    report(strikes, gangs)
    assert (laws.broken(yard.history, known, way.writes), left) == ([], [])
    assert strikes.ended == 0, "the extender ended by itself"
    assert strikes.count.total() > 0
    assert gangs.made > work.MOST


async def bystanders(yard: Yard) -> set[str]:
    """Create pods of the default scheduler on a node of their own; return their uids."""
    taint = {"key": "apart", "operator": "Exists"}
    (apart,) = await yard.nodes(KwokNodes(1, cpu=str(BYSTANDERS), prefix="apart"))
    body = {"spec": {"taints": [{"key": "apart", "value": "true", "effect": "NoSchedule"}]}}
    await yard.client.patch(paths.node(apart), body)
    spec = {"tolerations": [taint], "nodeSelector": {"kubernetes.io/hostname": apart}}
    pods = Pods(spec=spec).for_baseline()
    made = await yard.submit(*(pod(f"bystander-{i}", pods) for i in range(BYSTANDERS)))
    for one in made:
        name = str(one["metadata"]["name"])
        await eventually(lambda name=name: yard.bound(name) == 1, faults.PATIENCE_SECONDS)
    return {str(one["metadata"]["uid"]) for one in made}


async def working(gangs: Work, over: asyncio.Event) -> None:
    while not over.is_set():
        await gangs.step()
        await asyncio.sleep(STEP_SECONDS)


async def striking(strikes: Strikes, gangs: Work) -> None:
    ends, shown = time.monotonic() + SECONDS, 0
    while time.monotonic() < ends:
        await strikes.strike()
        await asyncio.sleep(strikes.rng.uniform(0.0, LONGEST_PAUSE_SECONDS))
        minute = int((SECONDS - ends + time.monotonic()) // 60)
        if minute > shown:
            shown = minute
            say(f"{minute} min: {strikes.count.total()} strikes, {gangs.made} gangs")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def report(strikes: Strikes, gangs: Work) -> None:
    bound = sum(e.pod["spec"].get("nodeName") is not None for e in _last(gangs).values())
    say(f"\n{strikes.count.total()} strikes, {gangs.made} gangs, {bound} pods bound")
    for name, count in sorted(strikes.count.items()):
        say(f"{count:5} {name}")
    say(f"{strikes.way.failed:5} calls failed; {strikes.refused} edits refused")


def _last(gangs: Work) -> dict[str, Event]:
    return {event.uid: event for event in gangs.history.events}
