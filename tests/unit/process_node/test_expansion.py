import pytest

from devcluster.process_node.environment import expand

VALUES = {"A": "1", "B": "two words"}
CASES: dict[str, tuple[str, str]] = {
    "a reference becomes its value": ("x$(A)y", "x1y"),
    "two references": ("$(A)$(B)", "1two words"),
    "an unknown name stays": ("$(C)", "$(C)"),
    "a doubled dollar is one dollar": ("$$(A)", "$(A)"),
    "a lone dollar stays": ("$A and $", "$A and $"),
    "an open reference stays": ("$(A", "$(A"),
}


@pytest.mark.parametrize(("text", "want"), CASES.values(), ids=CASES)
def test_references_are_expanded_as_kubernetes_does(text: str, want: str) -> None:
    assert expand(text, VALUES) == want
