"""Answers of the read API: lists, why a job waits, what would make it run, and what-if (pure).

Every function takes a ``Session`` and returns values of ``shared.readapi.api``.
"""

from extender.core.explain.explanation import ExplainSession, isolated, pod
from extender.core.explain.job_details import rescale_ledger
from extender.core.explain.job_list import NO_FORECASTS, Forecasts, all_jobs
from extender.core.explain.lists import MOST_ENTRIES, WHOLE, Page, namespaces, nodes, queue
from extender.core.explain.parked import is_known, job, named
from extender.core.explain.parked import ledger as parking_ledger
from extender.core.explain.prices import NOT_BY_PRICE, prices, slot_prices
from extender.core.explain.pricing import Ledgers, paused, with_ledgers
from extender.core.explain.what_if import what_if

__all__ = [
    "MOST_ENTRIES",
    "NOT_BY_PRICE",
    "NO_FORECASTS",
    "WHOLE",
    "ExplainSession",
    "Forecasts",
    "Ledgers",
    "Page",
    "all_jobs",
    "is_known",
    "isolated",
    "job",
    "named",
    "namespaces",
    "nodes",
    "parking_ledger",
    "paused",
    "pod",
    "prices",
    "queue",
    "rescale_ledger",
    "slot_prices",
    "what_if",
    "with_ledgers",
]
