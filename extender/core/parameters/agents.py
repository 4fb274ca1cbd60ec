"""Parameters of what agents report."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc


@dataclass(frozen=True, kw_only=True)
class AgentReportParameters:
    """When the last report of an agent may be used.

    Source:
        Ours: several heartbeats of an agent, of which one every 5 s is the default.
    """

    stale_seconds: Annotated[
        float,
        Ge(1),
        Le(3600),
        Doc("No decision uses the report of an agent that has not reported for longer."),
    ] = 30.0
