"""Parameters of what agents report."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc


@dataclass(frozen=True, kw_only=True)
class CheckpointNoteParameters:
    """How often pods are annotated with their job's last checkpoint.

    Source:
        Ours: each write is a PATCH, and reaches everything that watches pods.
    """

    enabled: Annotated[bool, Doc("Whether pods are annotated with the last checkpoint.")] = True
    pause_seconds: Annotated[
        float, Ge(1), Le(86400), Doc("Least time between two writes to one pod.")
    ] = 60.0
    most_writes: Annotated[int, Ge(1), Le(1000), Doc("Writes to all pods in one pass.")] = 10


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
