"""A policy has six things: module, parameters, page, unit table, property test, golden case."""

import ast
import importlib
from dataclasses import is_dataclass

import pytest

from shared.convergence.parameters import ConvergenceParameters
from tests.architecture.sources import ROOT, module_name, python_files, tree

POLICIES = {
    "priority": "priority.PriorityParameters",
    "weighting": "weighting.WeightingParameters",
    "buckets": "relations.Relations",
    "gang": "gang.GangParameters",
    "reservation": "reservation.ReservationParameters",
    "topology": "topology.TopologyParameters",
    "pricing": "pricing.PricingParameters",
    "scoring": "scoring.ScoringWeights",
    "migration_target": "migration_target.TargetParameters",
    "rebalance": "rebalance.RebalanceParameters",
    "count_balance": "count_balance.CountParameters",
    "migration_gain": "migration_gain.GainParameters",
    "cpu_weights": "cpu_weights.WeightParameters",
    "price_bounds": "price_bounds.BoundsParameters",
    "schedule": "schedule.SlotParameters",
    "admission": "admission.AdmissionParameters",
    "speed": "speed.SpeedParameters",
    "scaling": "scaling.ScalingParameters",
    "fair_share": "fair_share.FairShareParameters",
}
"""Policy → its frozen parameters. Everything else in the folder is a part of one of them."""

NOT_RULES = {"feasibility": "kube-scheduler's own filters, held to them by the oracle test"}
ELSEWHERE = {"convergence": "in shared/, because the agent categorises; checked below"}


@pytest.mark.parametrize(("policy", "parameters"), POLICIES.items(), ids=POLICIES)
def test_a_policy_has_its_six_things(policy: str, parameters: str) -> None:
    wanted = {
        "module": ROOT / f"extender/policy/{policy}.py",
        "page": ROOT / f"docs/policies/{policy}.md",
        "unit table": ROOT / f"tests/unit/policy/test_{policy}.py",
        "property test": ROOT / f"tests/property/test_{policy}.py",
    }
    missing = [what for what, path in wanted.items() if not path.is_file()]
    golden = ROOT / "tests/golden" / policy
    inputs = {p.name.removesuffix(".input.json") for p in golden.glob("*.input.json")}
    outputs = {p.name.removesuffix(".output.json") for p in golden.glob("*.output.json")}
    missing += [] if inputs and inputs == outputs else ["golden case"]
    module, name = parameters.split(".")
    kind = getattr(importlib.import_module(f"extender.policy.{module}"), name)
    frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen
    assert missing + ([] if frozen else ["frozen parameters"]) == []


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
        for path in python_files("extender/policy")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Parameters", "Weights"))
    }
    assert pages <= POLICIES.keys() | NOT_RULES.keys() | ELSEWHERE.keys()
    assert with_parameters <= set(POLICIES.values())


def test_every_module_of_the_folder_is_used() -> None:
    """A rule that nothing asks is not a rule."""
    imported = {
        name
        for path in python_files("extender", "simulator")
        for node in ast.walk(tree(path))
        for name in _imports(node)
    }
    modules = [module_name(p) for p in python_files("extender/policy")]
    assert [m for m in modules if m not in imported and m != "extender.policy"] == []


def _imports(node: ast.AST) -> set[str]:
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()
