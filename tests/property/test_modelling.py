"""A pod with claims may use the nodes that it may use without them and that reach its volumes."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import pod_shape
from extender.core.nodes.feasibility import accepts
from shared.model import NodeSelectorTerm, Requirement
from tests.fakes.builders import make_claim, make_node, make_pod, make_shape, make_volume
from tests.unit.core.clusters import snapshot_of

KEYS, VALUES = st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"])
lines = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.tuples(VALUES)),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
terms = st.builds(NodeSelectorTerm, st.lists(lines, max_size=2).map(tuple))
affinities = st.none() | st.lists(terms, max_size=3)
nodes = st.builds(make_node, st.just("n"), labels=st.dictionaries(KEYS, VALUES))


@given(affinities, st.lists(affinities, max_size=3), nodes)
def test_the_affinities_of_pod_and_volumes_all_hold(own, volumes, node) -> None:
    names = [f"disk-{i}" for i in range(len(volumes))]
    snapshot = snapshot_of(
        [make_claim(name, volume=name) for name in names],
        [make_volume(n, affinity=affinity) for n, affinity in zip(names, volumes, strict=True)],
    )
    pod = make_pod(shape=make_shape(affinity=own), claims=names)
    found = pod_shape.shape(snapshot, pod)
    alone = [accepts(make_shape(affinity=affinity), node) for affinity in (own, *volumes)]
    assert (accepts(found, node), found.unmodelled) == (all(alone), ())
