"""A thread of our own for work that may hang, such as files on a network volume that is away.

Threads of asyncio's pool are joined at the end, so one that hangs would keep the process from
ending; this one is left behind.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Worker:
    """One thread, one piece of work at a time, in the order given.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Return the future of ``function(*args)``; it begins when all earlier work has ended."""
        done: Future[T] = Future()
        self._jobs.put((done, partial(function, *args, **kwargs)))
        return asyncio.wrap_future(done)

    def close(self) -> None:
        """End the thread when its work is done; nothing can be submitted any more."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            done, work = job
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                    done.set_exception(error)
