"""The experiments of Du, Xiao, Chen et al., with values that reproduce their statements.

Their tables are not available. The groups follow from the text (Sect. 4.2 to 4.4); the values are
ours and give every stated order.

Source:
    Du, Xiao, Chen et al., EURASIP JWCN 2023:45, doi 10.1186/s13638-023-02253-4.
"""

from dataclasses import dataclass
from typing import Final

SOURCE: Final = "Du, Xiao, Chen et al., EURASIP JWCN 2023:45"
JOBS: Final = 5
CLASSES: Final = {100: 1000, 50: 0, 1: -1}
"""Value of the PriorityClass by job priority b."""
LOST: Final = (
    "The paper's Tables 1 to 14 could not be found: node sizes, job values and printed means are "
    "not known. Groups follow from the prose; the values of the jobs are ours and give every "
    "order that the prose states."
)


@dataclass(frozen=True)
class Group:
    """Five jobs of a job-level experiment, the first one first.

    Attributes:
        number: Number in the paper.
        scenario: S1 to S4, the varied quantity.
        nodes: Compute nodes.
        order: The jobs in the order of V, from 1; those of one set have the same V.
        u: User priorities.
        b: Job priorities.
        waits: Maximum waits, minutes.
        m: Workers.
        built_in_knows: Whether the paper states the same order for the built-in scheduler.
    """

    number: int
    scenario: str
    nodes: int
    order: tuple[frozenset[int], ...]
    u: tuple[int, ...] = (5,) * JOBS
    b: tuple[int, ...] = (50,) * JOBS
    waits: tuple[int, ...] = (30,) * JOBS
    m: tuple[int, ...] = (4,) * JOBS
    built_in_knows: bool = False


_IN_TURN: Final = tuple(frozenset({number}) for number in range(1, JOBS + 1))
_WAITS: Final = (5, 10, 20, 40, 60)

GROUPS: Final = (
    Group(
        1, "S1, job priority", 2,
        (frozenset({3, 4}), frozenset({1, 2}), frozenset({5})),
        b=(50, 50, 100, 100, 1), built_in_knows=True,
    ),
    Group(2, "S2, maximum wait", 2, _IN_TURN, waits=_WAITS),
    Group(3, "S3, parallelism", 2, _IN_TURN, m=(6, 5, 4, 3, 2)),
    Group(4, "S4, user priority", 2, _IN_TURN, u=(10, 8, 6, 4, 2)),
    Group(5, "S2, MindSpore", 2, _IN_TURN, waits=_WAITS),
    Group(6, "S2, 5 nodes", 5, _IN_TURN, waits=_WAITS),
    Group(7, "S2, 9 nodes", 9, _IN_TURN, waits=_WAITS),
)  # fmt: skip
"""Of 3, 6 and 10 virtual machines one is the control plane; MindSpore is a framework, no order."""


@dataclass(frozen=True)
class TaskGroup:
    """A job of a task-level experiment.

    Attributes:
        number: Number in the paper.
        servers: Parameter servers.
        workers: Workers.
        nodes: Compute nodes.
        cpu: CPUs, and GB of memory, of each pod.
        seconds: Approximate job time in the paper; None where not stated.
        gap_seconds: Stated gap between CPS and the built-in order, and which gap it is.
        framework: Training framework.
    """

    number: int
    servers: int
    workers: int
    nodes: int
    cpu: int
    seconds: float | None = None
    gap_seconds: float | None = None
    framework: str = "TensorFlow"


TASK_GROUPS: Final = (
    TaskGroup(1, 2, 6, 5, 2),
    TaskGroup(2, 2, 6, 9, 2, 220.0),
    TaskGroup(3, 2, 6, 9, 2, framework="MindSpore"),
    TaskGroup(4, 2, 4, 9, 2),
    TaskGroup(5, 2, 6, 9, 1, 440.0, 32.0),
    TaskGroup(6, 2, 6, 9, 4, 36.3, 1.5),
)
"""Pod sizes of groups 1 to 3, the workers of group 4 and 9 nodes are inferred from the text."""

EXECUTIONS: Final = 20
PS_LATER: Final = 3
PS_EQUAL: Final = 5
"""Of 20 executions of group 2, those whose parameter servers were scheduled later with CPS than
with the built-in order, and at the same time; 12 remain."""
LEAST_SUCCESS: Final = 80.0
"""Percent of the executions, at least; "not later" is 17 of 20, "earlier" 12 of 20."""
LEAST_GAIN: Final = 6.0
"""Percent by which mean job time is shorter with CPS, at least."""

GROUP_USERS: Final = (2, 4, 5, 6, 10)
GROUP_WAITS: Final = (30, 30, 30, 30, 5)
GROUP_WORKERS: Final = (4, 4, 4, 4, 6)
"""Sect. 4.4: job 5 has 2 servers and 6 workers, the others 4 workers; u and L are ours."""
GROUP_SERVERS: Final = 2
GROUP_CPU: Final = 2
GROUP_FITS: Final = (52, 64)
"""CPUs from and below which both outcomes of Sect. 4.4 hold: 16 + 3 x 12 fit, all 64 do not."""
