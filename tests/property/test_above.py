"""Owners of pods are the same, read for many pods at once or for each (defect A1)."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster.owners import above, above_each
from shared.model import Owner, OwnerReference, Pod, Uid
from tests.fakes.builders import make_owner, make_pod, reference_to
from tests.unit.core.clusters import snapshot_of

NAMESPACES = ["default", "other"]
NAMES = ["a", "b", "c"]
SELECTORS = [None, {}, {"x": "1"}, {"x": "2"}]
few = st.sampled_from


@st.composite
def owners(draw: st.DrawFn) -> list[Owner]:
    """Up to four, each controlled by an earlier one, or by any uid."""
    made: list[Owner] = []
    for number in range(draw(st.integers(1, 4))):
        owner = make_owner(
            draw(few(NAMES)),
            kind=draw(few(["Job", "StatefulSet", "JobSet"])),
            namespace=draw(few(NAMESPACES)),
            uid=f"u{number}",
            selects=draw(few(SELECTORS)),
        )
        above_it = draw(few([None, *made]))
        made.append(replace(owner, controller=above_it and reference_to(above_it)))
    return made


@st.composite
def pods(draw: st.DrawFn, of: list[Owner]) -> list[Pod]:
    leaders = [
        make_pod(f"leader-{i}", owner=draw(few(of)), labels={"x": draw(few("12"))})
        for i in range(2)
    ]
    references = [reference_to(owner) for owner in of]
    references += [OwnerReference("v1", "Pod", one.name, one.uid) for one in leaders]
    references += [
        replace(reference_to(of[0]), name="forged"),
        replace(references[0], uid=Uid("no")),
    ]
    made = [
        replace(
            make_pod(
                f"p{i}",
                namespace=draw(few(NAMESPACES)),
                labels=draw(few([{}, {"x": "1"}, {"x": "2"}])),
            ),
            controller=draw(few([None, *references])),
        )
        for i in range(draw(st.integers(1, 6)))
    ]
    return [*leaders, *made]


@given(st.data())
def test_owners_of_many_pods_are_the_owners_of_each(data: st.DataObject) -> None:
    known = data.draw(owners())
    seen = data.draw(pods(known))
    snapshot = snapshot_of(known, seen)
    assert above_each(snapshot, seen) == [above(snapshot, pod) for pod in seen]


@given(st.data())
def test_no_pod_has_an_owner_of_another_namespace(data: st.DataObject) -> None:
    known = data.draw(owners())
    seen = data.draw(pods(known))
    snapshot = snapshot_of(known, seen)
    for pod in seen:
        over = above(snapshot, pod).owners
        assert {owner.namespace for owner in over} <= {pod.namespace}
