"""What orders jobs and nodes in bodies of the read API: terms of scores, groups, weights."""

from typing import Final

from msgspec import Struct

from shared.progress import Span

WORKERS: Final = "workers"
MILLI_GPUS: Final = "milli-gpus"
"""Units of ``Terms.m``."""


class Terms(Struct, frozen=True, kw_only=True):
    """What V was made of, in the letters of the CPS paper (docs/policies/priority.md).

    Attributes:
        u: User priority, 1 to 10.
        b: Job priority: hp, np or lp.
        l: Time priority out of the maximum wait, 1 to 100.
        m: Task parallelism: number of workers, or GPUs.
        e_normalised: u + b + l among the waiting jobs, 0 to 1.
        m_normalised: m among the waiting jobs, 0 to 1.
        m_unit: What m counts: ``workers``, or ``milli-gpus``, thousandths of GPUs.
    """

    u: int
    b: int
    l: int  # noqa: E741 - the paper's letter, and what `shuntyard queue` shows
    m: int
    e_normalised: float
    m_normalised: float
    m_unit: str = WORKERS


class Weight(Struct, frozen=True, kw_only=True):
    """The key of the order ``weighting``: utility, then size (docs/policies/weighting.md).

    Attributes:
        utility: U, out of PriorityClass and user priority; larger goes first.
        size: Between equal utilities the larger goes first: the parts of CPU and memory together,
            or, where GPUs come first, that of GPUs.
        cpu_ratio: CPU request of all pods as a part of the cluster.
        memory_ratio: The same of memory.
        gpu_ratio: The same of GPUs; 0 where they do not come first.
    """

    utility: int
    size: float
    cpu_ratio: float
    memory_ratio: float
    gpu_ratio: float = 0.0


class StandingEntry(Struct, frozen=True, kw_only=True):
    """The place of a job under the order ``service`` (docs/policies/service.md).

    Attributes:
        group: ``urgent``, ``critical`` or ``service``; the jobs of a group go before the next.
        needs: Expected seconds that it runs, with the band that holds about two thirds.
        source: Where that is from; empty: nothing but how long it has run already.
        weight: What its service is divided by.
    """

    group: str
    needs: Span
    source: str
    weight: float


class NodeTerms(Struct, frozen=True, kw_only=True):
    """The weighted terms of one node for one pod, each 0 to 1 (docs/policies/scoring.md).

    A term that says nothing about the pod is null.
    """

    node: str
    affinity: float
    locality: float
    packing: float
    price: float
    total: float
    preference: float | None = None
    sparing: float | None = None
