"""What people are told: the queue, the nodes, the jobs, and why one of them waits (pure).

Values of ``shared.api``. ``listing`` shows many, ``prices`` what they pay, ``answering`` explains
one, ``what_if`` one that nobody has submitted.
"""

from extender.engine.explaining.answering import Asked, asked, job, named, pod
from extender.engine.explaining.bargaining import Bargaining, more, paused
from extender.engine.explaining.listing import all_jobs, nodes, queue
from extender.engine.explaining.namespaces import namespaces
from extender.engine.explaining.pages import MOST_ENTRIES, WHOLE, Page
from extender.engine.explaining.prices import NOT_BY_PRICE, prices, slot_prices
from extender.engine.explaining.promises import Bargains
from extender.engine.explaining.what_if import what_if
from extender.engine.explaining.workers import ledger

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
