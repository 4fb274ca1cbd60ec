"""What all pods of the node share."""

from dataclasses import dataclass
from pathlib import Path

from agent.tailing.chunk import Limits
from agent.tailing.open_files import OpenFiles
from shared.convergence.parameters import ConvergenceParameters


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """See the module; times are settings of the section ``following``.

    Attributes:
        node: Name of our node: no other agent writes under it.
        volume: Root of the shared volume.
        pod_logs: The kubelet's directory of pod logs.
        checkpoint_gid: Group of a checkpoint request; None: as the system decides.
        limits: What one file is held to.
        open_files: Who may have files open.
        files: How many are followed of one pod.
        params: Of Algorithm 1.
    """

    node: str
    volume: Path
    pod_logs: Path
    checkpoint_gid: int | None
    limits: Limits
    open_files: OpenFiles
    files: int
    params: ConvergenceParameters
    interval_seconds: float
    checkpoint_seconds: float
    asked_seconds: float
    find_seconds: float
