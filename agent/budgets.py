"""Budgets: memory and CPU time that the pods of a node may use in its agent.

The agent's container has a limit of 128 MiB (``deploy/base/agent.yaml``). Python and the libraries
use 43 MiB of it, what is read and sent at one moment up to 20 MiB. The rest is divided here. Limits
of a single value, name, line or file are where it is read, and all of them in
docs/reference/budgets.md.
"""

from typing import Final

NODE_MEMORY_BYTES: Final = 32 * 2**20
"""Memory between two readings, of all pods together. Above it the largest pod loses its largest
source."""
POD_MEMORY_BYTES: Final = 2**20
"""The same for one pod; 60 metrics in a file take 40 KiB, 16 such files 600 KiB."""

POD_CPU_RATIO: Final = 0.02
"""Share of one core for reading one pod's metrics: at 10 µs a line, 2000 lines a second."""
POD_TURN_SECONDS: Final = 0.02
"""CPU time of one reading of a pod: the rest waits for the next reading."""
POD_SLICE_SECONDS: Final = 0.1
"""CPU time at which a reading ends: of the at most 1000 lines that were read from a file already,
the rest is skipped. 1000 ordinary lines take 10 ms."""
POD_BURST_SECONDS: Final = 2.0
"""CPU time that a pod may save up: enough to read the past of a run, 4 MiB in each of ten files."""
SHOWN_SECONDS: Final = 60.0
"""How long a pod's report mentions skipped lines."""

POD_EVENTS: Final = 16
"""Events of one pod from one reading; a loss that is NaN in each line needs no event for each."""
PROBLEM_CHARACTERS: Final = 1024
"""Length of a pod's problem, all its sources together: the limit of the wire format."""
