"""A policy has six things: module, parameters, page, unit table, property test, golden case."""

import ast
import importlib
from dataclasses import is_dataclass

import pytest

from shared.convergence.parameters import ConvergenceParameters
from tests.architecture.sources import ROOT, module_name, python_files, tree

POLICIES = {
    "queue.priority": "queue.PriorityParameters",
    "queue.weighting": "queue.WeightingParameters",
    "queue.service": "queue.ServiceParameters",
    "queue.reservation": "queue.BackfillParameters",
    "queue.fair_share": "queue.FairShareParameters",
    "placement.buckets": None,
    "placement.gang": "placement.GangParameters",
    "placement.topology": "placement.TopologyParameters",
    "placement.pricing": "placement.NodePriceParameters",
    "placement.scoring": "placement.ScoringWeights",
    "migration.migration_target": "migration.TargetParameters",
    "migration.rebalance": "migration.RebalanceParameters",
    "migration.count_balance": "migration.CountParameters",
    "migration.migration_gain": "migration.GainParameters",
    "cpu_shares.cpu_weights": "cpu_shares.CpuShareParameters",
    "pricing.price_bounds": "pricing.BoundsParameters",
    "pricing.schedule": "pricing.SlotParameters",
    "pricing.admission": "pricing.AdmissionParameters",
    "elastic.speed": "elastic.SpeedParameters",
    "elastic.scaling": "elastic.ScalingParameters",
    "preemption.preemption": "preemption.PreemptionParameters",
    "training_faults.fault_detection": "training_faults.DetectionParameters",
}
"""Room and policy → its frozen parameters; ``buckets`` has what a job declares instead."""

MODULES = {
    "queue.reservation": "queue.backfill",
    "queue.priority": "queue.order",
    "placement.pricing": "placement.scoring",
    "preemption.preemption": "preemption.victims",
}
"""Policies whose module has another name than their page."""

LIMITS = {
    "agents.AgentReportParameters",
    "agents.CheckpointNoteParameters",
    "migration.MigrationParameters",
    "elastic.RescaleParameters",
    "training_faults.RestartParameters",
    "pricing.SlotTimeParameters",
    "drain.DrainParameters",
    "drain.LostNodeParameters",
    "queue.GatingParameters",
    "combined.CoreParameters",
}
"""Parameters of a decision around its policies."""

NOT_RULES = {"feasibility": "kube-scheduler's own filters, held to them by the oracle test"}
ELSEWHERE = {"convergence": "in shared/, because the agent categorises; checked below"}


@pytest.mark.parametrize(("policy", "parameters"), POLICIES.items(), ids=POLICIES)
def test_a_policy_has_its_six_things(policy: str, parameters: str | None) -> None:
    name = policy.rpartition(".")[2]
    module = MODULES.get(policy, policy).replace(".", "/")
    wanted = {
        "module": ROOT / f"extender/core/{module}.py",
        "page": ROOT / f"docs/policies/{name}.md",
        "unit table": ROOT / f"tests/unit/core/policies/test_{name}.py",
        "property test": ROOT / f"tests/property/test_{name}.py",
    }
    missing = [what for what, path in wanted.items() if not path.is_file()]
    golden = ROOT / "tests/golden" / name
    inputs = {p.name.removesuffix(".input.json") for p in golden.glob("*.input.json")}
    outputs = {p.name.removesuffix(".output.json") for p in golden.glob("*.output.json")}
    missing += [] if inputs and inputs == outputs else ["golden case"]
    frozen = parameters is None or _is_frozen(parameters)
    assert missing + ([] if frozen else ["frozen parameters"]) == []


def _is_frozen(parameters: str) -> bool:
    module, name = parameters.split(".")
    kind = getattr(importlib.import_module(f"extender.core.parameters.{module}"), name)
    return bool(is_dataclass(kind) and kind.__dataclass_params__.frozen)


def test_convergence_has_them_too() -> None:
    wanted = (
        "shared/convergence/categories.py",
        "docs/policies/convergence.md",
        "tests/unit/convergence/test_categories.py",
        "tests/property/test_convergence.py",
    )
    assert [path for path in wanted if not (ROOT / path).is_file()] == []
    assert list((ROOT / "tests/golden/convergence").glob("*.input.json"))
    assert ConvergenceParameters.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_whatever_has_a_page_or_parameters_is_listed_as_a_policy() -> None:
    pages = {p.stem for p in (ROOT / "docs/policies").glob("*.md")}
    with_parameters = {
        f"{path.stem}.{node.name}"
        for path in python_files("extender/core/parameters")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Parameters", "Weights"))
    }
    listed = {policy.rpartition(".")[2] for policy in POLICIES}
    assert pages <= listed | NOT_RULES.keys() | ELSEWHERE.keys()
    assert with_parameters <= LIMITS | {p for p in POLICIES.values() if p is not None}


def test_every_module_of_the_core_is_used() -> None:
    """A rule that nothing asks is not a rule."""
    imported = {
        name
        for path in python_files("extender", "simulator")
        for node in ast.walk(tree(path))
        for name in _imports(node)
    }
    modules = [module_name(p) for p in python_files("extender/core") if p.name != "__init__.py"]
    assert [m for m in modules if m not in imported] == []


def _imports(node: ast.AST) -> set[str]:
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()
