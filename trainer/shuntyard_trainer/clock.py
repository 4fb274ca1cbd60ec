"""The machine's clocks, as one object so that tests bring their own."""

import time


class Clock:
    """Two clocks that are never mixed, and waiting."""

    now = staticmethod(time.time)  # noqa: TID251 - the one place that reads the wall clock
    """Seconds since the epoch: stamps and deadlines that other programs read."""

    monotonic = staticmethod(time.monotonic)
    """Seconds of a clock that never goes back: how long something takes."""

    sleep = staticmethod(time.sleep)
    """Wait for that many seconds; goes on waiting after a signal was handled."""
