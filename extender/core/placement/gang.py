"""Placement of a whole gang, all pods or none (docs/policies/gang.md)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final

from extender.core.cluster.reasons import Reason
from extender.core.cluster.relations import Relations
from extender.core.nodes.node_table import BoolVector, IntVector, NodeTable
from extender.core.parameters.placement import (
    GangParameters,
    NodePriceParameters,
    ScoringWeights,
    TopologyParameters,
)
from extender.core.placement.allocation import (
    GangAllocation,
    GangPod,
    Group,
    Need,
    Placed,
    Preference,
    groups,
    in_order,
    members_on_node,
    needs,
)
from extender.core.placement.areas import EVERYWHERE, Area, Search
from extender.core.placement.bucket_placement import BucketPlacement, buckets_of
from extender.core.placement.buckets import Bucket
from extender.core.placement.domains import Domain, Domains, Places, places
from extender.core.placement.equal_parts import EqualParts
from extender.core.placement.placement import (
    Placement,
    Unschedulable,
    fragmented,
    gang_does_not_fit,
    no_such_node,
    placement_of,
)
from extender.core.placement.rules import (
    fewest_domains,
    fewest_nodes,
    largest_first,
    most_constrained_first,
    one_node,
)
from extender.core.placement.slice_parts import slices_of
from extender.core.placement.slices import SlicePlacement
from extender.core.placement.tiers import Tier, tiers
from extender.core.placement.topology import Wanted
from extender.core.placement.wishes import Accelerators
from shared.model import PodShape, Uid

WORKER: Final = "worker"
"""The role that ``spread_workers`` is about."""


BUCKETS: Final = "buckets"


ONE_NODE: Final = "one-node"


EQUAL_DOMAINS: Final = "equal-domains"


FEWEST_DOMAINS: Final = "fewest-domains"


EQUAL_SLICES: Final = "equal-slices"


SLICES: Final = "slices"


FEWEST_NODES: Final = "fewest-nodes"


BEST_FIT: Final = "best-fit"


_Try = Callable[[GangAllocation, Sequence[Group], Preference], list[Group]]


_Rule = Callable[[GangAllocation], list[Group]]


_Failures = dict[str, tuple[Sequence[Group], GangAllocation]]
"""What a rule, by its name, left without a node."""


_Rules = Callable[[], Iterable[tuple[str, _Rule]]]


_EVERY_NODE: Final[Tier] = {}


def place(
    pods: Sequence[GangPod],
    placed: Sequence[Placed],
    table: NodeTable,
    *,
    relations: Relations | None,
    topology_key: str,
    topology: Wanted | None = None,
    levels: TopologyParameters | None = None,
    params: GangParameters,
    weights: ScoringWeights,
    pricing: NodePriceParameters,
    accelerators: Accelerators = (),
    one_node: bool = False,
) -> Placement | Unschedulable:
    """Place all pods of a gang on a node table, or none, by the first rule that places them all.

    1. *buckets*, if a pod's role has declared relations: each bucket to its best place.
    2. *one-node*, if a node holds all: most members of the job there, then least free after.
    3. *fewest-nodes*: node by node, the job's own first, then the one that holds most.
    4. *best-fit*, for several shapes: largest pods, then pods with the fewest nodes, first.

    The highest weighted sum, then the name decides between equals, never the order of the input.
    With a ``topology`` the rules are tried in one part of the nodes after the other (``Search``),
    and all of it in each of the ``tiers``.

    Args:
        pods: Members without a node.
        placed: Members of the job that have one; ``table`` already counts them.
        table: What is free.
        relations: What the job declares; None for nothing.
        topology_key: Node label whose values are the buckets' places; empty for the nodes.
        topology: The level of which one domain should hold all pods; None: no matter.
        levels: What that level is; the defaults if None.
        params: See ``GangParameters``.
        weights: Of the terms.
        pricing: Of the term ``price``.
        accelerators: GPU models in the order of preference.
        one_node: Only a node that holds all pods will do.

    Returns:
        A placement, or why there is none. Exact for pods of one shape.

    Source:
        DRS, algorithm 2, corrected (one node, else spread); Du et al. 2023, Sect. 3.3 (buckets).
    """
    prefer = partial(Preference, weights=weights, pricing=pricing, accelerators=accelerators)
    job = replace(_job(pods, placed, table, topology_key, prefer), only_one_node=one_node)
    if refusal := job.unsatisfiable():
        return refusal
    buckets: Sequence[Bucket] = ()
    rules: _Rules = job.plain_rules
    if relations is not None and not one_node:
        relations = relations.spreading(WORKER) if params.spread_workers else relations
        buckets = buckets_of(job.pods, placed, relations, table, topology_key)
        rules = partial(job.bucket_rules, relations, buckets)
    search = None if topology is None else job.search(topology, levels, buckets, placed)
    failures: _Failures = {}
    for tier in (*tiers(job.groups, table, job.members, weights, accelerators), _EVERY_NODE):
        result = replace(job, tier=tier).place(search, rules, buckets, params.spares)
        if isinstance(result, Placement):
            return result
        failures = result
    return job.refusal(failures, search)


@dataclass(frozen=True, eq=False)
class _Job:
    """What every rule needs to know; a rule gets a fresh ``GangAllocation`` to try itself on."""

    pods: tuple[GangPod, ...]
    by_shape: Mapping[PodShape, Need]
    groups: Sequence[Group]
    members: IntVector
    node_table: NodeTable
    places: Places
    preference: Preference
    tier: Tier = field(default_factory=dict)
    only_one_node: bool = False

    def unsatisfiable(self) -> Unschedulable | None:
        """Return why no rule can succeed, where that is easily seen."""
        if all(_alone_enough(need, self.groups) for need in self.by_shape.values()):
            return None
        return no_such_node(self.groups, self.node_table) or gang_does_not_fit(
            self.groups, self.node_table
        )

    def search(
        self,
        wanted: Wanted,
        levels: TopologyParameters | None,
        buckets: Sequence[Bucket],
        placed: Sequence[Placed],
    ) -> Search | None:
        """Return the areas in which to try the pods; None if there are no pods."""
        if not self.pods:
            return None
        params = levels or TopologyParameters()
        if self.only_one_node:  # one node is in one domain of each level
            wanted = _of_one_node(wanted)
        own = [one for one in placed if wanted.has(one.role)]
        search = Search(
            wanted=wanted,
            params=params,
            groups=self.groups,
            allocation=self.allocation,
            preference=self.preference,
            in_buckets=any(bucket.tasks for bucket in buckets) and wanted.slices is None,
            home_nodes=members_on_node(own, self.node_table),
        )
        if wanted.slices is None:
            return search
        found = slices_of(self.pods, own, wanted.slices, search.layers, self.node_table)
        return replace(search, slices=found)

    def allocation(self, within: BoolVector | None = None) -> GangAllocation:
        needs = self.by_shape.values()
        return GangAllocation(self.node_table, needs, self.members, within, self.tier)

    def place(
        self, search: Search | None, rules: _Rules, buckets: Sequence[Bucket], spare_count: int
    ) -> Placement | _Failures:
        """Place the gang in the tier; without a search anywhere in it."""
        if search is None:
            return self._place_in(EVERYWHERE, rules(), buckets, spare_count)
        search, failures = replace(search, allocation=self.allocation), _Failures()
        for area in search.areas():
            tries: Iterable[tuple[str, _Rule]]
            if search.layers:
                tries = self._in_slices(search, area.over)
            elif area.over is None or self.only_one_node:
                tries = rules()
            elif search.wanted.equal:
                tries = self._over(search, area.over)[:1]
            else:
                tries = chain(self._over(search, area.over), rules())
            result = self._place_in(area, tries, buckets, spare_count, search)
            if isinstance(result, Placement):
                return result
            failures = result
        return failures

    def _place_in(
        self,
        area: Area,
        rules: Iterable[tuple[str, _Rule]],
        buckets: Sequence[Bucket],
        spare_count: int,
        search: Search | None = None,
    ) -> Placement | _Failures:
        failures: _Failures = {}
        near = area.near
        if search is not None and search.layers:
            near = search.layers[-1][1]
        for name, rule in rules:
            allocation = self.allocation(area.within)
            left = rule(allocation)
            if not left:
                if area.near is not None or self.tier:
                    allocation.widen(area.within if area.near is None else None)
                return placement_of(
                    name,
                    allocation,
                    self.groups,
                    buckets,
                    preference=self.preference,
                    places=self.places if near is None else near.places,
                    spare_count=spare_count,
                    domain=area.domain,
                    held_in=_held_in(search, area, allocation),
                    in_slices=name in {SLICES, EQUAL_SLICES},
                )
            failures.setdefault(name, (left, allocation))
        return failures

    def refusal(self, failures: _Failures, search: Search | None) -> Unschedulable:
        """Return why there is no placement, from what the rules left without a node anywhere."""
        short = gang_does_not_fit(self.groups, self.node_table)
        if short is None and search is not None and search.required:
            return search.refusal()
        if short is None and self.only_one_node:
            detail = "its pods share a ResourceClaim, so one node must hold them all, and none does"
            return Unschedulable(Reason.GANG_DOES_NOT_FIT, detail)
        return short or fragmented(*failures[FEWEST_NODES])

    def _over(self, search: Search, domains: Domains) -> list[tuple[str, _Rule]]:
        def fewest(allocation: GangAllocation) -> list[Group]:
            return fewest_domains(allocation, self.groups, self.preference, domains)

        equally = self._equal_parts(search, domains).of_pods
        return [(EQUAL_DOMAINS, equally), (FEWEST_DOMAINS, fewest)]

    def _in_slices(self, search: Search, over: Domains | None) -> list[tuple[str, _Rule]]:
        equal = self._equal_parts(search, search.part_domains)

        def equally(allocation: GangAllocation) -> list[Group]:
            return equal.of_slices(allocation, search.slices, search.layers)

        def by_slices(allocation: GangAllocation) -> list[Group]:
            return SlicePlacement(
                allocation,
                self.groups,
                self.preference,
                slices=search.slices,
                layers=search.layers,
                over=over,
            ).place()

        if search.wanted.equal:
            return [(EQUAL_SLICES, equally)]
        return [(EQUAL_SLICES, equally), (SLICES, by_slices)]

    def _equal_parts(self, search: Search, domains: Domains) -> EqualParts:
        return EqualParts(
            groups=self.groups,
            preference=self.preference,
            domains=domains,
            exact=search.wanted.equal,
            held=search.home_nodes,
        )

    def plain_rules(self) -> Iterator[tuple[str, _Rule]]:
        tries: list[tuple[str, _Try]] = [(ONE_NODE, one_node), (FEWEST_NODES, fewest_nodes)]
        if self.only_one_node:
            del tries[1:]
        elif len(self.by_shape) > 1:  # for one shape the rule before is exact
            tries += [(BEST_FIT, largest_first), (BEST_FIT, most_constrained_first)]
        for name, rule in tries:
            yield name, self._plain(rule)

    def _plain(self, rule: _Try) -> _Rule:
        return lambda allocation: rule(allocation, self.groups, self.preference)

    def bucket_rules(
        self, relations: Relations, buckets: Sequence[Bucket]
    ) -> Iterator[tuple[str, _Rule]]:
        def by_buckets(allocation: GangAllocation) -> list[Group]:
            rule = BucketPlacement(allocation, relations, buckets, self.places, self.preference)
            return rule.place(self.pods, self.by_shape)

        if any(bucket.tasks for bucket in buckets):
            yield BUCKETS, by_buckets
        yield from self.plain_rules()


def _job(
    pods: Sequence[GangPod],
    placed: Sequence[Placed],
    table: NodeTable,
    topology_key: str,
    prefer: Callable[..., Preference],
) -> _Job:
    by_shape, ordered, members = needs(pods, table), in_order(pods), members_on_node(placed, table)
    domains = table.domains(topology_key) if topology_key else None
    return _Job(
        pods=ordered,
        by_shape=by_shape,
        groups=groups(ordered, by_shape),
        members=members,
        node_table=table,
        places=places(table, topology_key),
        preference=prefer(table, members, domains=domains),
    )


def _of_one_node(wanted: Wanted) -> Wanted:
    """Return what is left of a request if one node holds all pods: the finest level it requires."""
    if wanted.slices is None:
        return replace(wanted, equal=False)
    level = wanted.slices.layers[-1].level
    return replace(wanted, level=level, required=True, inside=None, slices=None, equal=False)


def _held_in(search: Search | None, area: Area, allocation: GangAllocation) -> dict[Uid, Domain]:
    """Return the domain that must hold each pod with others of its gang."""
    if search is None:
        return {}
    if search.layers:
        of_slices = search.layers[-1][1]
        nodes = allocation.nodes.items()
        return {uid: of_slices.all[of_slices.of_node[node]] for uid, node in nodes}
    if not search.wanted.required or area.domain is None:
        return {}
    return dict.fromkeys(allocation.nodes, area.domain)


def _alone_enough(need: Need, groups: Iterable[Group]) -> bool:
    """Return True if the pods of one need would all fit if the others were not there."""
    return bool(need.slots.sum() >= sum(len(group) for group in groups if group.need is need))
