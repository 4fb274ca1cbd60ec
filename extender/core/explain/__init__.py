"""What people are told: the queue, the nodes, the jobs, and why one of them waits (pure).

Values of ``shared.api``. ``listing`` shows many, ``prices`` what they pay, ``answering`` explains
one, ``what_if`` one that nobody has submitted.
"""

from extender.core.explain.explanation import Asked, asked, job, named, pod
from extender.core.explain.lists import MOST_ENTRIES, WHOLE, Page, all_jobs, nodes, queue
from extender.core.explain.namespaces import namespaces
from extender.core.explain.prices import NOT_BY_PRICE, prices, slot_prices
from extender.core.explain.pricing import Bargaining, more, paused
from extender.core.explain.slot_plans import Bargains
from extender.core.explain.what_if import what_if
from extender.core.explain.workers import ledger

__all__ = [
    "MOST_ENTRIES",
    "NOT_BY_PRICE",
    "WHOLE",
    "Asked",
    "Bargaining",
    "Bargains",
    "Page",
    "all_jobs",
    "asked",
    "job",
    "ledger",
    "more",
    "named",
    "namespaces",
    "nodes",
    "paused",
    "pod",
    "prices",
    "queue",
    "slot_prices",
    "what_if",
]
