"""What resources cost now, and in the time slots to come, as ``/v1/prices`` says it.

A price is told as its way from that of an idle resource (0) to that of a full one (1), on a scale
of logarithms: the share of the resource that is taken, or promised.
"""

from collections.abc import Mapping

from msgspec import Struct

from shared.answer import Response


class NodePrices(Struct, frozen=True, kw_only=True):
    """What a node's resources cost now (docs/policies/pricing.md).

    Attributes:
        prices: By resource, 0 idle to 1 full; more where too much is taken.
        dearest: The resource that costs most; empty if the node has none.
        times_idle: How many times that one's idle price it costs.
    """

    name: str
    prices: Mapping[str, float]
    dearest: str = ""
    times_idle: float = 1.0


class SlotRow(Struct, frozen=True, kw_only=True):
    """Nodes whose prices are the same in every slot.

    Attributes:
        nodes: Their names.
        prices: By resource, one for each slot: 0 nothing promised, 1 all.
    """

    nodes: tuple[str, ...]
    prices: Mapping[str, tuple[float, ...]]


class Scale(Struct, frozen=True, kw_only=True):
    """Between which prices a resource costs, as natural logarithms.

    The unit is utility for the largest machine's amount of it, for one slot.

    Attributes:
        log_low: Of an idle one.
        log_high: Of a full one.
    """

    log_low: float
    log_high: float


class SlotPrices(Struct, frozen=True, kw_only=True):
    """The plan of jobs with a utility, as prices (docs/policies/price_bounds.md).

    Attributes:
        slot_seconds: Length of a slot.
        first: Number of the present slot, counted since the epoch.
        slots: How many slots are planned ahead.
        share: Part of every node that those jobs have.
        scales: By resource, of the machines of workers.
        server_scales: Of those of parameter servers; empty where they are the same machines.
        rows: The nodes.
    """

    slot_seconds: float
    first: int
    slots: int
    share: float
    scales: Mapping[str, Scale]
    server_scales: Mapping[str, Scale] = {}
    rows: tuple[SlotRow, ...] = ()


class PricesResponse(Response, frozen=True, kw_only=True):
    """What resources cost.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
        kappa: How many times dearer a full resource is now than an idle one.
        nodes: All nodes, by name.
        slots: The time slots; None if nobody asked, or no job is admitted by price.
        slots_problem: Why there are none, in words; empty if there are, or nobody asked.
    """

    acting: bool
    kappa: float
    nodes: tuple[NodePrices, ...] = ()
    slots: SlotPrices | None = None
    slots_problem: str = ""
