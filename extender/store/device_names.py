"""What unfinished pods name of devices: resources, templates, and claims that several may name."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from collections.abc import Set as AbstractSet

from extender.core.nodes.device_catalog import claim_name, is_claim, template_name
from extender.store.device_claims import ClaimedDevices
from shared.model import JobKey, Pod, PodClaim, Uid
from shared.objects.devices import EXTENDED

Named = tuple[tuple[str, str], ...]
"""Name of a claim in its pod, and the resource, template or claim that the pod names by it."""

User = tuple[str, Uid, JobKey | None]
"""A pod that names a claim: its name, uid and job."""


def of_claims(namespace: str, claims: tuple[PodClaim, ...]) -> Named:
    """Return what claims of a pod name, in their order."""
    return tuple(
        (
            c.name,
            claim_name(namespace, c.claim) if c.claim else template_name(namespace, c.template),
        )
        for c in claims
    )


class DeviceNames:
    """What pods name, and which of it waits for devices.

    Args:
        claimed: What claims hold.
        allocated: Names of claims that have devices and that pods may name.

    Attributes:
        changed: A name came or went, among all or among those that wait.
    """

    def __init__(self, claimed: ClaimedDevices, allocated: Container[str]) -> None:
        self._claimed, self._allocated = claimed, allocated
        self._of_pods: dict[Uid, Named] = {}
        self._waiting_of: dict[Uid, tuple[str, ...]] = {}
        self._named: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._users: dict[str, dict[Uid, User]] = {}
        self.changed = False

    @property
    def named(self) -> AbstractSet[str]:
        """What unfinished pods name."""
        return self._named.keys()

    @property
    def waiting(self) -> AbstractSet[str]:
        """What of it pods name that have no devices for it yet."""
        return self._waiting.keys()

    def users(self, claim: str) -> tuple[User, ...]:
        """Return the pods that name a claim, in order of name."""
        return tuple(sorted(self._users.get(claim, {}).values()))

    def of(self, uid: Uid) -> Named:
        """Return what a pod names."""
        return self._of_pods.get(uid, ())

    def change(self, old: Pod | None, new: Pod | None, job: JobKey | None) -> tuple[str, ...]:
        """Take over a pod's change; return the claims of which it is a user, now or before."""
        pod = new or old
        if pod is None:
            return ()
        before, after = self._of_pods.get(pod.uid, ()), _names(new)
        if before == after and not any(is_claim(name) for _, name in after):
            return ()
        if after:
            self._of_pods[pod.uid] = after
        else:
            self._of_pods.pop(pod.uid, None)
        self._count(self._named, [name for _, name in before], [name for _, name in after])
        self.settle(pod.uid)
        claims = tuple(name for name in dict((*before, *after)).values() if is_claim(name))
        for name in claims:
            users = self._users.setdefault(name, {})
            users.pop(pod.uid, None)
            if any(name == other for _, other in after):
                users[pod.uid] = (pod.name, pod.uid, job)
            if not users:
                del self._users[name]
        return claims

    def settle(self, uid: Uid) -> None:
        """The claims of a pod may have got devices, or lost them."""
        before = self._waiting_of.pop(uid, ())
        after = tuple(self._without_devices(uid))
        if after:
            self._waiting_of[uid] = after
        self._count(self._waiting, before, after)

    def _without_devices(self, uid: Uid) -> Iterator[str]:
        for claim, name in self._of_pods.get(uid, ()):
            held = name in self._allocated if is_claim(name) else self._claimed.has(uid, claim)
            if not held:
                yield name

    def _count(self, counter: Counter[str], before: Iterable[str], after: Iterable[str]) -> None:
        for name in after:
            self.changed |= name not in counter
            counter[name] += 1
        for name in before:
            counter[name] -= 1
            if not counter[name]:
                del counter[name]
                self.changed = True


def _names(pod: Pod | None) -> Named:
    if pod is None or pod.finished:
        return ()
    resources = [(EXTENDED, name) for name, _ in pod.shape.requests if "/" in name]
    return (*resources, *of_claims(pod.namespace, pod.device_claims))
