"""The machine's clocks as one object, so that tests can replace it."""

import time


class Clock:
    """Two clocks that must not be mixed, and a sleep."""

    now = staticmethod(time.time)  # noqa: TID251 - the one place that reads the wall clock
    """Seconds since the epoch: stamps and deadlines that other programs read."""

    monotonic = staticmethod(time.monotonic)
    """Seconds of the monotonic clock: durations."""

    sleep = staticmethod(time.sleep)
    """Sleep; continues after a signal was handled."""
