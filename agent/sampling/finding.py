"""Chooses what to sample on this machine, at the start; only GPUs may come later."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from agent.sampling import cgroups
from agent.sampling.cgroups import Version1, Version2
from agent.sampling.gpu_driver import Gpus
from agent.sampling.kernel_files import OpenFiles, affordable
from agent.sampling.node import DEFAULT_PROCFS, NodeSampler
from agent.sampling.pods import PodSampler
from agent.sampling.processes import ProcessTree
from agent.sampling.readings import PodSource
from shared.errors import InputError

DEFAULT_CGROUP_ROOT: Final = Path("/sys/fs/cgroup")


class Source(StrEnum):
    """Where the use of pods is read from."""

    AUTO = "auto"
    """Control groups where they exist, and processes for pods that have none."""
    CGROUP2 = "cgroup2"
    CGROUP1 = "cgroup1"
    PROCESSES = "processes"
    NONE = "none"


@dataclass(frozen=True)
class Samplers:
    """The samplers of this node.

    Attributes:
        pods: Samples its pods.
        node: Samples the whole node.
        source: The chosen source, never ``auto``: for a label with few values.
        description: The same with paths and GPUs, for the log.
        gpus: Its GPUs, followed as their driver comes and goes.
    """

    pods: PodSampler
    node: NodeSampler
    source: Source
    description: str
    gpus: Gpus

    def close(self) -> None:
        """Close files and libraries."""
        self.pods.close()
        self.gpus.close()


def find(
    source: Source = Source.AUTO,
    *,
    cgroup_root: Path = DEFAULT_CGROUP_ROOT,
    procfs: Path = DEFAULT_PROCFS,
    cores_override: float | None = None,
) -> Samplers:
    """Build the samplers.

    Args:
        source: The configured source.
        cgroup_root: Where the host's control groups are mounted.
        procfs: Where the host's ``/proc`` is.
        cores_override: Cores of a node with a CPU budget; None for a whole machine.

    Raises:
        InputError: The configured source does not exist.
    """
    chosen = _present(cgroup_root) if source is Source.AUTO else source
    sources = _sources(chosen, cgroup_root)
    if source is Source.AUTO and chosen is not Source.PROCESSES:
        sources = (*sources, ProcessTree())
    gpus = Gpus()
    pods = PodSampler(sources, gpus)
    node = NodeSampler(gpus, procfs=procfs, cores_override=cores_override)
    description = f"pods: {pods.description}; GPUs: {gpus.description}"
    return Samplers(pods, node, chosen, description, gpus)


def _present(root: Path) -> Source:
    if _unified(root):
        return Source.CGROUP2
    return Source.CGROUP1 if cgroups.hierarchies(root) else Source.PROCESSES


def _sources(chosen: Source, root: Path) -> tuple[PodSource, ...]:
    files = OpenFiles(affordable())
    if chosen is Source.NONE:
        return ()
    if chosen is Source.PROCESSES:
        return (ProcessTree(),)
    if chosen is Source.CGROUP2 and _unified(root):
        return (Version2(root, files),)
    if chosen is Source.CGROUP1 and (mounted := cgroups.hierarchies(root)):
        return (Version1(mounted, files),)
    raise InputError("source of resource figures", chosen, f"available below {root}")


def _unified(root: Path) -> bool:
    """Return True if only version 2 is mounted; in a hybrid tree it counts no memory."""
    return (root / "cgroup.controllers").exists()
