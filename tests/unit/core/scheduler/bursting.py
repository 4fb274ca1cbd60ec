"""A store with the decisions of one kube-scheduler's cycle on it: filter, bursts, Bindings."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from extender.core.scheduler import filtering
from extender.core.scheduler.burst import (
    BURST,
    BurstBinding,
    BurstOutcome,
    BurstState,
    BurstTrigger,
)
from extender.core.scheduler.direct_gangs import Grant, QueueView
from extender.core.scheduler.filtering import FilterVerdict
from extender.store.assumed import Assumption
from extender.store.store import ClusterStore
from shared import labels
from shared.model import JobKey, NodeName, Pod, PodKey, Uid, Upsert
from tests.fakes.builders import make_node
from tests.unit.core.clusters import store_of

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
NAMES = ("a", "b")
PARAMS = CoreParameters()
MOST_ROUNDS = 200


class Cycle:
    """Answers of the extender to one kube-scheduler; ``now`` is the monotonic clock."""

    def __init__(self, store: ClusterStore, params: CoreParameters = PARAMS) -> None:
        self.store = store
        self.params = params
        self.state = BurstState()
        self.now = 10.0
        self.may_plan = True
        self.queued: tuple[JobKey, ...] = ()
        self.returned: tuple[Uid, ...] = ()
        self.queue = QueueState()

    def run_queue(self, *, bursts: bool = True) -> list[ReleaseGang]:
        """Run a pass of the queue; return the releases, with their reservations made."""
        session = Session(self.store.snapshot(), Reading(self.now, self.now), self.params)
        outcome = QUEUE.decide(session, self.queue, QueueTrigger(bursts=bursts))
        self.queue = outcome.state
        releases = [one for one in outcome.commands if isinstance(one, ReleaseGang)]
        for gang in releases:
            for one in gang.pods:
                if gang.in_burst and one.node is not None:
                    self.promise(
                        one.uid, one.node, (one.plan, one.plan_size), one.decision, gated=True
                    )
        return releases

    def promise(
        self,
        uid: Uid,
        node: NodeName,
        plan_of: tuple[str, int],
        decision: str,
        *,
        gated: bool = False,
    ) -> None:
        """Make a reservation that the Binding writes."""
        self.store.assume(
            Assumption.promised(
                uid, node, plan_of=plan_of, decision=decision, at=self.now, gated=gated
            )
        )

    def remove_gate(self, key: PodKey) -> None:
        """Show that a pod has no gate any more."""
        pod = self.store.snapshot().pods[key]
        self.store.apply(Upsert(replace(pod, gates=())))

    def look(self) -> BurstOutcome:
        """Give back pods that have waited for a burst too long, as once a second."""
        return self._decided(BurstTrigger(PodKey(""), Uid("")))

    def ask(self, pod: Pod, names: Sequence[str]) -> FilterVerdict:
        """Filter, and keep the reservations of the answer."""
        view = QueueView(self.may_plan, self.now)
        verdict = filtering.filter_nodes(self.store.snapshot(), pod, names, self.params, view)
        if (grant := verdict.grant) is not None:
            if grant.taken:
                self.store.take_placeholder(grant.job, grant.taken, pod.uid, at=self.now)
            self.give(grant)
        return verdict

    def give(self, grant: Grant) -> None:
        """Keep the reservations of a grant."""
        if (kept := grant.placeholders) is None:
            return
        plan_of = (kept.plan, kept.plan_size)
        for given in grant.given:
            self.promise(given.uid, given.node, plan_of, given.decision)
        self.store.keep_placeholders(kept)

    def decide(
        self, pod: Pod, names: Sequence[str], verdict: FilterVerdict | None = None
    ) -> BurstOutcome:
        """Make one burst decision about an answer; by default one that names its node."""
        passed = names[:1] if verdict is None else verdict.passed
        trigger = BurstTrigger(
            pod=pod.key,
            uid=pod.uid,
            node=NodeName(passed[0]) if len(passed) == 1 else None,
            nodes=tuple(names),
            queue=QueueView(self.may_plan, self.now),
            queued=self.queued,
            returned=self.returned,
        )
        self.returned = ()
        return self._decided(trigger)

    def _decided(self, trigger: BurstTrigger) -> BurstOutcome:
        session = Session(self.store.snapshot(), Reading(self.now, self.now), self.params)
        outcome = BURST.decide(session, self.state, trigger)
        again = BURST.decide(session, self.state, trigger)
        assert again == outcome
        self.state = outcome.state
        for uid in outcome.given_up:
            self.store.unpromise(uid)
        return outcome

    def burst(
        self,
        pod: Pod,
        names: Sequence[str],
        verdict: FilterVerdict,
        post: Callable[[BurstBinding], bool] = lambda _: True,
    ) -> list[BurstBinding]:
        """Carry bursts out until there is none; return what was bound, in order.

        Args:
            pod: The pod that kube-scheduler asks about.
            names: The offered nodes.
            verdict: The answer.
            post: Returns False for a Binding that the API server refuses.
        """
        bound: list[BurstBinding] = []
        for _ in range(MOST_ROUNDS):
            outcome = self.decide(pod, names, verdict)
            if outcome.grant is not None:
                self.give(outcome.grant)
            elif outcome.taken and outcome.job is not None:
                for taken in outcome.taken:
                    self.store.take_placeholder(outcome.job, taken.number, taken.uid, at=self.now)
            elif outcome.after or not self._bind((*outcome.first, *outcome.rest), post, bound):
                return bound
        raise AssertionError("bursts do not end")

    def _bind(
        self,
        wanted: Iterable[BurstBinding],
        post: Callable[[BurstBinding], bool],
        bound: list[BurstBinding],
    ) -> bool:
        """Bind pods; False once one is refused, or if there is none."""
        before, wanted = len(bound), list(wanted)
        for i, binding in enumerate(wanted):
            if labels.GATE in self.store.snapshot().pods[binding.pod].gates:
                self.remove_gate(binding.pod)
            if not post(binding):
                self.returned = tuple(unposted.uid for unposted in wanted[i + 1 :])
                return False
            self.store.assume(Assumption.bound(binding.uid, binding.node, at=self.now))
            bound.append(binding)
        return len(bound) > before


def cycle_of(*entities: Any) -> Cycle:
    """Return a cycle on two nodes of four CPUs."""
    return Cycle(store_of(NODES, *entities))


def names_of(keys: Iterable[PodKey]) -> list[str]:
    """Return the names of pods, in order."""
    return sorted(key.partition("/")[2] for key in keys)
