"""The claims for devices: which devices they hold, and for which pods."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Final

from extender.core.expressions.errors import EvaluationError
from extender.core.nodes.capacity_policy import numbers
from extender.core.nodes.device_columns import NamedClaim
from shared.model import JobKey, NodeName, ResourceClaim, Uid
from shared.objects.devices import Amounts, DeviceId

MOST_USERS: Final = 256
"""Pods that a claim can be reserved for: the API server allows no more."""


class ClaimedDevices:
    """What allocated claims hold."""

    def __init__(self) -> None:
        self._holders: Counter[DeviceId] = Counter()
        self._parts: dict[DeviceId, dict[str, Amounts]] = {}
        self._of_pods: dict[Uid, Counter[str]] = {}

    @property
    def alone(self) -> AbstractSet[DeviceId]:
        """The devices that a claim has alone."""
        return self._holders.keys()

    @property
    def divided(self) -> bool:
        """Some claims have parts of devices."""
        return bool(self._parts)

    def change(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Take over a change of one claim."""
        if old is not None and old.allocated:
            self._count(old, -1)
        if new is not None and new.allocated:
            self._count(new, 1)

    def has(self, pod: Uid, claim: str) -> bool:
        """Return True if a pod's claim of that name has an allocation."""
        return claim in self._of_pods.get(pod, ())

    def parts(self, device: DeviceId) -> Mapping[str, Fraction] | None:
        """Return what claims have of a shared device's capacities; None if no claim has any."""
        if device not in self._parts:
            return None
        taken: defaultdict[str, Fraction] = defaultdict(Fraction)
        for amounts in self._parts[device].values():
            for name, amount in _readable(amounts):
                taken[name] += amount
        return taken

    def _count(self, claim: ResourceClaim, sign: int) -> None:
        for device in claim.devices:
            self._holders[device] += sign
            if not self._holders[device]:
                del self._holders[device]
        for number, (device, amounts) in enumerate(claim.parts):
            self._share(device, f"{claim.key}#{number}", amounts if sign > 0 else None)
        if not claim.pod:
            return
        of_pod = self._of_pods.setdefault(claim.pod, Counter())
        of_pod[claim.pod_claim] += sign
        if not of_pod[claim.pod_claim]:
            del of_pod[claim.pod_claim]
        if not of_pod:
            del self._of_pods[claim.pod]

    def _share(self, device: DeviceId, part: str, amounts: Amounts | None) -> None:
        of_device = self._parts.setdefault(device, {})
        if amounts is None:
            del of_device[part]
        else:
            of_device[part] = amounts
        if not of_device:
            del self._parts[device]


def _readable(amounts: Amounts) -> tuple[tuple[str, Fraction], ...]:
    """Return amounts that kube-scheduler has written; nothing if they cannot be read."""
    try:
        return numbers(amounts)
    except EvaluationError:
        return ()


def named(
    claim: ResourceClaim | None,
    users: Iterable[tuple[str, Uid, JobKey | None]],
    holders: tuple[tuple[Uid, NodeName], ...],
) -> NamedClaim:
    """Return what pods that name a claim have to know of it.

    Args:
        claim: The claim; None if there is none of that name.
        users: Those pods in order of name: name, uid, job.
        holders: Those of them that take room on a node.
    """
    of_users = tuple((uid, job) for _, uid, job in users)
    if claim is None:
        return NamedClaim(of_users, holders)  # the demand says that it does not exist
    more = {uid for uid, _ in of_users}.difference(claim.users)
    problem = ""
    if claim.deleting:
        problem = "it is being deleted"
    elif claim.pod:
        problem = "it belongs to another pod"
    elif len(claim.users) + len(more) > MOST_USERS:
        problem = f"more than {MOST_USERS} pods name it"
    return NamedClaim(of_users, holders, claim.allocated, claim.nodes, problem)
