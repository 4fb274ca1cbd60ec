"""A worker thread: results and errors come back, and one that hangs blocks nothing else."""

import asyncio
import threading

import pytest

from agent.loops.reading import Worker


async def test_work_is_done_in_order_in_the_workers_thread() -> None:
    worker = Worker("test-worker")
    done: list[str] = []
    futures = [worker.submit(done.append, text) for text in ("a", "b", "c")]
    assert await worker.submit(lambda: threading.current_thread().name) == "test-worker"
    for future in futures:
        await future
    worker.close()
    assert done == ["a", "b", "c"]


async def test_an_error_is_raised_where_the_work_is_awaited() -> None:
    worker = Worker("test-worker")
    with pytest.raises(ZeroDivisionError):
        await worker.submit(lambda: 1 / 0)
    assert await worker.submit(lambda: "it goes on") == "it goes on"
    worker.close()


async def test_work_that_hangs_blocks_only_its_own_thread() -> None:
    worker, freed = Worker("test-worker"), threading.Event()
    hanging = worker.submit(freed.wait)
    _, pending = await asyncio.wait({hanging}, timeout=0.01)
    assert pending
    hanging.cancel()
    freed.set()
    assert await worker.submit(lambda: "free") == "free"
    worker.close()
