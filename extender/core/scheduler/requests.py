"""Requests of kube-scheduler as decisions: filter and prioritize. They have no state.

The log keeps the offered nodes abridged, and of a plan a digest: its reservations follow it in the
log. kube-scheduler offers most pods nearly all nodes, in a random order that decides nothing. At
thousands of nodes the names were most of the log, and writing them most of an answer's cost.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import session as protocol
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.scheduler import direct_gangs, filtering, prioritizing
from extender.core.scheduler.direct_gangs import QueueView
from extender.core.scheduler.filtering import FilterVerdict
from shared.model import NodeName, Pod

MOST_NAMED: Final = 64
"""Of more nodes those that are lacking are named, where they are fewer."""

ALL: Final = "*"
"""Written before nodes that are *not* meant: all nodes but these."""


class NoState(Struct, frozen=True):
    """A request depends on no earlier one."""


class RequestTrigger(Struct, frozen=True, omit_defaults=True):
    """A request of kube-scheduler.

    Attributes:
        pod: As kube-scheduler sees it.
        nodes: Offered nodes by name; ``abridged`` in the log.
        queue: What filter needs of the queue.
        count: How many nodes ``nodes`` means, where it is abridged.
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
        nodes = abridged(decisive, snapshot.node_table.index)
        return replace(trigger, nodes=nodes, count=len(decisive))

    @override
    def expanded(self, snapshot: Snapshot, trigger: RequestTrigger) -> RequestTrigger:
        return replace(trigger, nodes=in_full(trigger.nodes, snapshot.node_table.index))

    @override
    def summary(
        self, snapshot: Snapshot, trigger: RequestTrigger, outcome: FilterOutcome
    ) -> dict[str, Any]:
        verdict, nodes = outcome.answer, tuple(trigger.nodes)
        kept: dict[str, Any] = {
            **abridged_verdict(verdict, snapshot.node_table.index, nodes, trigger.count),
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
        return replace(trigger, nodes=abridged(trigger.nodes, snapshot.node_table.index))

    @override
    def expanded(self, snapshot: Snapshot, trigger: RequestTrigger) -> RequestTrigger:
        return replace(trigger, nodes=in_full(trigger.nodes, snapshot.node_table.index))

    @override
    def summary(
        self, snapshot: Snapshot, trigger: RequestTrigger, outcome: PrioritizeOutcome
    ) -> dict[str, object]:
        return abridged_scores(outcome.answer)


FILTER: Final = FilterDecision()


PRIORITIZE: Final = PrioritizeDecision()


def abridged(names: Collection[str], every: Mapping[NodeName, int]) -> tuple[str, ...]:
    """Return names sorted, or ``*`` and what is lacking of ``every``, where that is shorter.

    Args:
        names: Of nodes; with one twice, or one that is not in ``every``, all are named.
        every: All nodes by name.
    """
    if len(names) > MOST_NAMED:
        lacking = set(every).difference(names)
        if len(lacking) + len(names) == len(every) and len(lacking) < len(names):
            return (ALL, *sorted(lacking))
    return tuple(sorted(names))


def in_full(names: Sequence[str], every: Iterable[str]) -> tuple[str, ...]:
    """Return the names that ``abridged`` was given, in some order."""
    if not names or names[0] != ALL:
        return tuple(names)
    lacking = frozenset(names)
    return tuple(name for name in every if name not in lacking)


def abridged_verdict(
    given: FilterVerdict, every: Mapping[NodeName, int], offered: tuple[str, ...], count: int
) -> dict[str, object]:
    """Return which nodes passed and which failed, by message.

    Args:
        given: The answer.
        every: All nodes by name.
        offered: The nodes that were offered, abridged.
        count: How many were.
    """
    failed: dict[str, list[str]] = {}
    for name, message in given.failed.items():
        failed.setdefault(message, []).append(name)
    return {
        "passed": offered if len(given.passed) == count else abridged(given.passed, every),
        "failed": {message: abridged(names, every) for message, names in failed.items()},
    }


def abridged_scores(given: Sequence[tuple[str, int]]) -> dict[str, object]:
    """Return the nodes by score; of very many, those of the commonest score are not named."""
    by_score: dict[int, list[str]] = {}
    for name, score in given:
        by_score.setdefault(score, []).append(name)
    kept: dict[str, object] = {}
    if len(given) > MOST_NAMED:
        commonest = max(by_score, key=lambda score: (len(by_score[score]), score))
        kept[ALL] = commonest
        del by_score[commonest]
    return kept | {str(score): sorted(names) for score, names in sorted(by_score.items())}
