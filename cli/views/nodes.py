"""Tables of nodes: ``shuntyard nodes``, and ``shuntyard prices`` without ``--slots``."""

from collections.abc import Callable, Iterator
from typing import Final

from cli.views.amounts import duration, gpus, number
from cli.views.table import NOTHING, Column, table
from cli.views.terminal import UNLIMITED, Colour, Terminal
from shared import accelerators
from shared.amounts import figure, in_bytes, part
from shared.gpu_faults import faults
from shared.readapi import api
from shared.readapi.pricing import NodePrices, PricesResponse

_COMMON: Final = frozenset({"cpu", "memory", "pods"})
_FIRST_PRICES: Final = ("cpu", "memory")
_RARE_PRICES: Final = frozenset({"pods", "ephemeral-storage"})
"""Shown with ``-o wide`` only."""


def nodes(answer: api.NodesResponse, *, wide: bool, screen: Terminal = UNLIMITED) -> list[str]:
    """Return a line for each node: what is free of what it has, and what its agent reports."""
    if not answer.entries:
        return ["no nodes"]
    has_gpus = any(gpus(node.allocatable) for node in answer.entries)
    columns: list[Column[api.NodeEntry]] = [
        Column("NODE", lambda node: node.name, least=14),
        Column("STATE", _state, colour=_state_colour),
        *(_gpu_columns(answer) if has_gpus else ()),
        *_fault_columns(answer),
        Column("CPU-FREE", lambda node: _free_of(node, "cpu"), right=True),
        Column("MEM-FREE", lambda node: _free_of(node, "memory"), right=True, rank=1),
        Column("PODS", _pods, right=True, rank=3),
        Column("RESERVED", lambda node: str(node.seats), right=True, rank=5),
        Column("PRICE", lambda node: f"{100 * node.relative_price:.0f}%", right=True, rank=2),
        Column("AGENT", lambda node: agent_age(node.agent), right=True, rank=4),
        Column("CPU-USED", lambda node: _used(node, "cpu"), right=True, wide=True),
        Column("MEM-USED", lambda node: _used(node, "memory"), right=True, wide=True),
        Column(
            *("PROGRESSING/WATCHING/CONVERGED", lambda node: pods_by_category(node.agent)),
            right=True,
            wide=True,
        ),
        Column("CPU-NOW", lambda node: cpu_now(node.agent), right=True, wide=True),
        Column("MEM-NOW", lambda node: memory_now(node.agent), right=True, wide=True),
        Column("LOG-PRICE", lambda node: f"{node.log_price:.3f}", right=True, wide=True),
        Column("OTHER-FREE", _other_free, wide=True),
        Column("LEAVES-BY", lambda node: node.leaving or NOTHING, wide=True),
    ]
    return table(columns, answer.entries, wide=wide, screen=screen)


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
    return NOTHING if size is None else in_bytes(size)


def _state(node: api.NodeEntry) -> str:
    state = "Ready" if node.ready else "NotReady"
    if node.unschedulable:
        return f"{state},Cordoned"
    return f"{state},Leaving" if node.leaving else state


def _free(node: api.NodeEntry, resource: str) -> str:
    return figure(resource, node.allocatable.get(resource, 0) - node.used.get(resource, 0))


def _free_of(node: api.NodeEntry, resource: str) -> str:
    """Return what is free of what the node has, such as ``5.5 of 8``."""
    total = node.allocatable.get(resource, 0)
    return part(resource, total - node.used.get(resource, 0), total)


def _gpu_columns(answer: api.NodesResponse) -> Iterator[Column[api.NodeEntry]]:
    yield Column("GPU-FREE", _gpus_free, right=True, colour=_gpu_colour)
    if any(node.gpu_model for node in answer.entries):
        yield Column("GPU-MODEL", lambda node: node.gpu_model or NOTHING, rank=3)
    if any(node.gpu_devices for node in answer.entries):
        yield Column("SHARED", _shared, rank=2)


def _fault_columns(answer: api.NodesResponse) -> Iterator[Column[api.NodeEntry]]:
    """Yield what is wrong with GPUs, if anything is."""
    if any(map(_faults, answer.entries)):
        yield Column("GPU-FAULTS", lambda node: _faults(node) or NOTHING, colour=_fault_colour)


def _faults(node: api.NodeEntry) -> str:
    gpus_health = node.agent.gpus if node.agent else None
    return ", ".join(faults(gpus_health)) if gpus_health else ""


def _fault_colour(node: api.NodeEntry) -> Colour:
    return Colour.RED if _faults(node) else Colour.NONE


def _shared(node: api.NodeEntry) -> str:
    """Return how many replicas are made of how many devices, such as ``8 of 2 devices``."""
    replicas = sum(node.allocatable.get(name, 0) for name in node.gpu_devices)
    devices = sum(node.gpu_devices.values())
    return f"{replicas} of {devices} device{'' if devices == 1 else 's'}" if devices else NOTHING


def _gpus_free(node: api.NodeEntry) -> str:
    all_gpus = gpus(node.allocatable)
    if not all_gpus:
        return NOTHING
    return f"{accelerators.text(all_gpus - gpus(node.used))} of {accelerators.text(all_gpus)}"


def _gpu_colour(node: api.NodeEntry) -> Colour:
    is_free = gpus(node.allocatable) > gpus(node.used)
    return Colour.GREEN if is_free else Colour.DIM


def _state_colour(node: api.NodeEntry) -> Colour:
    if not node.ready:
        return Colour.RED
    return Colour.YELLOW if node.unschedulable or node.leaving else Colour.NONE


def _used(node: api.NodeEntry, resource: str) -> str:
    return figure(resource, node.used.get(resource, 0))


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
