"""What resources cost: now by the live room, and in the slots to come by what is promised there."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from extender.engine.admission.outcome import Book
from extender.engine.parameters import EngineParameters
from extender.engine.snapshot import Snapshot
from extender.policy import pricing
from extender.policy.pricing import FloatVector
from shared.model import NodeName
from shared.prices import NodePrices, PricesResponse, Scale, SlotPrices, SlotRow

_DIGITS: Final = 4
NOT_BY_PRICE: Final = "no job is admitted by price: `admission.enabled` is false"


def prices(
    snapshot: Snapshot,
    params: EngineParameters,
    *,
    now: float,
    acting: bool,
) -> PricesResponse:
    """Return what every node's resources cost now; of the slots nothing."""
    room = snapshot.room
    logs = pricing.log_prices(room, params.pricing)
    whole = math.log(params.pricing.kappa)
    return PricesResponse(
        generated_at=now,
        acting=acting,
        kappa=params.pricing.kappa,
        nodes=tuple(
            _node(node.name, room.resources, logs[i], whole) for i, node in enumerate(room.nodes)
        ),
    )


def slot_prices(book: Book, params: EngineParameters) -> SlotPrices:
    """Return the prices of every slot, nodes with the same ones in one row, in order of names."""
    promised, bounds = book.state.promised, book.state.bounds
    capacity = promised.workers.capacity[:, None, :]
    used = promised.workers.used
    shares = np.divide(used, capacity, out=np.zeros(used.shape), where=capacity > 0)
    rounded = np.round(shares, _DIGITS)  # resources, slots, machines
    groups: dict[bytes, list[int]] = defaultdict(list)
    for row in np.argsort(np.array(book.nodes, dtype=object), kind="stable").tolist():
        present = (promised.workers.capacity[:, row] > 0).tobytes()
        groups[present + rounded[:, :, row].tobytes()].append(row)
    return SlotPrices(
        slot_seconds=params.slot_time.slot_seconds,
        first=book.first,
        slots=used.shape[1],
        share=params.slot_time.share,
        scales={
            name: Scale(
                log_low=round(float(bounds.log_low_workers[r]), _DIGITS),
                log_high=round(float(bounds.log_high_workers[r]), _DIGITS),
            )
            for r, name in enumerate(book.resources)
        },
        rows=tuple(
            SlotRow(
                nodes=tuple(book.nodes[row] for row in rows),
                prices={
                    name: tuple(rounded[r, :, rows[0]].tolist())
                    for r, name in enumerate(book.resources)
                    if promised.workers.capacity[r, rows[0]] > 0
                },
            )
            for rows in groups.values()
        ),
    )


def _node(name: NodeName, resources: Sequence[str], logs: FloatVector, whole: float) -> NodePrices:
    found = {r: float(log) for r, log in zip(resources, logs, strict=True) if math.isfinite(log)}
    dearest = max(found, key=lambda r: found[r], default="")
    return NodePrices(
        name=name,
        prices={resource: round(log / whole, _DIGITS) for resource, log in found.items()},
        dearest=dearest,
        times_idle=round(math.exp(found.get(dearest, 0.0)), _DIGITS),
    )
