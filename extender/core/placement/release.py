"""The release of a planned gang: which pods, pinned to which nodes, under which plan.

The pin is required node affinity that leaves kube-scheduler only the planned node and the spares.

Source:
    Kubernetes KEP-3838: while a pod is gated, required node affinity may be set if there is none;
    otherwise only requirements may be added to its existing terms.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from extender.core.cluster import pod_shape
from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.jobs import PLANNED_STATES, Job, Member, State
from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import Level
from extender.core.placement.domains import Domain
from extender.core.placement.placement import Placement
from shared import labels
from shared.model import (
    ALL_NAMESPACES,
    Node,
    NodeName,
    NodeSelectorTerm,
    Pod,
    PodShape,
    Requirement,
    Uid,
)

Terms = tuple[NodeSelectorTerm, ...]


def release_gang(
    job: Job,
    placement: Placement,
    members: list[Member],
    *,
    table: NodeTable,
    plan_of: tuple[str, int],
    value: float,
) -> ReleaseGang:
    """Return the command that releases the placed members in their bind order.

    Args:
        job: The job.
        placement: Where they go.
        members: The members that are placed.
        table: The nodes.
        plan_of: Name of the plan, and how many pods it binds.
        value: The job's V.
    """
    by_uid = {m.pod.uid: m for m in members}
    texts, pins = DecisionTexts(placement, value), _Pins(table)
    pods = tuple(
        _release_pod(by_uid[uid], placement, pins=pins, texts=texts, plan_of=plan_of)
        for uid in placement.order
    )
    return ReleaseGang(job.key, pods, first=sum(m.role == "ps" for m in members))


def for_burst(job: Job, release: ReleaseGang, snapshot: Snapshot) -> ReleaseGang | None:
    """Return the release of a gang whose members are bound in a burst; None if they cannot be.

    Every member that is to be placed must be gated, so that one release decides for all, and must
    be of the kind that a burst binds (docs/adr/0017-burst-binding.md).
    """
    if not snapshot.repelled.isdisjoint({job.namespace, ALL_NAMESPACES}):
        return None
    members = {m.pod.uid: m for m in job.having(State.GATED)}
    if len(members) < len(release.pods) or job.having(*PLANNED_STATES, State.DIRECT, State.HELD):
        return None
    released = [members[one.uid] for one in release.pods if one.uid in members]
    alike = {m.pod.claims for m in released}
    if (
        len(released) < len(release.pods)
        or len(alike) > 1
        or not all(_may_burst(snapshot, m) for m in released)
    ):
        return None
    bare = (replace(one, resource_version="", terms=None) for one in release.pods)
    return replace(release, pods=tuple(bare), in_burst=True)


def _may_burst(snapshot: Snapshot, member: Member) -> bool:
    pod = member.pod
    if pod.reservation_refused or not labels.RESERVATION.isdisjoint(pod.annotations):
        return False  # a record that is not of this release
    plain = pod_shape.has_plain_cycle(snapshot, pod, member.shape)
    return plain and not pod_shape.has_pin(pod.shape)  # else its own terms look like our pin


def continued(job: Job, placement: Placement, count: int) -> tuple[str, int]:
    """Return the name of the plan that ``count`` more members join, and how many it then binds.

    Gated members join the promised plan of those that a burst has released already.
    """
    unbound = job.having(*PLANNED_STATES)
    released = (*unbound, *job.having(State.BOUND))
    promised = {m.promised for m in unbound} if job.having(State.GATED) else set[str]()
    names = sorted(({m.plan for m in released} | promised) - {""})
    return (names[0] if names else plan_id(placement.order)), len(unbound) + count


def plan_id(uids: tuple[Uid, ...]) -> str:
    """Return a name for the plan that releases these pods; the same pods give the same name."""
    return hashlib.sha256("\n".join(sorted(uids)).encode()).hexdigest()[:12]


class DecisionTexts:
    """The decisions of a placement's pods as one line of JSON: rule, V, bucket and terms.

    Pods of one shape on one node mostly have the same terms, and then the same text.

    Args:
        placement: Where the pods go.
        value: V; None for pods that were in no queue.
    """

    def __init__(self, placement: Placement, value: float | None) -> None:
        self._placement = placement
        self._value = None if value is None else round(value, 4)
        self._texts: dict[tuple[int, int | None, Sequence[str], int], str] = {}

    def of(self, pod: Pod, unmodelled: tuple[str, ...] = ()) -> str:
        """Return the text of a pod.

        Of a pod that is released without a pin it also names what is not modelled.
        """
        terms = self._placement.terms.get(pod.uid, _NO_TERMS)
        bucket = self._placement.bucket_of.get(pod.uid)
        domain = self._placement.held_in.get(pod.uid, self._placement.domain)
        # the placement holds the terms and the domain: an id is not reused
        key = (id(terms), bucket, unmodelled, id(domain))
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._text(terms, bucket, unmodelled, domain)
        return text

    def _text(
        self,
        terms: Mapping[str, float],
        bucket: int | None,
        unmodelled: tuple[str, ...],
        domain: Domain | None,
    ) -> str:
        rounded = {name: round(t, 4) for name, t in terms.items()}
        rule = self._placement.rule
        text: dict[str, object] = {"rule": rule, "v": self._value, "bucket": bucket}
        text["terms"] = rounded
        if domain is not None:
            text["domain"] = domain.name
        if unmodelled:
            text["unmodelled"] = list(unmodelled)
        return msgspec.json.encode(text).decode()


_NO_TERMS: Final[Mapping[str, float]] = {}


def pinned_terms(shape: PodShape, nodes: Sequence[Node]) -> tuple[NodeSelectorTerm, ...]:
    """Return the pod's required node affinity terms narrowed to ``nodes``, the planned one first.

    Without terms of its own the pod gets one ``matchFields`` term a node: kube-scheduler then
    evaluates just those names. A pod with terms gets one requirement more in each of them.
    """
    if shape.affinity is None:
        return tuple(
            NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node.name,)),))
            for node in nodes
        )
    return tuple(_narrowed(term, nodes) for term in shape.affinity)


def domain_terms(shape: PodShape, domain: Domain) -> tuple[NodeSelectorTerm, ...]:
    """Return the pod's required node affinity terms narrowed to a domain of the topology.

    For pods that the planner does not model: kube-scheduler chooses the node, inside the domain.
    """
    lines = tuple(
        line
        for level, place in zip(domain.levels, domain.places, strict=True)
        for line in _of_level(level, place)
    )
    if shape.affinity is None:
        return (NodeSelectorTerm(lines),)
    return tuple(
        # the API server rejects additions to a term that matches nothing
        NodeSelectorTerm((*term.expressions, *lines), term.fields)
        if term.expressions or term.fields
        else term
        for term in shape.affinity
    )


def _of_level(level: Level, place: tuple[str, str] | None) -> Iterator[Requirement]:
    """Yield what puts a node at this place of a level: its label, and none that would count more.

    None: the node has no label of the level.
    """
    for label in level.labels:
        if place is not None and label == place[0]:
            yield Requirement(label, "In", (place[1],))
            return
        yield Requirement(label, "DoesNotExist")


def _narrowed(term: NodeSelectorTerm, nodes: Sequence[Node]) -> NodeSelectorTerm:
    if not term.expressions and not term.fields:
        return term  # it matches nothing, and the API server rejects additions to it
    hostnames = tuple(
        n.labels[labels.HOSTNAME_LABEL] for n in nodes if labels.HOSTNAME_LABEL in n.labels
    )
    if labels.HOSTNAME_LABEL in nodes[0].labels:
        added = Requirement(labels.HOSTNAME_LABEL, "In", hostnames)
        return NodeSelectorTerm((*term.expressions, added), term.fields)
    added = Requirement("metadata.name", "In", (nodes[0].name,))
    return NodeSelectorTerm(term.expressions, (*term.fields, added))


class _Pins:
    """The terms that pin pods to nodes; pods of one shape on the same nodes share them.

    Args:
        table: The nodes.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._made: dict[tuple[PodShape, tuple[NodeName, ...], Domain | None], Terms] = {}

    def of(self, shape: PodShape, names: tuple[NodeName, ...], domain: Domain | None) -> Terms:
        """Return the pin to the nodes; without nodes to the domain."""
        key = (shape, names, None if names else domain)
        terms = self._made.get(key)
        if terms is None:
            terms = self._made[key] = self._terms(*key)
        return terms

    def _terms(self, shape: PodShape, names: tuple[NodeName, ...], domain: Domain | None) -> Terms:
        if domain is not None:
            return domain_terms(shape, domain)
        return pinned_terms(shape, [self._table.nodes[self._table.index[name]] for name in names])


def _release_pod(
    member: Member,
    placement: Placement,
    *,
    pins: _Pins,
    texts: DecisionTexts,
    plan_of: tuple[str, int],
) -> ReleasePod:
    pod, modelled = member.pod, not member.shape.unmodelled
    gated = member.state is not State.DIRECT
    domain = placement.held_in.get(pod.uid)
    pinned = gated and (modelled or domain is not None)
    node = placement.nodes[pod.uid]
    names = (node, *placement.spares.get(pod.uid, ())) if modelled else ()
    return ReleasePod(
        pod=pod.key,
        uid=pod.uid,
        # a list of terms is rewritten as a whole: it must be as we read it
        resource_version=pod.resource_version if pinned and pod.shape.affinity is not None else "",
        node=node if modelled else None,
        plan=plan_of[0],
        plan_size=plan_of[1],
        gates=(),
        terms=pins.of(pod.shape, names, domain) if pinned else None,
        decision=texts.of(pod, member.shape.unmodelled),
        direct=member.direct,
    )
