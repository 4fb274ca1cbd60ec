"""The command line of a node process."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared import quantity
from shared.errors import InputError

DEFAULT_CPU_BUDGET_CORES: Final = 0.3
_NODE_FORMAT: Final = "NAME:CPU:MEMORY, e.g. worker-0:4:8Gi"


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """One node: its name and its resources, as quantities."""

    name: str
    cpu: str
    memory: str


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a node process.

    ``cpu_budget_cores`` is what the pods of one node may really use together, whatever the node
    offers to the scheduler. ``cpu_mechanism`` and ``sandbox`` are found out when they are ``auto``.
    """

    kubeconfig: Path
    nodes: tuple[NodeOptions, ...]
    directory: Path
    cpu_budget_cores: float = DEFAULT_CPU_BUDGET_CORES
    cpu_mechanism: str = "auto"
    sandbox: str = "auto"


def parse_nodes(text: str) -> tuple[NodeOptions, ...]:
    """Return the nodes of ``NAME:CPU:MEMORY[,…]``.

    Raises:
        InputError: An entry has another form, an amount is no quantity, or a name comes twice.
    """
    nodes = tuple(_parse_node(entry) for entry in text.split(",") if entry)
    names = [node.name for node in nodes]
    if not nodes or len(set(names)) != len(names):
        raise InputError("--nodes", text, f"a list of different nodes, each {_NODE_FORMAT}")
    return nodes


def _parse_node(entry: str) -> NodeOptions:
    parts = entry.split(":")
    if len(parts) != 3 or not parts[0]:  # noqa: PLR2004 - the three parts of the format
        raise InputError("--nodes", entry, _NODE_FORMAT)
    name, cpu, memory = parts
    quantity.parse(cpu, field=f"cpu of node {name}")
    quantity.parse(memory, field=f"memory of node {name}")
    return NodeOptions(name, cpu, memory)


def parse(arguments: Sequence[str]) -> Options:
    """Return the options of a command line.

    Raises:
        InputError: ``--nodes`` cannot be used.
    """
    parser = argparse.ArgumentParser(prog="python -m devcluster.process_node")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--nodes", required=True, metavar="NAME:CPU:MEMORY[,…]")
    parser.add_argument("--dir", type=Path, required=True, dest="directory")
    parser.add_argument("--cpu-budget-cores", type=float, default=DEFAULT_CPU_BUDGET_CORES)
    parser.add_argument("--cpu-mechanism", choices=("auto", "cgroup", "slices"), default="auto")
    modes = ("auto", "privileged", "user-namespace", "rewrite")
    parser.add_argument("--sandbox", choices=modes, default="auto")
    values = vars(parser.parse_args(arguments))
    values["nodes"] = parse_nodes(values["nodes"])
    values["directory"] = values["directory"].absolute()
    return Options(**values)
