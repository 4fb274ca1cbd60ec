"""The fewest-nodes rule: node by node, the one that holds most first (docs/policies/gang.md)."""

from collections.abc import Sequence

import numpy as np

from extender.policy.members import Group
from extender.policy.one_node import best_whole
from extender.policy.preference import Preference
from extender.policy.pricing import FloatVector
from extender.policy.room import BoolVector, IntMatrix, IntVector
from extender.policy.seating import Seating


def fewest_nodes(
    seating: Seating,
    groups: Sequence[Group],
    preference: Preference,
    *,
    within: BoolVector | None = None,
) -> list[Group]:
    """Seat pods on as few further nodes as a greedy choice finds, as many pods as fit.

    1. If a node holds all pods that are left, the one-node rule says which.
    2. Otherwise the node with most members of the job; then the one that holds most of the pods
       that are left; then the highest weighted sum; then the first name. It takes what it holds,
       the first group first. Then again from 1.

    For pods that are alike as many get a seat as any placement could give, and a job that has no
    members yet gets the fewest nodes possible.

    Args:
        seating: What is free; changed.
        groups: The pods, in the order in which they take a node's room.
        preference: Which of equal nodes.
        within: Nodes that may be used; all if None.

    Returns:
        The groups that got no seat.

    Source:
        DRS, algorithm 2, in the corrected form.
    """
    left = list(groups)
    total = preference.total(groups)
    while left:
        taken = seating.fill(left)
        if within is not None:
            taken[:, ~within] = 0
        whole = best_whole(seating, left, taken, total)
        if whole is not None:
            return seating.seat_on(left, taken, np.array([whole]))
        run = _run(seating, left, taken, total)
        if not run.size:
            break
        left = seating.seat_on(left, taken, run)
    return left


def _run(
    seating: Seating, groups: Sequence[Group], taken: IntMatrix, total: FloatVector
) -> IntVector:
    """Return the nodes that rule 2 takes one after the other before anything else can change.

    After a node is full the next takes what ``taken`` says as long as that many pods are left and
    no node could hold all of them.
    """
    holds = taken.sum(axis=0)
    used = np.flatnonzero(holds)
    order = used[np.lexsort((-total[used], -holds[used], -seating.members[used]))]
    sizes = np.array([len(group) for group in groups])
    seated = taken[:, order].cumsum(axis=1)
    most = sum(np.minimum(seating.slots(g.need)[order], len(g)) for g in groups)
    most_from_here = np.maximum.accumulate(np.asarray(most)[::-1])[::-1]
    left_before = sizes.sum() - seated.sum(axis=0) + holds[order]
    goes_on = (seated <= sizes[:, None]).all(axis=0) & (left_before > most_from_here)
    goes_on[:1] = True
    stop = int(goes_on.argmin()) if not goes_on.all() else len(order)
    return order[:stop]
