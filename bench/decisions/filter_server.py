"""The extender's scheduler listener in a separate process, on a generated cluster.

All parts are the product's: HTTP, decoding, the engine, the decision log. There is no API server,
so no pod is bound and nothing changes except by ``--changing``.
"""

import argparse
import asyncio
import gc
import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from aiohttp import web

from bench import made_up
from bench.serving import until_input_ends
from extender.controllers.base import DecisionContext
from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler.binding import CallError
from extender.core.scheduler.direct_gangs import NEVER, QueueView
from extender.core.scheduler.filtering import FilterVerdict
from extender.metrics.extender import ExtenderMetrics
from extender.servers.applications import create_runner, create_scheduler_app
from extender.servers.scheduler.verbs import SchedulerAnswers
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared.health import Heartbeat
from shared.model import NodeName, Pod, PodKey, Uid, Upsert
from shared.system_clock import SystemClock

SEGMENT_BYTES: Final = 64 * 2**20
RESERVED: Final = "reserved"
"""The job whose only pod has a reservation, on the first node."""
GANG: Final = "gang"
"""A job of two waiting pods without the gate."""
SINGLE: Final = "single"
"""A job of one waiting pod without the gate."""


def recorder_of(nodes: int, pods: int, directory: Path) -> Recorder:
    """Return the decision log of a store of so many nodes and pods and the three jobs."""
    clock, metrics = SystemClock(), ExtenderMetrics()
    files = SegmentFiles(directory, SEGMENT_BYTES, 2)
    files.prepare()
    store = made_up.store(nodes, pods)
    beat = Heartbeat("record", 60.0, clock.monotonic)
    recorder = Recorder(store, clock, metrics, beat, files, "bench")
    (reserved,) = made_up.waiting(RESERVED, 1)
    for pod in (reserved, *made_up.waiting(GANG, 2, gated=False)):
        recorder.apply(Upsert(pod))
    for pod in made_up.waiting(SINGLE, 1, gated=False):
        recorder.apply(Upsert(pod))
    recorder.assume_reservation(reserved, made_up.node_name(0), plan="p", plan_size=1)
    return recorder


def stirring(recorder: Recorder) -> Callable[[], bool]:
    """Return a function that adds a new pod to the store, so that no answer can be reused."""
    numbers = itertools.count()

    def stir() -> bool:
        for pod in made_up.waiting(f"new-{next(numbers)}", 1):
            recorder.apply(Upsert(pod))
        return True

    return stir


async def serve(options: argparse.Namespace, directory: Path) -> None:
    """Listen until standard input ends; print the port when it can be called."""
    recorder = recorder_of(options.nodes, options.pods, directory)
    context = DecisionContext(
        recorder=recorder,
        parameters=CoreParameters(),
        clock=recorder.clock,
        leads=stirring(recorder) if options.changing else lambda: True,
        metrics=recorder.metrics,
    )
    answers = SchedulerAnswers(context, _NoDirectGangs(), _bind_nothing, _NoBursts())
    runner = create_runner(create_scheduler_app(answers, recorder.metrics), drain_seconds=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gc.collect()
    gc.freeze()  # as the extender does once all objects are listed
    await until_input_ends(runner, recorder)


class _NoDirectGangs:
    """An empty queue without direct gangs: each answer is computed anew."""

    def waits(self, _pod: Pod) -> bool:
        return False

    def queue_view(self, _pod: Pod) -> QueueView:
        return NEVER

    def take_over(self, _pod: Pod, _verdict: FilterVerdict) -> None:
        """Do nothing."""


class _NoBursts:
    """No answer is held."""

    async def hold(self, _pod: Pod, _names: Sequence[str], _passed: Sequence[str]) -> float:
        return 0.0

    def arrive(self, _key: PodKey, _uid: Uid, _node: NodeName) -> None:
        """Do nothing."""

    def keep_apart(self) -> None:
        """Do nothing."""

    def stand_by(self) -> None:
        """Do nothing."""


async def _bind_nothing(_namespace: str, _name: str, _uid: str, _node: str) -> CallError:
    return CallError("this server binds no pods")


def main() -> None:
    """Run the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--changing", action="store_true")
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-log-") as directory:
        asyncio.run(serve(parser.parse_args(), Path(directory)))


if __name__ == "__main__":
    main()
