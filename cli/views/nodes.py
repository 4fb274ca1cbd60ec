"""Tables of nodes: ``shuntyard nodes``, and ``shuntyard prices`` without ``--slots``."""

from collections.abc import Callable
from typing import Final

from cli.views.amounts import amount, binary, duration, number
from cli.views.table import NOTHING, Column, table
from shared import api
from shared.pricing import NodePrices, PricesResponse

_COMMON: Final = frozenset({"cpu", "memory", "pods"})
_FIRST_PRICES: Final = ("cpu", "memory")
_RARE_PRICES: Final = frozenset({"pods", "ephemeral-storage"})
"""Shown with ``-o wide`` only."""


def nodes(answer: api.NodesResponse, *, wide: bool) -> list[str]:
    """Return a line for each node: what is free and used, and what its agent reports."""
    if not answer.entries:
        return ["no nodes"]
    columns: list[Column[api.NodeEntry]] = [
        Column("NODE", lambda node: node.name),
        Column("STATE", _state),
        Column("CPU-FREE", lambda node: _free(node, "cpu"), right=True),
        Column("CPU-USED", lambda node: _used(node, "cpu"), right=True),
        Column("MEM-FREE", lambda node: _free(node, "memory"), right=True),
        Column("MEM-USED", lambda node: _used(node, "memory"), right=True),
        Column("PODS", _pods, right=True),
        Column("RESERVED", lambda node: str(node.seats), right=True),
        Column("PRICE", lambda node: f"{node.relative_price:.3f}", right=True),
        Column("AGENT", lambda node: agent_age(node.agent), right=True),
        Column("P/W/C", lambda node: pods_by_category(node.agent), right=True),
        Column("CPU-NOW", lambda node: cpu_now(node.agent), right=True, wide=True),
        Column("MEM-NOW", lambda node: memory_now(node.agent), right=True, wide=True),
        Column("LOG-PRICE", lambda node: f"{node.log_price:.3f}", right=True, wide=True),
        Column("OTHER-FREE", _other_free, wide=True),
    ]
    return table(columns, answer.entries, wide=wide)


def prices(answer: PricesResponse, *, wide: bool) -> list[str]:
    """Return a line for each node: the price of each resource."""
    if not answer.nodes:
        return ["no nodes"]
    columns: list[Column[NodePrices]] = [
        Column("NODE", lambda node: node.name),
        *(Column(name.upper(), _price(name), right=True) for name in _priced(answer, wide=wide)),
        Column("DEAREST", lambda node: node.dearest or NOTHING),
        Column("TIMES-IDLE", lambda node: number(node.times_idle), right=True),
    ]
    lines = table(columns, answer.nodes)
    if wide:
        lines = [f"0: idle; 1: full, {number(answer.kappa)} times the idle price", *lines]
    return lines


def agent_age(agent: api.AgentEntry | None) -> str:
    """Return how long ago the agent reported, and what is wrong with its report."""
    if agent is None:
        return NOTHING
    problem = ",stale" if agent.stale else "" if agent.complete else ",partial"
    return f"{duration(agent.age_seconds)}{problem}"


def pods_by_category(agent: api.AgentEntry | None) -> str:
    """Return how many pods are progressing, watching and converged."""
    if agent is None:
        return NOTHING
    return f"{agent.progressing}/{agent.watching}/{agent.converged}"


def cpu_now(agent: api.AgentEntry | None) -> str:
    """Return the cores that the node uses, as its agent measures them."""
    cores = agent.use.cpu_cores if agent and agent.use else None
    return NOTHING if cores is None else f"{cores:.2f}"


def memory_now(agent: api.AgentEntry | None) -> str:
    """Return the memory that the node uses, as its agent measures it."""
    size = agent.use.memory_bytes if agent and agent.use else None
    return NOTHING if size is None else binary(size)


def _state(node: api.NodeEntry) -> str:
    state = "Ready" if node.ready else "NotReady"
    return f"{state},Cordoned" if node.unschedulable else state


def _free(node: api.NodeEntry, resource: str) -> str:
    return amount(resource, node.allocatable.get(resource, 0) - node.used.get(resource, 0))


def _used(node: api.NodeEntry, resource: str) -> str:
    return amount(resource, node.used.get(resource, 0))


def _pods(node: api.NodeEntry) -> str:
    return f"{node.used.get('pods', 0)}/{node.allocatable.get('pods', 0)}"


def _other_free(node: api.NodeEntry) -> str:
    resources = sorted(node.allocatable.keys() - _COMMON)
    return ",".join(f"{name}={_free(node, name)}" for name in resources) or NOTHING


def _priced(answer: PricesResponse, *, wide: bool) -> list[str]:
    resources = {name for node in answer.nodes for name in node.prices}
    shown = resources if wide else resources - _RARE_PRICES
    return sorted(shown, key=lambda name: (name not in _FIRST_PRICES, name))


def _price(resource: str) -> Callable[[NodePrices], str]:
    return lambda node: f"{node.prices[resource]:.3f}" if resource in node.prices else NOTHING
