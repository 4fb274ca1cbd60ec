"""The number of members placed at one time equals the watch's, event by event (defect E3)."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.store.store import ClusterStore
from shared import labels
from shared.model import Delete, Uid, Upsert
from tests.fakes.builders import make_node, make_pod

KEY = "default/group/j"
PODS = [f"p-{i}" for i in range(6)]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(PODS),
        st.sampled_from(["bound", "refused", "failed", "succeeded", "leaving", "gone"]),
    ),
    max_size=30,
)


class Model:
    """For each placed pod, every set of placed pods that it was part of."""

    def __init__(self) -> None:
        self.placed: set[str] = set()
        self.seen: dict[str, list[set[str]]] = defaultdict(list)

    def look(self) -> None:
        for uid in self.placed:
            self.seen[uid].append(set(self.placed))

    def leave(self, uid: str, *, denied: bool) -> None:
        self.placed.discard(uid)
        self.seen.pop(uid, None)
        if denied:
            for moments in self.seen.values():
                for moment in moments:
                    moment.discard(uid)

    def most(self) -> int:
        return max((len(m) for u in self.placed for m in self.seen[u]), default=0)


def happen(store: ClusterStore, model: Model, life: int, name: str, what: str) -> None:
    held = store.snapshot().pods.get(f"default/{name}")
    placed = held is not None and held.uid in model.placed
    if what == "gone" or (what == "bound" and held is not None and not placed):
        if held is not None:
            model.leave(held.uid, denied=False)
            store.apply(Delete("Pod", held.key, held.uid))
        held = None
    if what == "gone" or (held is None and what != "bound"):
        return
    if held is None:
        pod = make_pod(name, uid=f"{name}#{life}", job="j", node="n", phase="Pending")
        model.placed.add(pod.uid)
        model.look()
    elif what == "bound":
        pod = held
    else:
        changes = {
            "refused": {"phase": "Failed", "phase_reason": "OutOfcpu"},
            "failed": {"phase": "Failed"},
            "succeeded": {"phase": "Succeeded"},
            "leaving": {"deleting": True},
        }[what]
        pod = replace(held, **changes)
        if what == "refused" and (held.phase != "Pending" or not placed):
            return
        if placed and what != "succeeded" and not (what == "leaving" and held.phase != "Pending"):
            model.leave(pod.uid, denied=what == "refused")
    store.apply(Upsert(pod))


@given(events=EVENTS)
def test_the_store_counts_the_members_placed_with_a_survivor(events):
    store, model = ClusterStore(labels.SCHEDULER_NAME), Model()
    store.apply(Upsert(make_node("n")))
    for life, (name, what) in enumerate(events):
        happen(store, model, life, name, what)
        kept = store.snapshot().most_placed.get(KEY, 0)
        assert max(kept, len(model.placed)) == model.most()
        store.check_invariants()


@given(events=EVENTS, later=EVENTS)
def test_a_restored_store_continues_as_its_original(events, later):
    store, model = ClusterStore(labels.SCHEDULER_NAME), Model()
    store.apply(Upsert(make_node("n")))
    for life, (name, what) in enumerate(events):
        happen(store, model, life, name, what)
    other = ClusterStore.restore(store.export())
    assert other.export() == store.export()
    for life, (name, what) in enumerate(later, start=len(events)):
        happen(store, model, life, name, what)
        held = store.snapshot().pods.get(f"default/{name}")
        delta = Delete("Pod", f"default/{name}", Uid("")) if held is None else Upsert(held)
        other.apply(delta)
        assert other.snapshot().most_placed == store.snapshot().most_placed
