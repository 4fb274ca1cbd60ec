"""Requests of kube-scheduler as decisions: filter and prioritize. They have no state.

The log keeps the offered nodes in few names (``abridged``), and of a plan a digest: its
reservations follow it in the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import decision as protocol
from extender.core.cluster.decision import Decision, Outcome
from extender.core.cluster.session import Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.scheduler import abridged, direct_gangs, filtering, prioritizing
from extender.core.scheduler.direct_gangs import QueueView
from extender.core.scheduler.filtering import FilterVerdict
from shared.model import Pod


class NoState(Struct, frozen=True):
    """A request depends on no earlier one."""


class RequestTrigger(Struct, frozen=True, omit_defaults=True):
    """What kube-scheduler asks.

    Attributes:
        pod: As kube-scheduler sees it.
        nodes: Offered nodes by name; ``abridged`` in the log.
        queue: What filter needs of the queue.
        count: How many nodes ``nodes`` stands for, where it is abridged.
    """

    pod: Pod
    nodes: Sequence[str]
    queue: QueueView = direct_gangs.NEVER
    count: int = 0


@dataclass(frozen=True, kw_only=True)
class FilterOutcome(Outcome[NoState, object]):
    """The answer to filter."""

    answer: FilterVerdict


@dataclass(frozen=True, kw_only=True)
class PrioritizeOutcome(Outcome[NoState, object]):
    """The answer to prioritize: a score of 0 to 10 for each offered node, in their order."""

    answer: Sequence[tuple[str, int]]


class FilterDecision(Decision[NoState, RequestTrigger, FilterOutcome]):
    """Which of the offered nodes may take the pod."""

    name = "filter"
    state_type = NoState
    trigger_type = RequestTrigger

    @override
    def decide(self, session: Session, state: NoState, trigger: RequestTrigger) -> FilterOutcome:
        verdict = filtering.filter_nodes(
            session.snapshot, trigger.pod, trigger.nodes, session.parameters, trigger.queue
        )
        return FilterOutcome(answer=verdict, state=state)

    @override
    def shortened(
        self, snapshot: Snapshot, trigger: RequestTrigger, outcome: FilterOutcome
    ) -> RequestTrigger:
        """Keep the nodes that the answer may depend on."""
        verdict = outcome.answer
        decisive = verdict.passed if verdict.settled else trigger.nodes
        nodes = abridged.abridged(decisive, snapshot.room.index)
        return replace(trigger, nodes=nodes, count=len(decisive))

    @override
    def expanded(self, snapshot: Snapshot, trigger: RequestTrigger) -> RequestTrigger:
        return replace(trigger, nodes=abridged.in_full(trigger.nodes, snapshot.room.index))

    @override
    def summary(
        self, snapshot: Snapshot, trigger: RequestTrigger, outcome: FilterOutcome
    ) -> dict[str, Any]:
        verdict, nodes = outcome.answer, tuple(trigger.nodes)
        kept: dict[str, Any] = {
            **abridged.verdict(verdict, snapshot.room.index, nodes, trigger.count),
            "nowhere": verdict.nowhere,
            "not_offered": verdict.not_offered,
        }
        if (grant := verdict.grant) is not None:
            kept["grant"] = {
                "job": grant.job,
                "node": grant.node,
                "taken": grant.taken,
                "plan": protocol.digest((grant.given, grant.placeholders)),
            }
        return kept


class PrioritizeDecision(Decision[NoState, RequestTrigger, PrioritizeOutcome]):
    """How good the remaining nodes are for the pod."""

    name = "prioritize"
    state_type = NoState
    trigger_type = RequestTrigger

    @override
    def decide(
        self, session: Session, state: NoState, trigger: RequestTrigger
    ) -> PrioritizeOutcome:
        scores = prioritizing.scores(
            session.snapshot, trigger.pod, trigger.nodes, session.parameters
        )
        return PrioritizeOutcome(answer=scores, state=state)

    @override
    def shortened(
        self, snapshot: Snapshot, trigger: RequestTrigger, outcome: PrioritizeOutcome
    ) -> RequestTrigger:
        return replace(trigger, nodes=abridged.abridged(trigger.nodes, snapshot.room.index))

    @override
    def expanded(self, snapshot: Snapshot, trigger: RequestTrigger) -> RequestTrigger:
        return replace(trigger, nodes=abridged.in_full(trigger.nodes, snapshot.room.index))

    @override
    def summary(
        self, snapshot: Snapshot, trigger: RequestTrigger, outcome: PrioritizeOutcome
    ) -> dict[str, object]:
        return abridged.scores(outcome.answer)


FILTER: Final = FilterDecision()
PRIORITIZE: Final = PrioritizeDecision()
