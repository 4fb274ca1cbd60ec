"""A policy has six things: module, parameters, page, unit table, property test, golden case."""

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, tree

NOT_POLICIES = {
    "__init__": "package",
    "room": "what a placement sees, not a rule",
    "feasibility": "kube-scheduler's own filters, held to them by the oracle test",
}
POLICIES = sorted(
    p.stem for p in (ROOT / "extender/policy").glob("*.py") if p.stem not in NOT_POLICIES
)


def _has_parameters(policy: str) -> bool:
    """A frozen dataclass named …Parameters, …Weights or …Relations stands in the module."""
    return any(
        isinstance(node, ast.ClassDef)
        and node.name.endswith(("Parameters", "Weights", "Relations"))
        and any("frozen=True" in ast.unparse(d) for d in node.decorator_list)
        for node in tree(Path(f"extender/policy/{policy}.py")).body
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_has_its_six_things(policy: str) -> None:
    wanted = {
        "page": ROOT / f"docs/policies/{policy}.md",
        "unit table": ROOT / f"tests/unit/policy/test_{policy}.py",
        "property test": ROOT / f"tests/property/test_{policy}.py",
    }
    missing = [what for what, path in wanted.items() if not path.is_file()]
    golden = ROOT / "tests/golden" / policy
    inputs = {p.name.removesuffix(".input.json") for p in golden.glob("*.input.json")}
    outputs = {p.name.removesuffix(".output.json") for p in golden.glob("*.output.json")}
    missing += [] if inputs and inputs == outputs else ["golden case"]
    missing += [] if _has_parameters(policy) else ["parameters"]
    assert missing == []
