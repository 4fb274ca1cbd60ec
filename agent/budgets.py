"""What the pods of a node may make its agent keep and compute: all budgets in one place.

The agent's container has a limit of 128 MiB (``deploy/base/agent.yaml``). Python and the libraries
take 54 MiB of it, what is read and sent at one moment up to 20 MiB. The rest is divided here. What
a single value, name, line or file may be is said where it is read, and all of it in
docs/reference/budgets.md.
"""

from typing import Final

NODE_MEMORY_BYTES: Final = 32 * 2**20
"""Kept between two readings for all pods together. Beyond it the pod that holds most loses the
source that holds most of it."""
POD_MEMORY_BYTES: Final = 2**20
"""The same for one pod; 60 metrics in a file take 40 KiB, 16 such files 600 KiB."""

POD_CPU_RATIO: Final = 0.02
"""Of one core, for reading one pod's metrics: at 10 µs a line, 2000 lines a second."""
POD_TURN_SECONDS: Final = 0.02
"""Of processor time, for one reading of a pod: what is left then waits for the next reading."""
POD_SLICE_SECONDS: Final = 0.1
"""The same for a pod whose lines are slow: of the lines that were taken from a file already, at
most 1000, the rest is skipped. 1000 ordinary lines take 10 ms."""
POD_BURST_SECONDS: Final = 2.0
"""What a pod that used little may use before it has to wait: enough to read the past of a run,
4 MiB in each of ten files."""
SHOWN_SECONDS: Final = 60.0
"""For so long a pod's report says that lines of it were skipped."""

POD_EVENTS: Final = 16
"""Events of one pod from one reading; a loss that is NaN in each line needs no event for each."""
PROBLEM_CHARACTERS: Final = 1024
"""Of a problem of a pod, all its sources together: what the wire takes."""
