"""A store with the decisions of one kube-scheduler's cycle on it: filter, bursts, Bindings."""

from collections.abc import Callable, Iterable, Sequence

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
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
from shared.model import JobKey, NodeName, Pod, Uid

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
        for given in grant.given:
            promise = Assumption.promised(
                given.uid, given.node, kept=kept, decision=given.decision, at=self.now
            )
            self.store.assume(promise)
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
        session = Session(self.store.snapshot(), Reading(self.now, self.now), self.params)
        outcome = BURST.decide(session, self.state, trigger)
        again = BURST.decide(session, self.state, trigger)
        assert again == outcome
        self.state = outcome.state
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
            if not post(binding):
                self.returned = tuple(unposted.uid for unposted in wanted[i + 1 :])
                return False
            self.store.assume(Assumption.bound(binding.uid, binding.node, at=self.now))
            bound.append(binding)
        return len(bound) > before
