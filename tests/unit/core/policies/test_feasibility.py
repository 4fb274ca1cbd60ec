"""Table of kube-scheduler's static filters; the oracle test holds the same to the real one."""

import pytest

from extender.core.nodes.feasibility import accepts, named_nodes
from shared.model import Node, Requirement, Taint, Toleration
from tests.fakes.builders import make_node, make_shape, make_term, pinned_to

NODE = make_node("node-0", labels={"zone": "a", "rank": "5", "empty": "", "big": str(2**63)})


def _line(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, operator, values)


EXPRESSIONS = {
    "In one of the values": (_line("zone", "In", "b", "a"), True),
    "In none of the values": (_line("zone", "In", "b"), False),
    "In of a label that is not there": (_line("rack", "In", "a"), False),
    "In the empty value": (_line("empty", "In", ""), True),
    "In without values cannot be read": (_line("zone", "In"), False),
    "In with a value no label can have spoils its term": (_line("zone", "In", "a", "-a"), False),
    "NotIn other values": (_line("zone", "NotIn", "b"), True),
    "NotIn the value": (_line("zone", "NotIn", "b", "a"), False),
    "NotIn of a label that is not there": (_line("rack", "NotIn", "a"), True),
    "NotIn with a value no label can have": (_line("zone", "NotIn", "b!"), False),
    "NotIn with a value that is too long": (_line("zone", "NotIn", "b" * 64), False),
    "NotIn with the longest value": (_line("zone", "NotIn", "b" * 63), True),
    "NotIn without values cannot be read": (_line("zone", "NotIn"), False),
    "Exists": (_line("empty", "Exists"), True),
    "Exists of a label that is not there": (_line("rack", "Exists"), False),
    "Exists with values cannot be read": (_line("zone", "Exists", "a"), False),
    "DoesNotExist of a label that is not there": (_line("rack", "DoesNotExist"), True),
    "DoesNotExist": (_line("zone", "DoesNotExist"), False),
    "DoesNotExist with values cannot be read": (_line("rack", "DoesNotExist", "a"), False),
    "Gt a smaller integer": (_line("rank", "Gt", "4"), True),
    "Gt the same integer": (_line("rank", "Gt", "5"), False),
    "Gt compares integers and not texts": (_line("rank", "Gt", "10"), False),
    "Gt of a label that is no integer": (_line("zone", "Gt", "0"), False),
    "Gt of a label that is not there": (_line("rack", "Gt", "0"), False),
    "Gt a negative integer: no label value, cannot be read": (_line("rank", "Gt", "-1"), False),
    "Gt of a label beyond 64 bits": (_line("big", "Gt", "1"), False),
    "Gt several values": (_line("rank", "Gt", "1", "2"), False),
    "Gt no integer": (_line("rank", "Gt", "4.5"), False),
    "Gt with an underscore, which Go does not read": (_line("rank", "Gt", "0_1"), False),
    "Gt digits of another script": (_line("rank", "Gt", "٤"), False),
    "Lt a greater integer": (_line("rank", "Lt", "6"), True),
    "Lt the same integer": (_line("rank", "Lt", "05"), False),
    "an unknown operator": (_line("zone", "Like", "a"), False),
}

FIELDS = {
    "metadata.name In": (_line("metadata.name", "In", "node-0"), True),
    "metadata.name In another": (_line("metadata.name", "In", "node-1"), False),
    "metadata.name In two cannot be read": (_line("metadata.name", "In", "node-0", "b"), False),
    "metadata.name NotIn": (_line("metadata.name", "NotIn", "node-0"), False),
    "metadata.name NotIn another": (_line("metadata.name", "NotIn", "node-1"), True),
    "metadata.name Exists cannot be read": (_line("metadata.name", "Exists"), False),
    "a field nodes do not have is empty": (_line("spec.x", "NotIn", "a"), True),
    "a field nodes do not have, In": (_line("spec.x", "In", "a"), False),
}


@pytest.mark.parametrize(("line", "want"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_matches_as_in_kube_scheduler(line: Requirement, want: bool) -> None:
    assert accepts(make_shape(affinity=[make_term(line)]), NODE) is want


@pytest.mark.parametrize(("line", "want"), FIELDS.values(), ids=FIELDS)
def test_a_field_matches_as_in_kube_scheduler(line: Requirement, want: bool) -> None:
    assert accepts(make_shape(affinity=[make_term(fields=[line])]), NODE) is want


A, NOT_A = _line("zone", "In", "a"), _line("zone", "In", "b")
UNREADABLE = _line("zone", "NotIn", "!")
HERE, ELSEWHERE = _line("metadata.name", "In", "node-0"), _line("metadata.name", "In", "node-1")
AFFINITIES = {
    "no affinity": (None, True),
    "no terms match nothing": ((), False),
    "an empty term matches nothing": ((make_term(),), False),
    "an empty term beside one that matches": ((make_term(), make_term(A)), True),
    "terms are ORed": ((make_term(NOT_A), make_term(A)), True),
    "lines of a term are ANDed": ((make_term(A, NOT_A),), False),
    "expressions and fields of a term are ANDed": ((make_term(A, fields=[ELSEWHERE]),), False),
    "both match": ((make_term(A, fields=[HERE]),), True),
    "an unreadable line spoils its own term only": ((make_term(UNREADABLE), make_term(A)), True),
    "an unreadable line spoils its whole term": ((make_term(A, UNREADABLE),), False),
}


@pytest.mark.parametrize(("terms", "want"), AFFINITIES.values(), ids=AFFINITIES)
def test_terms_match_as_in_kube_scheduler(terms, want: bool) -> None:
    assert accepts(make_shape(affinity=terms), NODE) is want


def test_node_selector_and_affinity_must_both_match() -> None:
    assert accepts(make_shape(node_selector={"zone": "a"}, affinity=[make_term(A)]), NODE)
    assert not accepts(make_shape(node_selector={"zone": "b"}, affinity=[make_term(A)]), NODE)
    assert not accepts(make_shape(node_selector={"zone": "a", "rack": ""}), NODE)
    assert not accepts(make_shape(node_selector={"zone": "a"}, affinity=[make_term(NOT_A)]), NODE)


GPU = Taint("gpu", "yes", "NoSchedule")
EVICTING = Taint("gpu", "yes", "NoExecute")
TOLERATIONS = {
    "nothing tolerates": ((), GPU, False),
    "PreferNoSchedule refuses no pod": ((), Taint("gpu", "", "PreferNoSchedule"), True),
    "Equal": ((Toleration("gpu", "Equal", "yes", "NoSchedule"),), GPU, True),
    "an empty operator means Equal": ((Toleration("gpu", "", "yes", "NoSchedule"),), GPU, True),
    "Equal another value": ((Toleration("gpu", "Equal", "no", "NoSchedule"),), GPU, False),
    "another key": ((Toleration("cpu", "Equal", "yes", "NoSchedule"),), GPU, False),
    "another effect": ((Toleration("gpu", "Equal", "yes", "NoExecute"),), GPU, False),
    "an empty effect means every effect": ((Toleration("gpu", "Equal", "yes"),), EVICTING, True),
    "Exists looks at no value": ((Toleration("gpu", "Exists"),), GPU, True),
    "an empty key with Exists tolerates all": ((Toleration(operator="Exists"),), EVICTING, True),
    "an empty key with an effect": ((Toleration("", "Exists", "", "NoExecute"),), GPU, False),
    "Gt is alpha and off": ((Toleration("n", "Gt", "1"),), Taint("n", "2", "NoSchedule"), False),
    "Lt is alpha and off": ((Toleration("n", "Lt", "3"),), Taint("n", "2", "NoSchedule"), False),
}


@pytest.mark.parametrize(("tolerations", "taint", "want"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_a_taint_is_tolerated_as_in_kube_scheduler(tolerations, taint, want: bool) -> None:
    assert accepts(make_shape(tolerations=tolerations), make_node(taints=[taint])) is want


def test_every_taint_must_be_tolerated() -> None:
    node = make_node(taints=["a=1:NoSchedule", "b=1:NoExecute"])
    one = Toleration("a", "Exists")
    assert not accepts(make_shape(tolerations=[one]), node)
    assert accepts(make_shape(tolerations=[one, Toleration("b", "Exists")]), node)


CORDON = "node.kubernetes.io/unschedulable"
CORDONED = {
    "no toleration": ((), False),
    "the taint is tolerated": ((Toleration(CORDON, "Exists", "", "NoSchedule"),), True),
    "its empty value is tolerated": ((Toleration(CORDON, "Equal"),), True),
    "everything is tolerated": ((Toleration(operator="Exists"),), True),
    "another value is tolerated": ((Toleration(CORDON, "Equal", "x"),), False),
    "only its eviction is tolerated": ((Toleration(CORDON, "Exists", "", "NoExecute"),), False),
}


@pytest.mark.parametrize(("tolerations", "want"), CORDONED.values(), ids=CORDONED)
def test_a_cordoned_node_takes(tolerations, want: bool) -> None:
    """Also without the taint, which the node controller adds a moment later."""
    node: Node = make_node(unschedulable=True)
    assert accepts(make_shape(tolerations=tolerations), node) is want


NAMED = {
    "no affinity": (None, None),
    "no terms": ((), set()),
    "empty terms only": ((make_term(),), set()),
    "a pin": (pinned_to("a", "b"), {"a", "b"}),
    "a pin with a label": ((make_term(A, fields=[HERE]),), {"node-0"}),
    "names that contradict each other": ((make_term(fields=[HERE, ELSEWHERE]),), set()),
    "an empty term beside a pin": ((make_term(), *pinned_to("a")), {"a"}),
    "one term without a name": ((*pinned_to("a"), make_term(A)), None),
    "NotIn names no node": ((make_term(fields=[_line("metadata.name", "NotIn", "a")]),), None),
    "another field": ((make_term(fields=[_line("spec.x", "In", "a")]),), None),
}


@pytest.mark.parametrize(("terms", "want"), NAMED.values(), ids=NAMED)
def test_named_nodes_of(terms, want: set[str] | None) -> None:
    assert named_nodes(make_shape(affinity=terms)) == want
