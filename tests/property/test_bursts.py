"""Laws of bursts against a model of kube-scheduler: it would have accepted every Binding."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.kinds import registry
from extender.core.nodes import feasibility
from extender.core.records import annotations
from extender.core.scheduler import binding
from extender.store.assumed import Assumption
from shared import labels
from shared.model import Upsert
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.unit.core.clusters import store_of
from tests.unit.core.scheduler.bursting import PARAMS, Cycle

node_cpus = st.lists(st.integers(1, 6), min_size=1, max_size=4)
job_rows = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.integers(1, 5),
            "cpu": st.sampled_from(["1", "2"]),
            "servers": st.integers(0, 2),
            "namespace": st.sampled_from(["default", "default", "other"]),
            "priority": st.sampled_from([0, 0, 5]),
            "gated": st.booleans(),
        }
    ),
    min_size=1,
    max_size=5,
)

EVENTS = (
    *("create", "create", "create", "ask", "ask", "ask", "time out", "another scheduler"),
    *("queue", "queue", "look"),
)


class KubeScheduler:
    """One scheduling loop: its cache has what is bound, and what it has assumed itself."""

    def __init__(self, cycle, nodes):
        self.cycle, self.nodes = cycle, nodes
        self.assumed = {}
        self.arrived = {}

    def pending(self):
        """Return the pods that it may ask about next."""
        snapshot = self.cycle.store.snapshot()
        return [
            pod
            for _, pod in sorted(snapshot.pods.items())
            if pod.uid not in {*snapshot.bound, *self.assumed} and pod.scheduler_name != "other"
            if not pod.gates
        ]

    def used(self):
        """Return milli-CPU in use by node."""
        snapshot, used = self.cycle.store.snapshot(), Counter()
        for pod in snapshot.pods.values():
            node = snapshot.bound.get(pod.uid) or self.assumed.get(pod.uid)
            if node is not None:
                used[node] += dict(pod.shape.requests).get("cpu", 0)
        return used

    def offered(self, pod):
        used, wanted = self.used(), dict(pod.shape.requests).get("cpu", 0)
        return [
            n.name
            for n in self.nodes
            if used[n.name] + wanted <= n.allocatable["cpu"] and feasibility.accepts(pod.shape, n)
        ]

    def bind(self, pod, node):
        """Bring the pod to bind; its gang is bound once all members have come."""
        self.assumed[pod.uid] = node
        self.arrived[pod.uid] = node
        for uid in list(self.arrived):
            snapshot = self.cycle.store.snapshot()
            waiting = next(p for p in snapshot.pods.values() if p.uid == uid)
            if uid not in snapshot.bound:
                burst = binding.burst(snapshot, waiting, self.arrived.keys(), PARAMS)
                for due in (*burst.first, *burst.rest) if burst else ():
                    bound = Assumption.bound(due, self.arrived[due], at=self.cycle.now)
                    self.cycle.store.assume(bound)
        bound = self.cycle.store.snapshot().bound
        self.assumed = {u: n for u, n in self.assumed.items() if u not in bound}
        self.arrived = {u: n for u, n in self.arrived.items() if u not in bound}

    def time_out(self):
        """End all cycles that wait: kube-scheduler forgets what it assumed."""
        self.assumed, self.arrived = {}, {}


def pods_of(rows):
    """Return owners, and their pods in the order in which they are created."""
    owners, made = [], []
    for i, row in enumerate(rows):
        name, where = f"j{i}", row["namespace"]
        servers = min(row["servers"], row["size"] - 1)
        owner = make_owner(name, size=row["size"], namespace=where)
        owners.append(owner)
        for k in range(row["size"]):
            role = "ps" if k < servers else "worker"
            pod = make_pod(
                f"{name}-{k}",
                namespace=where,
                owner=owner,
                index=k,
                role=role if servers else "",
                cpu=row["cpu"],
                priority=row["priority"],
                created_at=float(i),
                gated=row["gated"],
            )
            if row["size"] == 1:
                pod = replace(pod, annotations={labels.MIN_AVAILABLE: "1"})
            made.append(pod)
    return owners, made


def check_burst(cycle, asked, names, *, before, bound, nodes):
    """Check what a burst bound on what was offered for another pod."""
    snapshot = cycle.store.snapshot()
    scheduler_used = Counter(before)
    for one in bound:
        pod = snapshot.pods[one.pod]
        assert one.uid != asked.uid
        assert one.node in names
        assert pod.namespace == asked.namespace
        scheduler_used[one.node] += dict(pod.shape.requests)["cpu"]
    for node in nodes:
        assert scheduler_used[node.name] <= node.allocatable["cpu"], "a node is too full"


@settings(max_examples=150)
@given(node_cpus, job_rows, st.data())
def test_kube_scheduler_would_have_accepted_every_binding_of_a_burst(cpus, rows, data):
    nodes = [make_node(f"n{i}", cpu=str(cpu)) for i, cpu in enumerate(cpus)]
    owners, to_come = pods_of(rows)
    cycle = Cycle(store_of(nodes, owners))
    scheduler, others = KubeScheduler(cycle, nodes), 0
    for _ in range(40):
        cycle.now += 0.5
        event = data.draw(st.sampled_from(EVENTS))
        if event == "create" and to_come:
            cycle.store.apply(Upsert(to_come.pop(0)))
        elif event == "time out":
            scheduler.time_out()
        elif event == "another scheduler":
            others += place_other(cycle, scheduler, f"other-{others}")
        elif event == "queue":
            release(cycle, data)
        elif event == "look":
            cycle.look()
        elif pending := scheduler.pending():
            ask(cycle, scheduler, data.draw(st.sampled_from(pending)), data)
        cycle.store.check_invariants()


def release(cycle, data):
    """Let the queue release gangs: one pod of each that a burst is to bind, and all of others."""
    for gang in cycle.run_queue(bursts=data.draw(st.booleans())):
        for one in gang.pods[-1:] if gang.in_burst else gang.pods:
            pod = cycle.store.snapshot().pods[one.pod]
            notes = {} if gang.in_burst else annotations.release_annotations(one)
            written = {key: text for key, text in notes.items() if text is not None}
            shape = pod.shape if one.terms is None else replace(pod.shape, affinity=one.terms)
            shown = {"annotations": {**pod.annotations, **written}, "shape": shape, "gates": ()}
            cycle.store.apply(Upsert(replace(pod, **shown)))


def place_other(cycle, scheduler, name):
    """Let another scheduler bind a pod on the first node with room; return how many it bound."""
    pod = make_pod(name, scheduler_name="other", namespace="other")
    for node in scheduler.offered(pod)[:1]:
        cycle.store.apply(Upsert(replace(pod, node_name=node, phase="Running")))
    return 1


def ask(cycle, scheduler, pod, data):
    """Let one pod have its cycle, with a burst in the middle of it."""
    refused = data.draw(st.sampled_from([None, None, *(n.name for n in scheduler.nodes)]))
    names = [name for name in scheduler.offered(pod) if name != refused]  # by another plugin
    if not names:
        return
    verdict = cycle.ask(pod, names)
    if not verdict.passed:
        return
    node = data.draw(st.sampled_from(list(verdict.passed)))
    used = scheduler.used()
    used[node] += dict(pod.shape.requests)["cpu"]
    in_cycle = set(scheduler.assumed)

    def post(wanted):
        snapshot = cycle.store.snapshot()
        assert wanted.uid not in in_cycle
        assert wanted.uid not in snapshot.bound
        if wanted.annotations:
            job = job_views.view(snapshot, registry.job_key(snapshot.pods[wanted.pod]))
            due = [m for m in job.members if m.pod.uid in snapshot.reservations]
            assert job.placed + len(due) >= (job.min_available or 1), "a gang is not whole"
        return data.draw(st.sampled_from([True, True, True, True, False]))

    bound = cycle.burst(pod, names, verdict, post)
    check_burst(cycle, pod, names, before=used, bound=bound, nodes=scheduler.nodes)
    scheduler.bind(pod, node)
