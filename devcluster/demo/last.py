"""The last jobs of the demo: one is parked, one is admitted by price, one grows.

They show what needs room to spare, so they come once the others have finished, and run on.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from devcluster.demo.history import JobName
from devcluster.demo.jobs import ELASTIC, PARKED, PRICED, create, read_last
from devcluster.demo.watching import Observer
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.readapi.answer import JobState
from shared.readapi.api import JobEntry

LOOK_SECONDS: Final = 0.5
MOST_SECONDS: Final = 180.0
GROWN: Final = 3
"""Workers of the elastic job, which begins with two."""

Shows = Callable[[JobEntry], str]
"""Returns what a job shows, in words; empty before it does."""


def _parked(job: JobEntry) -> str:
    return "parked after a checkpoint" if job.state is JobState.PARKED else ""


def _priced(job: JobEntry) -> str:
    if job.admission is None or not job.admission.admitted or job.state is not JobState.RUNNING:
        return ""
    return "admitted by price, runs by its plan"


def _grown(job: JobEntry) -> str:
    workers = job.workers.now if job.workers else 0
    return f"grown from 2 to {workers} workers" if workers >= GROWN else ""


_SHOWS: Final[Mapping[str, Shows]] = {PARKED: _parked, PRICED: _priced, ELASTIC: _grown}


async def run(
    client: KubeClient, observer: Observer, volume: Path, say: Callable[[str], None]
) -> dict[JobName, str]:
    """Submit the jobs, park one of them, wait until each shows what it is for.

    Returns:
        What each job showed within ``MOST_SECONDS``, in words; empty if it did not.
    """
    jobs = read_last(volume)
    for job in jobs:
        await create(client, job.manifests)
    say(f"submitted at the end: {', '.join(job.name for job in jobs)}")
    shown = {job.name: "" for job in jobs}
    until, asked = observer.clock.monotonic() + MOST_SECONDS, False
    while not all(shown.values()) and observer.clock.monotonic() < until:
        await asyncio.sleep(LOOK_SECONDS)
        for name in [name for name, words in shown.items() if not words]:
            entry, kind = observer.jobs.get(name), name.rpartition("/")[2]
            if entry is None:
                continue
            if kind == PARKED and not asked and entry.progress and entry.progress.step:
                await _park(client, name)
                asked = True
                say(f"annotated {name}, as `shuntyard park` does")
            shown[name] = _SHOWS[kind](entry)
            if shown[name]:
                say(f"{name}: {shown[name]}")
    return shown


async def _park(client: KubeClient, name: JobName) -> None:
    namespace, _, job = name.partition("/")
    body = {"metadata": {"annotations": {labels.PARK: "true"}}}
    await client.patch(paths.job(namespace, job), body)
