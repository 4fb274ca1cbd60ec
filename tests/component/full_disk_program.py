"""An extender whose files may not grow for a while; it prints what became of it."""

import asyncio
import resource
import sys

from extender.writers.decision_log.log_writer import MOST_REST_SECONDS, State
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
            await eventually(lambda: goes_on(fake, running), 2 * MOST_REST_SECONDS)
            print("the log goes on", flush=True)  # noqa: T201 - the program's answer


def goes_on(fake: FakeKube, running: Extender) -> bool:
    """Return True if a segment is open and written; only a further record begins one."""
    fake.put(paths.NODES, node("full-0", cpu="0"))
    writer = recorder(running).writer
    assert writer is not None
    return writer.state is State.OPEN and not writer.buffered_bytes


def dropped(running: Extender) -> float:
    """Return how many records the log lacks."""
    return recorder(running).metrics.decision_log_dropped.labels(why="disk")._value.get()


def recorder(running: Extender) -> Recorder:
    """Return what has its metrics: reading all of them also reads files and blocks the loop."""
    return next(one for one in running.parts.loops if isinstance(one, Recorder))


async def binds(fake: FakeKube, job: str, count: int) -> None:
    """Wait until one more gang of three is bound, ``count`` pods in all."""
    for index in range(3):
        fake.put(paths.PODS, pod(f"{job}-{index}", job=job, size=3))
    await eventually(lambda: len(bound(fake)) == count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
