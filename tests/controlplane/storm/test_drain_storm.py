"""A storm of drains and deaths under real training: no acknowledged step is lost or repeated.

Nodes are cordoned, get notices and taints, lose their kubelet, and die behind a fence while their
trainers live on. `SHUNTYARD_STORM_DRAINS` says how many (200), `SHUNTYARD_STORM_SECONDS` for how
long at most, `SHUNTYARD_STORM_SEED` which. What happened is read from the trainers' files and the
API server's history, not from our own programs.
"""

import os
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from bench.specon.files import JobFiles, overlaps
from devcluster.cluster import Cluster
from tests.controlplane import training_yard
from tests.controlplane.storm.drains import Drains, Struck, Trainings
from tests.controlplane.storm.laws import partial_seconds
from tests.controlplane.storm.test_storm import say
from tests.controlplane.training_yard import SETTINGS

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

DRAINS: Final = int(os.environ.get("SHUNTYARD_STORM_DRAINS", "200"))
SECONDS: Final = float(os.environ.get("SHUNTYARD_STORM_SECONDS", "inf"))
SEED: Final = int(os.environ.get("SHUNTYARD_STORM_SEED", "1"))
NODES: Final = tuple(f"{name}-0000" for name in ("north", "east", "south", "west"))
EVERY: Final = 10
"""Strikes between two lines of progress."""
DRAINING: Final[Mapping[str, Any]] = {
    **SETTINGS,
    "migration": {**SETTINGS["migration"], "policy": "none"},
    "preemption": {
        "interval_seconds": 0.5,
        "checkpoint_seconds": 40,
        "hold_seconds": 40,
        "rest_seconds": 1,
        "most_per_hour": 1000,
    },
}


@pytest.fixture
def cluster(clean_cluster: Cluster) -> Iterator[Cluster]:
    training_yard.start(clean_cluster, NODES, DRAINING)
    yield clean_cluster
    clean_cluster.empty()


async def test_no_acknowledged_step_is_lost_in_a_storm_of_drains(cluster: Cluster) -> None:
    async with training_yard.lent(cluster, NODES) as yard:
        trainings = Trainings(yard, random.Random(SEED))
        drains = Drains(yard, NODES, random.Random(SEED + 1), trainings=trainings)
        end = time.monotonic() + SECONDS
        while drains.count.total() < DRAINS and time.monotonic() < end:
            await trainings.fill()
            await drains.strike()
            if drains.count.total() % EVERY == 0:
                say(f"{drains.count.total()} strikes, {len(trainings.all)} trainings")
        left = await trainings.until_complete()
        await yard.history.caught_up(yard.client)
        report(drains, trainings)
        assert ([*broken(trainings)], left) == ([], [])
        assert drains.left > 0


def broken(trainings: Trainings) -> Iterator[str]:
    """Yield a line for each law that was broken."""
    for name, one in trainings.all.items():
        for member in one.members:
            files = trainings.files(one, member)
            for line in (*_steps(one, files), *_copies(one, member, files)):
                yield f"{name}/{member}: {line}"
        job = f"{trainings.yard.team}/{name}"
        if seconds := partial_seconds(trainings.yard.history, job, len(one.members)):
            yield f"{name}: partial for {seconds:.0f} s"


def _steps(one: Struck, files: JobFiles) -> Iterator[str]:
    """Every step is done; and once, unless a node died."""
    steps = [step.step for step in files.steps()]
    if lost := set(range(1, one.training.steps + 1)) - set(steps):
        yield f"{len(lost)} steps were never done, first {min(lost)}"
    if len(steps) != len(set(steps)) and not one.died:
        yield f"{len(steps) - len(set(steps))} steps were done twice"


def _copies(one: Struck, member: str, files: JobFiles) -> Iterator[str]:
    """No life does acknowledged steps again, and only the latest one answers."""
    lives, steps = files.lives(), files.steps()
    if not one.died and overlaps(lives):
        yield "two copies ran"
    for ack in (ack for (whose, _), ack in one.acks.items() if whose == member):
        later = {life.pod for life in lives if life.begun_at > ack.finished_at}
        again = [s.step for s in steps if s.pod in later and s.step <= ack.step]
        if again:
            yield f"step {min(again)} was done again after the checkpoint of step {ack.step}"
        begun = [life for life in lives if life.begun_at < ack.finished_at]
        if begun and begun[-1].uid != ack.uid:
            yield f"a stale copy committed the checkpoint of step {ack.step}"


def report(drains: Drains, trainings: Trainings) -> None:
    acks = sum(len(one.acks) for one in trainings.all.values())
    died = sum(one.died for one in trainings.all.values())
    say(f"\n{drains.count.total()} strikes, {len(trainings.all)} trainings, {died} on dead nodes")
    say(f"{drains.left} times a job left; {acks} acknowledged checkpoints")
    for name, count in sorted(drains.count.items()):
        say(f"{count:5} {name}")
