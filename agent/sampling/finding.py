"""What there is to read on this machine, found once at the start."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from agent.sampling import cgroups
from agent.sampling.cgroups import Version1, Version2
from agent.sampling.gpu import GpuReader, open_gpu
from agent.sampling.kernel_files import OpenFiles, affordable
from agent.sampling.node import DEFAULT_PROCFS, NodeSampler
from agent.sampling.pods import PodSampler
from agent.sampling.processes import ProcessTree
from agent.sampling.readings import PodSource
from shared.errors import InputError

DEFAULT_CGROUP_ROOT: Final = Path("/sys/fs/cgroup")


class Source(StrEnum):
    """What pods are read from."""

    AUTO = "auto"
    """Control groups where there are any, and processes for the pods that have none."""
    CGROUP2 = "cgroup2"
    CGROUP1 = "cgroup1"
    PROCESSES = "processes"
    NONE = "none"


@dataclass(frozen=True)
class Samplers:
    """What samples this node.

    Attributes:
        pods: Its pods.
        node: All of it.
        source: What was chosen, never ``auto``: for a label with few values.
        words: The same with paths and GPUs, for the log.
    """

    pods: PodSampler
    node: NodeSampler
    source: Source
    words: str
    _gpus: GpuReader | None

    def close(self) -> None:
        """Give back files and libraries."""
        self.pods.close()
        if self._gpus is not None:
            self._gpus.close()


def find(
    source: Source = Source.AUTO,
    *,
    cgroup_root: Path = DEFAULT_CGROUP_ROOT,
    procfs: Path = DEFAULT_PROCFS,
    cores_override: float | None = None,
) -> Samplers:
    """Choose what to read.

    Args:
        source: What is wanted.
        cgroup_root: Where the host's control groups are mounted.
        procfs: Where the host's ``/proc`` is.
        cores_override: Cores of a node with a CPU budget; None for a whole machine.

    Raises:
        InputError: What is wanted is not there.
    """
    chosen = _present(cgroup_root) if source is Source.AUTO else source
    sources = _sources(chosen, cgroup_root)
    if source is Source.AUTO and chosen is not Source.PROCESSES:
        sources = (*sources, ProcessTree())
    gpus = open_gpu()
    pods = PodSampler(sources, gpus)
    node = NodeSampler(gpus, procfs=procfs, cores_override=cores_override)
    words = f"pods: {pods.words}; GPUs: {gpus.words if gpus else 'none'}"
    return Samplers(pods, node, chosen, words, gpus)


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
    raise InputError("source of resource figures", chosen, f"there below {root}")


def _unified(root: Path) -> bool:
    """Version 2 alone is mounted; in a hybrid tree it is one level down and counts no memory."""
    return (root / "cgroup.controllers").exists()
