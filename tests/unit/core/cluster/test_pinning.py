"""The pin leaves only the planned node and the spares."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster.pod_shape import unpinned
from extender.core.nodes import feasibility
from extender.core.placement.release import pinned_terms
from shared.model import Requirement
from tests.fakes.builders import make_node, make_shape, make_term, pinned_to

NODES = [
    make_node(name, labels={"zone": zone}) for name, zone in [("a", "x"), ("b", "x"), ("c", "y")]
]


def test_a_pod_without_affinity_gets_one_name_a_term():
    assert pinned_terms(make_shape(), NODES[:2]) == pinned_to("a", "b")


def test_a_pod_with_terms_gets_one_requirement_more_in_each():
    zones = [make_term(Requirement("zone", "In", (z,))) for z in "xy"]
    terms = pinned_terms(make_shape(affinity=zones), [NODES[0], NODES[2]])
    hostnames = Requirement("kubernetes.io/hostname", "In", ("a", "c"))
    assert [term.expressions for term in terms] == [
        (Requirement("zone", "In", ("x",)), hostnames),
        (Requirement("zone", "In", ("y",)), hostnames),
    ]


def test_an_empty_term_stays_as_it_is():
    assert pinned_terms(make_shape(affinity=[make_term()]), NODES[:1]) == (make_term(),)


@given(
    pinned=st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique_by=lambda n: n.name),
    zones=st.none() | st.lists(st.sampled_from("xyz"), min_size=1, max_size=2),
)
def test_exactly_the_pinned_nodes_that_were_allowed_before_are_allowed_after(pinned, zones):
    affinity = zones and [make_term(Requirement("zone", "In", (z,))) for z in zones]
    before = make_shape(affinity=affinity)
    after = make_shape(affinity=pinned_terms(before, pinned))
    for node in NODES:
        want = node in pinned and feasibility.accepts(before, node)
        assert feasibility.accepts(after, node) == want


TERMS = st.builds(
    make_term,
    st.sampled_from([Requirement("zone", "In", ("x",)), Requirement("rack", "Exists")]),
    fields=st.sampled_from([(), (Requirement("metadata.name", "NotIn", ("c",)),)]),
)


@given(
    pinned=st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique_by=lambda n: n.name),
    terms=st.none() | st.lists(TERMS | st.just(make_term()), min_size=1, max_size=3),
    labelled=st.booleans(),
)
def test_a_pin_that_is_taken_back_leaves_what_was_there_before(pinned, terms, labelled):
    nodes = pinned if labelled else [replace(n, labels={}) for n in pinned]
    before = make_shape(affinity=terms)
    after = replace(before, affinity=pinned_terms(before, nodes))
    assert unpinned(after) == before
    assert unpinned(before) == before
