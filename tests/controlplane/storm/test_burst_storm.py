"""Faults in the middle of bursts on the real control plane: no gang stays partial, none runs twice.

A part of all Bindings is refused or loses its answer as long as the storm lasts; beside that, the
strikes of the other storm. `SHUNTYARD_STORM_BURSTS` sets how many bursts there are (500), and
`SHUNTYARD_STORM_SEED` which strikes.
"""

import asyncio
import contextlib
import http.client
import os
import random
import re
import sys
import time
from dataclasses import dataclass
from typing import Final

import pytest

from bench.gang.bursts import Counted
from devcluster.options import KwokNodes
from tests.controlplane import faults, watching
from tests.controlplane.placement.bursts import bound_in_their_cycle, counted
from tests.controlplane.storm import laws, work
from tests.controlplane.storm.laws import Known
from tests.controlplane.storm.proxy import LOST, BadBindings, FaultyWay
from tests.controlplane.storm.strikes import Strikes
from tests.controlplane.storm.work import DIRECT_KINDS, Work
from tests.controlplane.yard import Yard

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

BURSTS: Final = int(os.environ.get("SHUNTYARD_STORM_BURSTS", "500"))
SEED: Final = int(os.environ.get("SHUNTYARD_STORM_SEED", "1"))
LONGEST_SECONDS: Final = 2400.0
"""A storm that takes longer has too few bursts and fails."""
QUIET_SECONDS: Final = 300.0
NODES: Final = 16
PODS: Final = 10
"""Pods that fit on a node, of one CPU each; it has more CPUs than that."""
GANGS: Final = 16
"""Gangs at one time."""
RUN_SECONDS: Final = (0.5, 3.0)
STEP_SECONDS: Final = 0.05
COUNT_SECONDS: Final = 0.1
BETWEEN: Final = 5
"""Bursts between one strike and the next."""
LONGEST_PAUSE_SECONDS: Final = 5.0
BAD_PART: Final = 0.2
BAD_STATUSES: Final = (409, 429, 500, LOST)
MINUTE: Final = 60
NONE: Final = Counted(0, 0, 0)


@dataclass
class Bursts:
    """Counts bursts by the extender's metrics, which begin at 0 in each of its lives.

    What a killed extender counted after the last look is lost.

    Attributes:
        held: Answers that were held.
        pods: Pods that were bound meanwhile.
        lives: How many extenders were seen.
    """

    yard: Yard
    held: int = 0
    pods: int = 0
    lives: int = 1
    _last: Counted = NONE

    async def count(self, over: asyncio.Event) -> None:
        """Look again and again until it is over."""
        while not over.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):  # it does not run
                self._take(await counted(self.yard))
            await asyncio.sleep(COUNT_SECONDS)

    def _take(self, found: Counted) -> None:
        if found.held < self._last.held or found.pods < self._last.pods:
            self.lives += 1
            self._last = NONE
        self.held += found.held - self._last.held
        self.pods += found.pods - self._last.pods
        self._last = found


async def test_no_gang_is_partial_after_faults_in_hundreds_of_bursts(
    yard: Yard, way: FaultyWay
) -> None:
    known = Known()
    names = await yard.nodes(nodes(0, NODES))
    known.cpu.update(dict.fromkeys(names, PODS))
    bad = way.bindings = BadBindings(BAD_PART, BAD_STATUSES, random.Random(SEED + 2))
    strikes = Strikes(
        yard.cluster, yard.client, way, yard.history, known, yard.team, random.Random(SEED + 1),
        made_of=nodes,
    )  # fmt: skip
    gangs = Work(
        yard.client, yard.history, known, yard.team, random.Random(SEED),
        kinds=DIRECT_KINDS, most=GANGS, run_seconds=RUN_SECONDS,
    )  # fmt: skip
    bursts = Bursts(yard)
    async with asyncio.TaskGroup() as group:
        over = asyncio.Event()
        group.create_task(working(gangs, over))
        group.create_task(bursts.count(over))
        await striking(strikes, bursts)
        over.set()
    bad.part = 0.0
    left = await work.until_quiet(gangs, QUIET_SECONDS)
    await yard.history.caught_up(yard.client)
    assumed = bound_in_their_cycle(yard)
    report(strikes, gangs, bursts, bad)
    say(f"{len(assumed):5} pods were bound in their cycle")
    assert (laws.broken(yard.history, known, way.writes), left) == ([], [])
    assert watching.partial_gangs(yard.history, known.sizes, faults.REST_SECONDS) == ()
    assert strikes.ended == 0, "the extender ended by itself"
    assert bursts.held >= BURSTS
    assert set(bad.failed) == set(BAD_STATUSES)
    assert assumed <= {watching.name_of(event.pod) for event in watching.bindings(yard.history)}


def nodes(first: int, end: int) -> KwokNodes:
    """Return the nodes from one number to before another."""
    return KwokNodes(end - first, cpu=str(2 * PODS), pods=PODS, first=first)


async def working(gangs: Work, over: asyncio.Event) -> None:
    while not over.is_set():
        await gangs.step()
        await asyncio.sleep(STEP_SECONDS)


async def striking(strikes: Strikes, bursts: Bursts) -> None:
    """Strike until there were enough bursts."""
    began = shown = time.monotonic()
    while bursts.held < BURSTS and time.monotonic() < began + LONGEST_SECONDS:
        await strikes.strike()
        await more(bursts)
        if time.monotonic() > shown + MINUTE:
            shown = time.monotonic()
            say(f"{shown - began:.0f} s: {strikes.count.total()} strikes, {bursts.held} bursts")


async def more(bursts: Bursts) -> None:
    """Let some bursts pass in which no more than Bindings fail."""
    wanted, until = bursts.held + BETWEEN, time.monotonic() + LONGEST_PAUSE_SECONDS
    while bursts.held < wanted and time.monotonic() < until:
        await asyncio.sleep(COUNT_SECONDS)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def report(strikes: Strikes, gangs: Work, bursts: Bursts, bad: BadBindings) -> None:
    say(f"\n{strikes.count.total()} strikes, {gangs.made} gangs, {bursts.lives} extenders")
    say(f"{bursts.held} bursts bound {bursts.pods} pods")
    for name, count in sorted(strikes.count.items()):
        say(f"{count:5} {name}")
    for status, count in sorted(bad.failed.items()):
        say(f"{count:5} Bindings: {f'status {status}' if status else 'answer lost'}")
    hit = set(map(_gang, bad.pods))
    say(f"{len(hit):5} gangs with a Binding that failed")


def _gang(pod: tuple[str, str]) -> str:
    """Return the job of a pod, by the first part of the pod's name."""
    found = re.match(r"(direct(?:-bare)?-\d+)", pod[1])
    return found[1] if found else pod[1]
