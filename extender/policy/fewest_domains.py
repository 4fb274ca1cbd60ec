"""The fewest-domains rule: domain by domain, the fullest first (docs/policies/topology.md)."""

from collections.abc import Sequence

from extender.policy.domain_fit import domain_fit
from extender.policy.domains import Domains
from extender.policy.fewest_nodes import fewest_nodes
from extender.policy.members import Group
from extender.policy.preference import Preference
from extender.policy.seating import Seating


def fewest_domains(
    seating: Seating, groups: Sequence[Group], preference: Preference, found: Domains
) -> list[Group]:
    """Seat pods in as few domains as a greedy choice finds, as many pods as fit.

    1. If a domain holds all pods that are left: the one with most members of the job, then the one
       with least left over.
    2. Otherwise the domain with most members of the job, then the one that holds most.
    3. It takes what it holds by the fewest-nodes rule. Then again from 1; nodes without a domain
       come last.

    For pods that are alike, in a job without members, no choice has fewer domains.

    Returns:
        The groups that got no seat.
    """
    left, full = list(groups), set[int]()
    alike = len({group.need for group in groups}) == 1
    while left:
        fit = domain_fit(found, left, seating, preference)
        for index in (*fit.best_fits(), *fit.fullest_first()):
            if index not in full:
                left = fewest_nodes(seating, left, preference, within=found.within(index))
                full.add(index)
                if not alike or sum(map(len, left)) <= fit.holds.max():
                    break  # for pods that are alike the comparison holds until few are left
        else:
            break
    return fewest_nodes(seating, left, preference)
