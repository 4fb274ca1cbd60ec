"""Numbers of the SpeCon paper, and of its authors' public repository.

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
"""The paper's runs by scenario, with α = 0.01 and 30 s."""

LOG: Final = {"requests": 29.0, "moves": 18.0, "stays": 11.0}
"""The authors' log, of an unnamed run; its 29 requests are about those of 30 jobs."""

SETTINGS: Final[Mapping[tuple[float, float], Printed]] = {
    (0.05, 20.0): Printed(5.7, 6.1, 60.0, 29.1),
    (0.05, 25.0): Printed(6.8, 7.5, 60.0, 27.8),
    (0.05, 30.0): Printed(3.2, 4.0, 55.0, 21.3),
    (0.01, 30.0): Printed(9.6, 8.2, 65.0, 31.0),
    (0.10, 30.0): Printed(6.4, 3.1, 60.0, 23.9),
}
"""Table III: α and interval in seconds, scenario vae."""


FIFTY_JOBS: Final[tuple[tuple[float, float], ...]] = (
    (641.4, 741.3),
    (396.1, 435.0),
    (218.5, 258.3),
    (233.0, 255.3),
    (396.0, 459.7),
    (216.5, 218.6),
    (637.6, 719.8),
    (405.6, 492.8),
    (652.4, 706.8),
    (755.4, 638.0),
    (432.9, 483.3),
    (451.2, 443.0),
    (604.3, 736.2),
    (511.4, 484.5),
    (266.3, 308.8),
    (243.6, 332.7),
    (645.6, 714.2),
    (752.4, 794.5),
    (251.8, 290.5),
    (342.5, 305.7),
    (922.3, 775.0),
    (354.0, 228.1),
    (889.7, 773.8),
    (611.9, 811.5),
    (526.2, 574.9),
    (1007.5, 827.3),
    (378.0, 321.3),
    (362.0, 282.3),
    (878.4, 809.2),
    (948.5, 836.0),
    (1048.1, 780.7),
    (428.0, 556.6),
    (1047.7, 811.7),
    (432.6, 251.2),
    (982.1, 760.3),
    (816.0, 725.4),
    (367.6, 297.1),
    (982.2, 751.7),
    (1016.1, 821.4),
    (802.8, 764.2),
    (390.9, 392.9),
    (787.8, 777.9),
    (786.2, 743.8),
    (970.3, 771.2),
    (363.3, 323.6),
    (467.0, 400.1),
    (974.4, 733.2),
    (388.1, 341.9),
    (365.3, 313.9),
    (467.5, 273.4),
)
"""Seconds of the 50 jobs of scenario 1200 under the default scheduler and SpeCon, by job number.

Digitised from ``images/completion_bar.eps`` of the repository; the means are the printed ones."""
