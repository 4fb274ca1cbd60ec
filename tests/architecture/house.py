"""Counts of the house. ``python -m tests.architecture.house`` prints them."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

from tests.architecture.sources import ROOT, module_name, python_files, tree

POD_TO_BINDING: Final = (
    "shared/kube/client.py",
    "shared/kube/watching.py",
    "shared/kube/reflector.py",
    "shared/kube/kinds.py",
    "shared/kube/parse.py",
    "shared/kube/wire.py",
    "extender/controllers/observe/observer.py",
    "extender/writers/decision_log/recorder.py",
    "extender/store/store.py",
    "extender/store/pods.py",
    "extender/store/assumed.py",
    "extender/store/nodes.py",
    "extender/store/table.py",
    "extender/controllers/base.py",
    "extender/controllers/queue.py",
    "extender/core/cluster/session.py",
    "extender/core/cluster/snapshot.py",
    "extender/core/queue/decision.py",
    "extender/core/cluster/jobs.py",
    "extender/core/cluster/job_views.py",
    "extender/core/cluster/owners.py",
    "extender/core/cluster/job_spec.py",
    "extender/core/cluster/worker_gang.py",
    "extender/core/cluster/pod_shape.py",
    "extender/core/kinds/registry.py",
    "extender/core/kinds/base.py",
    "extender/core/kinds/job.py",
    "extender/core/queue/repair.py",
    "extender/core/queue/order.py",
    "extender/core/queue/namespace_shares.py",
    "extender/core/queue/scheduling_pass.py",
    "extender/core/queue/attempts.py",
    "extender/core/queue/backfill.py",
    "extender/core/queue/slot_gate.py",
    "extender/core/queue/notices.py",
    "extender/core/records/migrations.py",
    "extender/core/placement/planner.py",
    "extender/core/placement/release.py",
    "extender/core/placement/topology.py",
    "extender/core/placement/gang.py",
    "extender/core/placement/allocation.py",
    "extender/core/placement/placement.py",
    "extender/core/placement/rules.py",
    "extender/core/placement/scoring.py",
    "extender/core/nodes/node_table.py",
    "extender/core/cluster/commands.py",
    "extender/writers/execute.py",
    "extender/writers/events.py",
    "shared/kube/writes.py",
    "extender/servers/scheduler/verbs.py",
    "extender/servers/scheduler/schema.py",
    "extender/core/scheduler/filtering.py",
    "extender/core/scheduler/binding.py",
    "extender/servers/scheduler/barrier.py",
    "extender/writers/bindings.py",
)
"""Files on the way from a pod's event to its Binding; each has a part of a file of the review."""


def lines(path: Path) -> tuple[int, int]:
    """Return lines of code, without imports, docstrings, comments and blanks; and of imports."""
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    hidden: set[int] = set()
    imports: set[int] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                hidden.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code = {n for n, line in enumerate(text, 1) if line.strip() and line.strip()[0] != "#"}
    return len(code - hidden - imports), len(imports)


def room_cycles() -> list[str]:
    """Return a cycle of the core's rooms by their imports; empty if there is none."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for path in python_files("extender/core"):
        room = module_name(path).split(".")[2:3]
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "extender.core."
            ):
                other = (node.module or "").split(".")[2]
                if room and other != room[0]:
                    graph[room[0]].add(other)
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def sets_of_reasons() -> list[str]:
    """Return files, other than the record's, that keep a set of reasons under a constant name."""
    pattern = re.compile(r"^_?[A-Z_]+\b[^=\n]*= (?:frozenset\(\s*)?[{(\[]\s*Reason\.", re.MULTILINE)
    return [
        str(path)
        for path in python_files("extender", "simulator")
        if path.name != "reasons.py" and pattern.search((ROOT / path).read_text(encoding="utf-8"))
    ]


def counts() -> Mapping[str, str]:
    """Return the rows of the table."""
    rows: dict[str, str] = {}
    for folder in ("extender", "extender/core", "agent", "cli"):
        files = [lines(path) for path in python_files(folder)]
        code, imports = (sum(column) for column in zip(*files, strict=True))
        rows[f"{folder}: files"] = str(len(files))
        rows[f"{folder}: code lines per file"] = f"{code / len(files):.0f}"
        rows[f"{folder}: imports per code line"] = f"{100 * imports / code:.1f} %"
    rows["cycles of rooms in the core"] = str(len(room_cycles()))
    rows["sets of reasons outside the record"] = str(len(sets_of_reasons()))
    rows["files from pod event to Binding"] = str(len(POD_TO_BINDING))
    return rows


def main() -> int:
    """Print the counts."""
    for name, value in counts().items():
        sys.stdout.write(f"{name}: {value}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
