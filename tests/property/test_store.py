"""After any events in any order, the indices equal a recomputation."""

from collections import Counter

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from extender.store.assumed import Assumption
from extender.store.source import Content
from extender.store.store import ClusterStore
from shared.model import Delete, MigrationPhase, Replace, Toleration, Uid, Upsert
from tests.fakes.builders import (
    make_claim,
    make_namespace,
    make_node,
    make_owner,
    make_pod,
    make_priority_class,
    make_quota,
    make_shape,
    make_volume,
    pinned_to,
)
from tests.fakes.device_builders import make_device_class
from tests.fakes.migrations import make_member, make_migration
from tests.fakes.reports import make_pod_report, make_report

NODES = st.sampled_from(["node-0", "node-1", "node-2"])
SHAPES = [
    make_shape(),
    make_shape(cpu="0", memory="0"),
    make_shape(cpu="500m", requests={"nvidia.com/gpu": "1"}),
    make_shape(memory="8Gi", host_ports=[80, 443]),
    make_shape(host_ports=[80], node_selector={"zone": "a"}),
    make_shape(tolerations=[Toleration(operator="Exists")], affinity=pinned_to("node-0")),
]
LIVES = 30
"""Enough that the removed ones do not use them all up."""


@st.composite
def pods(draw):
    """One of four names in one of many lives; a later life is created later."""
    index, life = draw(st.integers(0, 3)), draw(st.integers(0, LIVES - 1))
    node = draw(st.sampled_from([None, None, "node-0", "node-2"]))
    pod = make_pod(
        f"pod-{index}",
        uid=f"pod-{index}#{life}",
        created_at=float(life),
        resource_version=draw(st.sampled_from("12")),
        shape=draw(st.sampled_from(SHAPES)),
        job=f"job-{draw(st.integers(0, 1))}",
        scheduler_name=draw(st.sampled_from(["shuntyard", "shuntyard", "default-scheduler"])),
        gated=node is None and draw(st.booleans()),
        node=node,
        reservation=draw(NODES | st.none()),
        plan_size=draw(st.integers(0, 2)),
        phase=draw(st.sampled_from([None, None, None, "Succeeded", "Failed"])),
        deleting=draw(st.booleans()),
    )
    return replace(pod, borrowed_milli=draw(st.sampled_from([0, -400, 700])) if node else 0)


@st.composite
def nodes(draw):
    return make_node(
        draw(NODES),
        uid=draw(st.sampled_from(["", "first", "second"])),
        cpu=draw(st.sampled_from(["2", "4"])),
        allocatable={"nvidia.com/gpu": draw(st.sampled_from(["0", "8"]))}
        | ({"example.com/nic": "2"} if draw(st.booleans()) else {}),
        labels={"zone": draw(st.sampled_from("ab"))},
        unschedulable=draw(st.booleans()),
    )


owners = st.builds(
    make_owner,
    st.sampled_from(["a", "b"]),
    kind=st.sampled_from(["Job", "StatefulSet"]),
    size=st.integers(1, 3),
)


@st.composite
def migrations(draw):
    """Of one of two names, at any phase, to any node, with or without a new pod."""
    new = draw(st.sampled_from(["", "pod-0#0", "pod-1#1", "pod-2#2"]))
    member = make_member("pod-3", target=draw(NODES), shape=draw(st.sampled_from(SHAPES)))
    return make_migration(
        replace(member, replacement_uid=new),
        name=draw(st.sampled_from("mn")),
        phase=draw(st.sampled_from(MigrationPhase)),
        resource_version=draw(st.sampled_from(["1", "2", "10", "x"])),
    )


others = st.one_of(
    owners,
    migrations(),
    st.builds(make_namespace, st.sampled_from(["x", "y"])),
    st.builds(make_quota, st.sampled_from("ab"), namespace=st.sampled_from("xy")),
    st.builds(make_priority_class, st.sampled_from(["low"]), value=st.integers(0, 1)),
    st.builds(
        make_device_class,
        st.sampled_from(["gpu", "tpu"]),
        resource=st.sampled_from(["", "nvidia.com/gpu"]),
        created_at=st.sampled_from([0.0, 1.0]),
    ),
    st.builds(
        make_claim,
        st.sampled_from("ab"),
        namespace=st.sampled_from("xy"),
        uid=st.sampled_from(["first", "second"]),
        volume=st.sampled_from(["", "disk"]),
        many_nodes=st.booleans(),
        deleting=st.booleans(),
    ),
    st.builds(make_volume, st.sampled_from(["disk", "net"]), zonal=st.booleans()),
)


def by_key(entities):
    return tuple({entity.key: entity for entity in entities}.values())


class Store(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.store = ClusterStore("shuntyard")
        self.store.apply(Replace("Node", "Node", (make_node("node-0"), make_node("node-1"))))
        self.time = 0.0
        self.gone: set[Uid] = set()
        self.earlier = (self.store.snapshot(), 0, [])

    @rule(pod=pods())
    def pod_observed(self, pod) -> None:
        held = self.store.snapshot().pods.get(pod.key)
        self.store.apply(Upsert(pod))
        now = self.store.snapshot().pods.get(pod.key)
        if held is not None and now is not None and now.uid != held.uid:
            self.gone.add(held.uid)

    @rule(pod=pods(), known=st.booleans())
    def pod_deleted(self, pod, known: bool) -> None:
        self.store.apply(Delete("Pod", pod.key, pod.uid if known else ""))
        self.gone |= {pod.uid} if known else set()

    @rule(listed=st.lists(pods(), max_size=4).map(by_key))
    def pods_listed(self, listed) -> None:
        self.store.apply(Replace("Pod", "Pod", listed))
        self.gone |= set(self.store.export().removed)
        held = {pod.uid for pod in self.store.snapshot().pods.values()}
        back = {pod.key for pod in listed if pod.uid in self.gone}
        want = {pod.uid for pod in listed if pod.key not in back}
        assert want == {uid for uid in held if f"default/{uid[:5]}" not in back}

    @rule(node=nodes())
    def node_observed(self, node) -> None:
        self.store.apply(Upsert(node))

    @rule(node=nodes())
    def node_deleted(self, node) -> None:
        self.store.apply(Delete("Node", node.name))

    @rule(listed=st.lists(nodes(), max_size=3).map(by_key))
    def nodes_listed(self, listed) -> None:
        self.store.apply(Replace("Node", "Node", listed))

    @rule(entity=others)
    def other_observed(self, entity) -> None:
        self.store.apply(Upsert(entity))

    @rule(entity=others)
    def other_deleted(self, entity) -> None:
        self.store.apply(Delete(type(entity).__name__, entity.key))

    @rule(listed=st.lists(owners, max_size=2), source=st.sampled_from(["Job", "StatefulSet"]))
    def owners_listed(self, listed, source) -> None:
        """The objects of other sources stay."""
        stays = {o.key for o in self._owners() if o.kind != source}
        mine = by_key(owner for owner in listed if owner.kind == source)
        self.store.apply(Replace("Owner", source, mine))
        assert {o.key for o in self._owners()} == stays | {o.key for o in mine}

    @rule(data=st.data(), node=NODES, size=st.integers(0, 2))
    def reservation_assumed(self, data, node, size) -> None:
        self.time += 1
        pod = data.draw(
            st.sampled_from([*sorted(self._pods(), key=lambda p: p.key), make_pod("unknown")])
        )
        self.store.assume(
            Assumption.reserved(pod.uid, node, plan="p", plan_size=size, at=self.time)
        )

    @rule(data=st.data(), node=NODES)
    def bind_assumed(self, data, node) -> None:
        self.time += 1
        self.store.assume(Assumption.bound(self._some_uid(data), node, at=self.time))

    @rule(data=st.data())
    def deletion_assumed(self, data) -> None:
        self.time += 1
        self.store.assume(Assumption.deleted(self._some_uid(data), at=self.time))

    @rule(data=st.data())
    def write_failed(self, data) -> None:
        self.store.forget(self._some_uid(data))

    @rule(age=st.integers(0, 5))
    def time_passed(self, age: int) -> None:
        before = self.time - age
        held = {a.uid for a in self.store.export().assumptions if a.at < before}
        assert self.store.expire(before) == tuple(sorted(held))
        assert all(a.at >= before for a in self.store.export().assumptions)

    @rule(node=NODES, sequence=st.integers(1, 3))
    def agent_reported(self, node, sequence) -> None:
        self.store.report(make_report(node, [make_pod_report("pod-0#0")], sequence=sequence))

    @rule(shape=st.sampled_from(SHAPES))
    def mask_asked_for(self, shape) -> None:
        self.store.snapshot().node_table.feasible(shape)

    @rule()
    def snapshot_kept(self) -> None:
        snapshot = self.store.snapshot()
        self.earlier = (
            snapshot,
            hash(str(snapshot.node_table.used.tolist())),
            sorted(snapshot.pods),
        )

    @rule()
    def restarted_from_its_log(self) -> None:
        content = self.store.export()
        line = msgspec.json.encode(content)
        self.store = ClusterStore.restore(msgspec.json.decode(line, type=Content))
        assert self.store.export() == content

    @invariant()
    def indices_are_right(self) -> None:
        self.store.check_invariants()

    @invariant()
    def a_snapshot_is_one_object_and_never_changes(self) -> None:
        assert self.store.snapshot() is self.store.snapshot()
        snapshot, used, keys = self.earlier
        if keys:
            assert (hash(str(snapshot.node_table.used.tolist())), sorted(snapshot.pods)) == (
                used,
                keys,
            )

    @invariant()
    def what_is_gone_never_comes_back(self) -> None:
        snapshot = self.store.snapshot()
        assert not self.gone & {pod.uid for pod in snapshot.pods.values()}
        assert not self.gone & (snapshot.reservations.keys() | snapshot.bound.keys())

    @invariant()
    def nothing_taken_is_lost_or_counted_twice(self) -> None:
        room = self.store.snapshot().node_table
        want: Counter[tuple[str, str]] = Counter()
        for pod, place in self._places():
            if place in room.index:
                want.update({(place, name): n for name, n in pod.shape.requests})
        for node in room.index:
            more = [pod.borrowed_milli for pod, place in self._places_of_pods() if place == node]
            want[node, "cpu"] += max(0, sum(more))
        for node, i in room.index.items():
            for j, resource in enumerate(room.resources):
                assert room.used[i, j] == want[node, resource]

    def _places(self):
        """Return where each pod takes room, and the reservations of migrations."""
        yield from self._places_of_pods()
        snapshot = self.store.snapshot()
        early = ("Requested", "Resuming", "Completed", "Aborted", "Failed")
        for one in snapshot.migrations.values():
            for member in one.members if one.phase not in early else ():
                uid = member.replacement_uid
                if uid not in snapshot.reservations and uid not in snapshot.bound:
                    yield member, member.target

    def _places_of_pods(self):
        """Return where each pod takes room, by an implementation other than the store's."""
        for pod in self._pods():
            acts = {a.act: a.node for a in self.store.export().assumptions if a.uid == pod.uid}
            if pod.finished:
                continue
            if pod.node_name or "Bind" in acts:
                yield pod, pod.node_name or acts["Bind"]
            elif pod.deleting:
                continue
            elif "Reserve" in acts:
                yield pod, acts["Reserve"]
            elif pod.scheduler_name == "shuntyard" and not pod.gates:
                yield pod, pod.annotations.get("shuntyard.io/node")

    def _some_uid(self, data) -> Uid:
        """Of a pod in the store, or of another one."""
        return data.draw(st.sampled_from([*sorted(p.uid for p in self._pods()), Uid("unknown")]))

    def _pods(self):
        return self.store.snapshot().pods.values()

    def _owners(self):
        return self.store.snapshot().owners


Store.TestCase.settings = settings(stateful_step_count=40)
TestStore = Store.TestCase
