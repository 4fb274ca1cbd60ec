"""Parameters of CPU shares."""

from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Ge, Le
from typing_extensions import Doc

LEAST_MILLI: Final = 2
"""The least request that the kernel gives a CPU weight of its own."""


@dataclass(frozen=True, kw_only=True)
class CpuShareParameters:
    """How CPU requests follow the remaining work.

    Source:
        Ours; model runs in docs/policies/cpu_weights.md. Converged ½ is the ratio of SpeCon's
        category weights, w_cc/w_pc.
    """

    enabled: Annotated[bool, Doc("Whether requests are changed at all.")] = False
    exponent: Annotated[
        float,
        Ge(0.0),
        Le(2.0),
        Doc(
            "Weight = remaining work to the power of minus this. 1: shortest mean completion time; "
            "0.5: most of that gain, with less harm to long jobs; 0: remaining work does not count."
        ),
    ] = 1.0
    converged_ratio: Annotated[
        float,
        Ge(0.01),
        Le(100.0),
        Doc(
            "Weight of a converged job against another. 0.5 with an exponent of 0: the shortest "
            "time to 95 % of the loss, longer completion."
        ),
    ] = 1.0
    floor_milli: Annotated[
        int,
        Ge(LEAST_MILLI),
        Le(1_000_000),
        Doc(
            "No request goes below this many thousandths of a CPU, or below the owner's own "
            "request if that is less."
        ),
    ] = 50
