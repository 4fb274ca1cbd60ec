"""The one-node rule: if a node holds all pods, they go there (docs/policies/gang.md)."""

from collections.abc import Sequence

import numpy as np

from extender.policy.members import Group
from extender.policy.preference import Preference
from extender.policy.pricing import FloatVector
from extender.policy.room import IntMatrix
from extender.policy.seating import Seating


def one_node(seating: Seating, groups: Sequence[Group], preference: Preference) -> list[Group]:
    """Seat all pods on the best node that holds them all; seat none if there is no such node.

    Best: most members of the job already there; then the least share free after (best fit); then
    the highest weighted sum; then the first name.

    Returns:
        The groups without a seat: none or all.

    Source:
        DRS, algorithm 2, in the corrected form.
    """
    taken = seating.fill(groups)
    node = best_whole(seating, groups, taken, preference.total(groups))
    if node is None:
        return list(groups)
    return seating.seat_on(groups, taken, np.array([node]))


def best_whole(
    seating: Seating, groups: Sequence[Group], taken: IntMatrix, preference: FloatVector
) -> int | None:
    """Return the best node among those that would take every pod of the groups."""
    wanted = sum(len(group) for group in groups)
    whole = np.flatnonzero(taken.sum(axis=0) == wanted)
    if not whole.size:
        return None
    free_after = seating.left_over(groups, taken)[whole]
    keys = (whole, -preference[whole], free_after, -seating.members[whole])
    return int(whole[np.lexsort(keys)[0]])
