"""An extender whose files may not grow for a while; it prints what became of it."""

import asyncio
import resource
import sys

from extender.metrics.extender import ExtenderMetrics
from extender.writers.decision_log.log_writer import MOST_REST_SECONDS
from extender.writers.decision_log.recorder import Recorder
from shared.kube import paths
from tests.component.shell import Extender, MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

MOST_BYTES = 64 * 1024


async def main(directory: str) -> None:
    """Bind a gang, fill the log, bind another, let the log go on."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with FakeKube.running() as fake, lease(fake):
        for name in ("a", "b"):
            fake.put(paths.NODES, node(name))
        async with (
            extender(fake, decision_log={"directory": directory}) as running,
            MiniScheduler(fake, running.scheduler_url).running(),
        ):
            await binds(fake, "one", 3)
            resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, hard))
            for number in range(500):
                fake.put(paths.NODES, node(f"full-{number}", cpu="0"))
            await eventually(lambda: dropped(running) > 0)
            print("the log is full", flush=True)  # noqa: T201 - the program's answer
            await binds(fake, "two", 6)
            print("bound while it is full", flush=True)  # noqa: T201 - the program's answer
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            openings = metrics(running).decision_log_openings
            tried = openings._value.get()
            await eventually(lambda: openings._value.get() > tried, 2 * MOST_REST_SECONDS)
            print("the log goes on", flush=True)  # noqa: T201 - the program's answer


def dropped(running: Extender) -> float:
    """Return how many records the log lacks."""
    return metrics(running).decision_log_dropped.labels(why="disk")._value.get()


def metrics(running: Extender) -> ExtenderMetrics:
    """Return its metrics: reading all of them also reads files, which would block the loop."""
    return next(one for one in running.parts.loops if isinstance(one, Recorder)).metrics


async def binds(fake: FakeKube, job: str, count: int) -> None:
    """Wait until one more gang of three is bound, ``count`` pods in all."""
    for index in range(3):
        fake.put(paths.PODS, pod(f"{job}-{index}", job=job, size=3))
    await eventually(lambda: len(bound(fake)) == count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
