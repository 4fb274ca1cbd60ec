"""The claims for devices: which devices they hold, and for which pods."""

from collections import Counter

from shared.devices import DeviceId
from shared.model import ResourceClaim, Uid


class ClaimedDevices:
    """What allocated claims hold."""

    def __init__(self) -> None:
        self._holders: Counter[DeviceId] = Counter()
        self._of_pods: dict[Uid, Counter[str]] = {}

    def change(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Take over a change of one claim."""
        if old is not None and old.allocated:
            self._count(old, -1)
        if new is not None and new.allocated:
            self._count(new, 1)

    def count(self, devices: frozenset[DeviceId]) -> int:
        """Return how many of these devices claims have."""
        return len(devices & self._holders.keys()) if self._holders else 0

    def has(self, pod: Uid, claim: str) -> bool:
        """Return True if a pod's claim of that name has an allocation."""
        return claim in self._of_pods.get(pod, ())

    def _count(self, claim: ResourceClaim, sign: int) -> None:
        for device in claim.devices:
            self._holders[device] += sign
            if not self._holders[device]:
                del self._holders[device]
        if not claim.pod:
            return
        of_pod = self._of_pods.setdefault(claim.pod, Counter())
        of_pod[claim.pod_claim] += sign
        if not of_pod[claim.pod_claim]:
            del of_pod[claim.pod_claim]
        if not of_pod:
            del self._of_pods[claim.pod]
