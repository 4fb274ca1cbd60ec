"""Prices of resources: now by their use, and in future slots by what is promised there."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from extender.core.cluster.session import Session
from extender.core.nodes.node_table import FloatVector
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import scoring
from extender.core.pricing.outcome import PriceLedger
from extender.core.pricing.slots import Pool
from shared.model import NodeName
from shared.readapi.pricing import NodePrices, PricesResponse, Scale, SlotPrices, SlotRow

_DIGITS: Final = 4
NOT_BY_PRICE: Final = "no job is admitted by price: `admission.enabled` is false"


def prices(session: Session, *, acting: bool) -> PricesResponse:
    """Return the present prices of every node's resources, without those of slots."""
    table, params = session.snapshot.node_table, session.parameters
    logs = scoring.log_prices(table, params.pricing)
    log_kappa = math.log(params.pricing.kappa)
    return PricesResponse(
        generated_at=session.now,
        acting=acting,
        kappa=params.pricing.kappa,
        nodes=tuple(
            _node(node.name, table.resources, logs[i], log_kappa)
            for i, node in enumerate(table.nodes)
        ),
    )


def slot_prices(book: PriceLedger, params: CoreParameters) -> SlotPrices:
    """Return the prices of every slot; nodes with the same prices share a row, in order of names.

    Nodes of parameter servers, if they differ from those of workers, come after them.
    """
    promised, bounds = book.state.promised, book.state.bounds
    rows = _rows(book.nodes, book.resources, promised.workers)
    server_scales: Mapping[str, Scale] = {}
    if book.server_nodes != book.nodes:
        rows += _rows(book.server_nodes, book.resources, promised.servers)
        server_scales = _scales(book, bounds.log_low_servers, bounds.log_high_servers)
    return SlotPrices(
        slot_seconds=params.slot_time.slot_seconds,
        first=book.first,
        slots=promised.workers.used.shape[1],
        share=params.slot_time.share,
        scales=_scales(book, bounds.log_low_workers, bounds.log_high_workers),
        server_scales=server_scales,
        rows=tuple(rows),
    )


def _rows(names: Sequence[NodeName], resources: Sequence[str], pool: Pool) -> list[SlotRow]:
    capacity = pool.capacity[:, None, :]
    shares = np.divide(pool.used, capacity, out=np.zeros(pool.used.shape), where=capacity > 0)
    rounded = np.round(shares, _DIGITS)  # resources, slots, machines
    groups: dict[bytes, list[int]] = defaultdict(list)
    for row in sorted(range(len(names)), key=lambda row: names[row]):
        present = (pool.capacity[:, row] > 0).tobytes()
        groups[present + rounded[:, :, row].tobytes()].append(row)
    return [
        SlotRow(
            nodes=tuple(names[row] for row in rows),
            prices={
                name: tuple(rounded[r, :, rows[0]].tolist())
                for r, name in enumerate(resources)
                if pool.capacity[r, rows[0]] > 0
            },
        )
        for rows in groups.values()
    ]


def _scales(book: PriceLedger, lows: FloatVector, highs: FloatVector) -> dict[str, Scale]:
    pairs = zip(lows.tolist(), highs.tolist(), strict=True)
    return {
        name: Scale(log_low=round(low, _DIGITS), log_high=round(high, _DIGITS))
        for name, (low, high) in zip(book.resources, pairs, strict=True)
    }


def _node(
    name: NodeName, resources: Sequence[str], logs: FloatVector, log_kappa: float
) -> NodePrices:
    by_name = {r: float(log) for r, log in zip(resources, logs, strict=True) if math.isfinite(log)}
    dearest = max(by_name, key=lambda r: by_name[r], default="")
    return NodePrices(
        name=name,
        prices={resource: round(log / log_kappa, _DIGITS) for resource, log in by_name.items()},
        dearest=dearest,
        times_idle=round(math.exp(by_name.get(dearest, 0.0)), _DIGITS),
    )
