"""The rules by which gangs are placed (docs/policies/gang.md, docs/policies/topology.md).

One node that holds all pods; else the fewest nodes, the one that holds most first; second tries for
gangs of several shapes, where one order can fail; and the fewest domains, the fullest first.
"""

from collections.abc import Sequence

import numpy as np

from extender.core.nodes.node_table import BoolVector, FloatVector, IntMatrix, IntVector
from extender.core.placement.allocation import GangAllocation, Group, Preference
from extender.core.placement.domains import Domains, domain_fit


def one_node(
    allocation: GangAllocation, groups: Sequence[Group], preference: Preference
) -> list[Group]:
    """Place all pods on the best node that holds them all; place none if there is no such node.

    Best: most members of the job already there; then the least share free after (best fit); then
    the highest weighted sum; then the first name.

    Returns:
        The groups without a node: none or all.

    Source:
        DRS, algorithm 2, in the corrected form.
    """
    taken = allocation.fill(groups)
    node = best_whole(allocation, groups, taken, preference.total(groups))
    if node is None:
        return list(groups)
    return allocation.place_on(groups, taken, np.array([node]))


def best_whole(
    allocation: GangAllocation, groups: Sequence[Group], taken: IntMatrix, preference: FloatVector
) -> int | None:
    """Return the best node among those that would take every pod of the groups."""
    pods = sum(len(group) for group in groups)
    whole = np.flatnonzero(taken.sum(axis=0) == pods)
    if not whole.size:
        return None
    free_after = allocation.left_over(groups, taken)[whole]
    keys = (whole, -preference[whole], free_after, -allocation.members[whole])
    return int(whole[np.lexsort(keys)[0]])


def fewest_nodes(
    allocation: GangAllocation,
    groups: Sequence[Group],
    preference: Preference,
    *,
    within: BoolVector | None = None,
) -> list[Group]:
    """Place pods on as few further nodes as a greedy choice finds, as many pods as fit.

    1. If a node holds all pods that are left, the one-node rule says which.
    2. Otherwise the node with most members of the job; then the one that holds most of the pods
       that are left; then the highest weighted sum; then the first name. It takes what it holds,
       the first group first. Then again from 1.

    For pods that are alike as many get a node as any placement could give, and a job that has no
    members yet gets the fewest nodes possible.

    Args:
        allocation: What is free; changed.
        groups: The pods, in the order in which they fill a node.
        preference: Which of equal nodes.
        within: Nodes that may be used; all if None.

    Returns:
        The groups that got no node.

    Source:
        DRS, algorithm 2, in the corrected form.
    """
    left = list(groups)
    total = preference.total(groups)
    while left:
        taken = allocation.fill(left)
        if within is not None:
            taken[:, ~within] = 0
        whole = best_whole(allocation, left, taken, total)
        if whole is not None:
            return allocation.place_on(left, taken, np.array([whole]))
        run = _run(allocation, left, taken, total)
        if not run.size:
            break
        left = allocation.place_on(left, taken, run)
    return left


def _run(
    allocation: GangAllocation, groups: Sequence[Group], taken: IntMatrix, total: FloatVector
) -> IntVector:
    """Return the nodes that rule 2 takes one after the other before anything else can change.

    After a node is full the next takes what ``taken`` says as long as that many pods are left and
    no node could hold all of them.
    """
    holds = taken.sum(axis=0)
    used = np.flatnonzero(holds)
    order = used[np.lexsort((-total[used], -holds[used], -allocation.members[used]))]
    sizes = np.array([len(group) for group in groups])
    placed = taken[:, order].cumsum(axis=1)
    most = sum(np.minimum(allocation.slots(g.need)[order], len(g)) for g in groups)
    most_from_here = np.maximum.accumulate(np.asarray(most)[::-1])[::-1]
    left_before = sizes.sum() - placed.sum(axis=0) + holds[order]
    goes_on = (placed <= sizes[:, None]).all(axis=0) & (left_before > most_from_here)
    goes_on[:1] = True
    stop = int(goes_on.argmin()) if not goes_on.all() else len(order)
    return order[:stop]


def largest_first(
    allocation: GangAllocation, groups: Sequence[Group], preference: Preference
) -> list[Group]:
    """Place the largest pods first, each on the node where least stays free (best fit decreasing).

    Returns:
        The groups that got no node.

    Source:
        Johnson et al., Worst-case performance bounds for simple one-dimensional packing
        algorithms, SIAM J. Comput. 1974: best fit decreasing.
    """
    return _best_fit(allocation, sorted(groups, key=lambda g: -_size(allocation, g)), preference)


def most_constrained_first(
    allocation: GangAllocation, groups: Sequence[Group], preference: Preference
) -> list[Group]:
    """Place the pods that can use the fewest nodes first, larger ones first, each by best fit.

    Returns:
        The groups that got no node.
    """

    def key(group: Group) -> tuple[int, float]:
        return int(np.count_nonzero(allocation.slots(group.need))), -_size(allocation, group)

    return _best_fit(allocation, sorted(groups, key=key), preference)


def _best_fit(
    allocation: GangAllocation, groups: Sequence[Group], preference: Preference
) -> list[Group]:
    left = []
    for group in groups:
        nodes = _by_fit(allocation, group, preference)
        slots = allocation.slots(group.need)[nodes]
        before = slots.cumsum() - slots
        rest = allocation.place(group, nodes, np.clip(len(group) - before, 0, slots))
        if rest.pods:
            left.append(rest)
    return left


def _by_fit(allocation: GangAllocation, group: Group, preference: Preference) -> IntVector:
    """Return the nodes that hold a pod of the group, least free after one pod first."""
    slots = allocation.slots(group.need)
    nodes = np.flatnonzero(slots)
    free_after = allocation.left_over([group], np.minimum(slots, 1)[None, :])[nodes]
    return nodes[np.lexsort((-preference.total([group])[nodes], free_after))]


def _size(allocation: GangAllocation, group: Group) -> float:
    """Return a pod's request as a share of the cluster, summed over resources."""
    capacity = np.maximum(allocation.node_table.allocatable.sum(axis=0), 1)
    return float((group.need.request / capacity).sum())


def fewest_domains(
    allocation: GangAllocation, groups: Sequence[Group], preference: Preference, domains: Domains
) -> list[Group]:
    """Place pods in as few domains as a greedy choice finds, as many pods as fit.

    1. If a domain holds all pods that are left: the one with most members of the job, then the one
       with least left over.
    2. Otherwise the domain with most members of the job, then the one that holds most.
    3. It takes what it holds by the fewest-nodes rule. Then again from 1; nodes without a domain
       come last.

    For pods that are alike, in a job without members, no choice has fewer domains.

    Returns:
        The groups that got no node.
    """
    left, full = list(groups), set[int]()
    alike = len({group.need for group in groups}) == 1
    while left:
        fit = domain_fit(domains, left, allocation, preference)
        for index in (*fit.best_fits(), *fit.fullest_first()):
            if index not in full:
                left = fewest_nodes(allocation, left, preference, within=domains.within(index))
                full.add(index)
                if not alike or sum(map(len, left)) <= fit.holds.max():
                    break  # for pods that are alike the comparison holds until few are left
        else:
            break
    return fewest_nodes(allocation, left, preference)
