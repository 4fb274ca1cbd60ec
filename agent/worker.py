"""A thread for work that may hang, such as reading files of an unreachable network volume.

Threads of asyncio's pool are joined at the end, so one that hangs would keep the process from
ending; this thread is a daemon.
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
    """Runs functions in one thread, one at a time, in order.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Queue ``function(*args)`` and return its future."""
        done: Future[T] = Future()
        self._jobs.put((done, partial(function, *args, **kwargs)))
        return asyncio.wrap_future(done)

    def close(self) -> None:
        """End the thread when its queue is done; nothing can be submitted any more."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            done, work = job
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                    done.set_exception(error)
