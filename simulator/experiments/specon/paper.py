"""What the SpeCon paper prints, and what its authors' public repository adds.

Source:
    Mao, Fu, Zheng, Cheng, Liu, Tao, "Speculative Container Scheduling for Deep Learning
    Applications in a Kubernetes Cluster", IEEE Systems Journal 2021, arXiv 2010.11307, Sect. VI and
    Table III. The run of 50 jobs and the log of requests: github.com/fishercht1995/SpeCon, where
    the best job of the 50 is job 34 with 41.9 %, not job 50 as printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Printed:
    """One run of the paper, in % of the default scheduler; None where nothing is printed.

    Attributes:
        mean: Gain of the mean job time.
        makespan: Gain of the makespan.
        faster: Jobs that ended earlier.
        best: Largest gain of one job.
        winners: Mean gain of the jobs that ended earlier.
        losers: Mean loss of the others.
        mean_seconds: Mean job time of the default scheduler.
        makespan_seconds: Its makespan.
    """

    mean: float
    makespan: float
    faster: float
    best: float
    winners: float | None = None
    losers: float | None = None
    mean_seconds: float | None = None
    makespan_seconds: float | None = None


RUNS: Final[Mapping[str, Printed]] = {
    "fix": Printed(14.7, 5.6, 55.0, 37.6, 26.7, 8.1, 275.2, 1260.0),
    "vae": Printed(9.6, 8.2, 65.0, 31.0),
    "300": Printed(13.6, 24.7, 75.0, 31.6, makespan_seconds=1421.0),
    "600": Printed(7.6, 14.9, 60.0, 28.8, 15.1, 10.6, 865.7, 1760.0),
    "1200": Printed(7.3, 11.1, 60.0, 41.9, 16.9, 15.1, 596.3, 2070.0),
}
"""By scenario, α = 0.01 and 30 s."""

LOG: Final = {"requests": 29.0, "moves": 18.0, "stays": 11.0}
"""The authors' log; it does not say of which run. Its 29 requests are about those of 30 jobs."""

SETTINGS: Final[Mapping[tuple[float, float], Printed]] = {
    (0.05, 20.0): Printed(5.7, 6.1, 60.0, 29.1),
    (0.05, 25.0): Printed(6.8, 7.5, 60.0, 27.8),
    (0.05, 30.0): Printed(3.2, 4.0, 55.0, 21.3),
    (0.01, 30.0): Printed(9.6, 8.2, 65.0, 31.0),
    (0.10, 30.0): Printed(6.4, 3.1, 60.0, 23.9),
}
"""Table III: α and interval in seconds, scenario vae."""
