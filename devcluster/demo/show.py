"""The demo from beginning to end: cluster, jobs, our scheduler, the live table, the summary."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.live import Live

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.demo import cast as casting
from devcluster.demo import last
from devcluster.demo.cast import Cast
from devcluster.demo.history import JobName
from devcluster.demo.jobs import ExampleJob, create, read_jobs, surroundings
from devcluster.demo.report import report
from devcluster.demo.table import FINISHED, Row, lines, rows, table
from devcluster.demo.watching import Observer, poll, watch
from devcluster.options import ClusterOptions, ProcessNodes
from shared.kube import auth
from shared.kube.client import KubeClient
from shared.page.serving import PATH
from shared.system_clock import SystemClock

NODES: Final = ProcessNodes(count=3, cpu="420m", memory="1Gi", prefix="node")
"""Four pods of 75m, the agent, and a quarter for jobs with a utility fill a node; all nodes
together are a core of the machine and a quarter."""
SETTINGS: Final = {
    "migration": {"interval_seconds": 1, "cooldown_seconds": 5, "first_cost_seconds": 2},
    "admission": {"enabled": True, "slot_seconds": 15, "horizon": 240, "share": 0.25},
}
AGENT_SETTINGS: Final = {
    "convergence": {"rule": "specon", "alpha": 0.05, "interval_seconds": 2},
    "report": {"interval_seconds": 1},
    "discovery": {"interval_seconds": 1},
    "following": {"interval_seconds": 0.5, "find_seconds": 1, "checkpoint_seconds": 1},
}
"""Jobs of the demo last a minute, real ones hours, so everything is checked more often."""

COMMAND: Final = "shuntyard"
SUBMITTED: Final = "submitted, in this order"
ADDRESS: Final = "The page: "
"""Beginnings of lines by which ``bench.fresh`` knows how far the demo is."""

TABLE_SECONDS: Final = 0.5
LINES_SECONDS: Final = 3.0
QUEUED_SECONDS: Final = 60.0
MOST_SECONDS: Final = 600.0


@dataclass
class Demo:
    """A running demo: the cluster, its jobs, and their observations.

    Attributes:
        command: How a user calls ``shuntyard``.
    """

    cluster: Cluster
    jobs: tuple[ExampleJob, ...]
    volume: Path
    observer: Observer
    begun_at: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=lambda: SETTINGS)
    last: Mapping[JobName, str] = field(default_factory=dict)
    cast: Cast | None = None
    command: str = COMMAND

    def rows(self) -> list[Row]:
        """Return the current rows of the table."""
        seen = self.observer
        return rows(self.jobs, seen.ledger, seen.entries, seen.training, self.volume)

    def finished(self) -> bool:
        """Whether every job has finished."""
        return all(row.state == FINISHED for row in self.rows())

    def queued(self) -> bool:
        """Whether every pod of every job has been created."""
        jobs = self.observer.ledger.jobs
        return all(j.name in jobs and len(jobs[j.name].pods) >= j.size for j in self.jobs)

    def seconds(self) -> float:
        """Return the time since the jobs were submitted."""
        return self.observer.clock.monotonic() - self.begun_at

    def summary(self) -> dict[str, Any]:
        """Return the content of the last line."""
        summary = report(self.jobs, self.observer, self.volume, begun_at=self.begun_at)
        return {**summary, "last": dict(self.last)}


def bring_up(directory: Path) -> Demo:
    """Start the control plane and the process nodes; no scheduler yet."""
    if (directory / "state.json").exists():
        Cluster.attach(directory).down()
    cluster = Cluster.up(directory, ClusterOptions(process=NODES), report=say)
    volume = cluster.layout.volume
    return Demo(cluster, read_jobs(volume), volume, Observer(SystemClock()))


def address(demo: Demo) -> str:
    """Return where the page of the running extender is."""
    url = demo.cluster.extender_url
    return f"{ADDRESS}{url}{PATH}, or `{demo.command} ui --url {url}`"


def command() -> str:
    """Return how a user calls the command: by its name, or where the demo's environment has it.

    Ask before that environment is put in front of ``PATH``.
    """
    ours = Path(sys.executable).with_name(COMMAND)
    found = shutil.which(COMMAND) is None and ours.exists()
    return os.path.relpath(ours) if found else COMMAND


async def run(demo: Demo, *, finished: Callable[[dict[str, Any]], None] | None) -> dict[str, Any]:
    """Submit the jobs, start our scheduler, show the table until all jobs have finished.

    The jobs are in the queue before the scheduler starts, so that its first choice is among all.
    Then come the last ones (``last``).

    Args:
        demo: What was brought up.
        finished: Called with the summary at the end; then the last jobs run on until an interrupt.
            None: return instead.

    Raises:
        TimeoutError: The pods were not created in time.
        ExceptionGroup: The watch failed.
    """
    credentials = auth.load(demo.cluster.kubeconfig)
    async with (
        KubeClient.connect(credentials, user_agent="shuntyard-demo") as client,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(watch(client, demo.observer))]
        await _submit(demo, client)
        await asyncio.to_thread(demo.cluster.start_shuntyard, demo.settings)
        say(address(demo))
        tasks.append(group.create_task(poll(demo.cluster.extender_url, demo.observer)))
        await asyncio.to_thread(demo.cluster.start_default_scheduler)  # it places the agents
        await asyncio.to_thread(demo.cluster.start_agents, AGENT_SETTINGS)
        if demo.cast is not None:
            group.create_task(casting.first_part(demo.cast, demo.observer))
        await _show(demo)
        demo.last = await last.run(client, demo.observer, demo.volume, say)
        if demo.cast is not None:
            await casting.second_part(demo.cast)
        if finished is not None:
            finished(demo.summary())
            await asyncio.Event().wait()
        for task in tasks:
            task.cancel()
    return demo.summary()


async def _submit(demo: Demo, client: KubeClient) -> None:
    await create(client, surroundings())
    demo.begun_at = demo.observer.clock.monotonic()
    for job in demo.jobs:
        await create(client, job.manifests)
    say(f"{SUBMITTED}: {', '.join(job.name for job in demo.jobs)}")

    async def queued() -> bool:
        return demo.queued()

    await api.poll(queued, QUEUED_SECONDS)


async def _show(demo: Demo) -> None:
    console = Console()
    if not console.is_terminal:
        await _until_finished(demo, LINES_SECONDS, lambda: say(lines(demo.rows(), demo.seconds())))
        return
    with Live(console=console, auto_refresh=False) as live:

        def draw() -> None:
            live.update(table(demo.rows(), demo.seconds()), refresh=True)

        await _until_finished(demo, TABLE_SECONDS, draw)


async def _until_finished(demo: Demo, pause_seconds: float, draw: Callable[[], None]) -> None:
    """Draw repeatedly until all jobs have finished, or time is up."""
    while not demo.finished() and demo.seconds() < MOST_SECONDS:
        draw()
        await asyncio.sleep(pause_seconds)
    draw()


def say(text: str) -> None:
    """Print a line unbuffered."""
    print(text, flush=True)
