"""Laws of the static filters."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.nodes.feasibility import NodeFilter, accepts, named_nodes
from extender.core.nodes.node_columns import NodeColumns
from shared.model import NodeSelectorTerm, Requirement, Taint, Toleration
from tests.fakes.builders import make_node, make_shape

KEYS, VALUES = st.sampled_from(["a", "b", "n"]), st.sampled_from(["", "x", "1", "7"])
NAMES = st.sampled_from(["node-0", "node-1"])
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
expressions = st.one_of(
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(Requirement, KEYS, st.sampled_from(["Gt", "Lt"]), st.tuples(VALUES)),
)
fields = st.builds(
    Requirement, st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), st.tuples(NAMES)
)
terms = st.builds(
    NodeSelectorTerm,
    st.lists(expressions, max_size=2).map(tuple),
    st.lists(fields, max_size=2).map(tuple),
)
tolerations = st.builds(
    Toleration,
    st.one_of(st.just(""), KEYS),
    st.sampled_from(["Equal", "Exists"]),
    VALUES,
    st.one_of(st.just(""), EFFECTS),
)
taints = st.builds(Taint, KEYS, VALUES, EFFECTS)
shapes = st.builds(
    make_shape,
    node_selector=st.dictionaries(KEYS, VALUES, max_size=1),
    affinity=st.one_of(st.none(), st.lists(terms, max_size=3)),
    tolerations=st.lists(tolerations, max_size=2),
)
nodes = st.builds(
    make_node,
    NAMES,
    labels=st.dictionaries(KEYS, VALUES),
    taints=st.lists(taints, max_size=2),
    unschedulable=st.booleans(),
)


@given(shapes, nodes)
def test_a_node_that_is_accepted_is_among_the_named_ones(shape, node) -> None:
    named = named_nodes(shape)
    assert not accepts(shape, node) or named is None or node.name in named


@given(shapes, nodes)
def test_a_node_is_accepted_if_and_only_if_no_filter_refuses_it(shape, node) -> None:
    assert accepts(shape, node) == (not list(NodeFilter(shape).hindrances(node)))


@given(shapes, nodes, tolerations)
def test_one_more_toleration_never_turns_yes_into_no(shape, node, more) -> None:
    wider = replace(shape, tolerations=(*shape.tolerations, more))
    assert accepts(wider, node) or not accepts(shape, node)


@given(shapes, nodes, taints)
def test_one_more_taint_never_turns_no_into_yes(shape, node, more) -> None:
    assert accepts(shape, node) or not accepts(shape, replace(node, taints=(*node.taints, more)))


@given(shapes, nodes)
def test_uncordoning_never_turns_yes_into_no(shape, node) -> None:
    assert accepts(shape, replace(node, unschedulable=False)) or not accepts(shape, node)


@given(st.lists(terms, max_size=3), nodes)
def test_affinity_is_the_or_of_its_terms(several, node) -> None:
    free = replace(node, taints=(), unschedulable=False)
    alone = [accepts(make_shape(affinity=[term]), free) for term in several]
    assert accepts(make_shape(affinity=several), free) == any(alone)


@given(KEYS, st.lists(VALUES, min_size=1, max_size=3), nodes)
def test_in_and_not_in_are_opposites(key, values, node) -> None:
    free = replace(node, taints=(), unschedulable=False)

    def matches(operator: str) -> bool:
        term = NodeSelectorTerm((Requirement(key, operator, tuple(values)),))
        return accepts(make_shape(affinity=[term]), free)

    assert matches("In") != matches("NotIn")


@given(shapes, st.lists(nodes, max_size=6))
def test_the_mask_of_all_nodes_equals_the_verdicts_one_by_one(shape, several) -> None:
    """The mask by distinct label values equals the verdict on each node alone (defect A6)."""
    named = tuple(replace(node, name=f"node-{i}") for i, node in enumerate(several))
    one_by_one = [accepts(shape, node) for node in named]
    assert NodeFilter(shape).mask(NodeColumns(named)).tolist() == one_by_one
