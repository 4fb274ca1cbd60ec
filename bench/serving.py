"""A listener in a process of its own, which ends with its standard input."""

import asyncio
import contextlib
import sys

from aiohttp import web

from extender.writers.decision_log.recorder import Recorder


async def until_input_ends(runner: web.AppRunner, recorder: Recorder) -> None:
    """Print the port, and record until standard input ends; then clean up.

    Args:
        runner: It listens already.
        recorder: Of what the listener decides or is sent.
    """
    print(runner.addresses[0][1], flush=True)
    task = asyncio.create_task(recorder.run())
    await asyncio.to_thread(sys.stdin.read)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await runner.cleanup()
