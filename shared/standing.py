"""Where a job stands in the order of the queue, as the read API shows it."""

from msgspec import Struct

from shared.progress import Span


class Terms(Struct, frozen=True, kw_only=True):
    """What V was made of, in the letters of the CPS paper (docs/policies/priority.md).

    Attributes:
        u: User priority, 1 to 10.
        b: Job priority: hp, np or lp.
        l: Time priority out of the maximum wait, 1 to 100.
        m: Task parallelism: number of workers.
        e_normalised: u + b + l among the waiting jobs, 0 to 1.
        m_normalised: m among the waiting jobs, 0 to 1.
    """

    u: int
    b: int
    l: int  # noqa: E741 - the paper's letter, and what `shuntyard queue` shows
    m: int
    e_normalised: float
    m_normalised: float


class Weight(Struct, frozen=True, kw_only=True):
    """The key of the order ``weighting``: utility, then size (docs/policies/weighting.md).

    Attributes:
        utility: U, out of PriorityClass and user priority; larger goes first.
        size: The two parts below together; between equal utilities the larger goes first.
        cpu_ratio: CPU request of all pods as a part of the cluster.
        memory_ratio: The same of memory.
    """

    utility: int
    size: float
    cpu_ratio: float
    memory_ratio: float


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
