"""What a pod takes of the devices that drivers publish, and where its claims let it go.

A claim from a template is the pod's own. One that exists by itself may be shared:

====================================================  ==========================================
claim                                                 what it means for the pod
====================================================  ==========================================
it has devices                                        the pod goes to where they can be reached
another pod that names it has a place                 the pod goes to that node
all pods that name it are all pods of one job         one node holds the job; the claim's devices
                                                      count with the first pod
other pods name it too                                not modelled: whichever is first decides
it is missing, being deleted, or another pod's        not modelled
====================================================  ==========================================
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from extender.core.cluster.snapshot import Snapshot
from extender.core.nodes.device_catalog import MOST_DEVICES, claim_name, template_name
from extender.core.nodes.device_columns import Demand, NamedClaim
from shared.model import NodeName, NodeSelectorTerm, Pod, Requirement

Terms = tuple[NodeSelectorTerm, ...]


class Named(NamedTuple):
    """Something that a pod names, and what that takes.

    Attributes:
        name: Of a resource, a template or a claim.
        amount: How much of it.
        demand: Of one unit.
        nodes: Where the pod can go because of it; None: everywhere.
        together: All pods of the job go to one node because of it.
    """

    name: str
    amount: int
    demand: Demand
    nodes: Terms | None = None
    together: bool = False


def device_demands(snapshot: Snapshot, pod: Pod) -> tuple[Named, ...]:
    """Return what classes serve and what claims request of what the pod names."""
    devices = snapshot.devices
    if not devices.served and not pod.device_claims:
        return ()  # nearly always: called for every pod
    demands = devices.demands
    found = [
        Named(
            name, amount, _of_units(demands.get(name, _UNKNOWN), name, amount, devices.served[name])
        )
        for name, amount in pod.shape.requests
        if name in devices.served
    ]
    found += _of_claims(snapshot, pod)
    whole = len(found) > 1 and any(one.demand.whole for one in found)
    return tuple(_once(found) if whole else found)


def claim_names(pod: Pod) -> Iterator[str]:
    """Yield the claims that a pod names and that exist by themselves."""
    return (claim_name(pod.namespace, one.claim) for one in pod.device_claims if one.claim)


def _of_claims(snapshot: Snapshot, pod: Pod) -> Iterator[Named]:
    demands = snapshot.devices.demands
    for claim in pod.device_claims:
        if claim.claim:
            yield _of_claim(snapshot, pod, claim_name(pod.namespace, claim.claim))
        else:
            name = template_name(pod.namespace, claim.template)
            yield Named(name, 1, demands.get(name, _UNKNOWN))


def _of_units(demand: Demand, name: str, amount: int, device_class: str) -> Demand:
    """Return the demand of one unit of a resource; kube-scheduler makes one claim of all units."""
    reason = demand.reason
    if amount > MOST_DEVICES:
        reason = f"more than {MOST_DEVICES} devices"
    if reason:
        return Demand(reason=f"DeviceClass {device_class} serves {name}: {reason}")
    return demand


def _of_claim(snapshot: Snapshot, pod: Pod, name: str) -> Named:
    """Return what a claim that exists by itself means for a pod that names it."""
    claim = snapshot.devices.claims.get(name)
    demand = snapshot.devices.demands.get(name, _UNKNOWN)
    if claim is None:
        return Named(name, 1, _UNKNOWN)
    if claim.problem:
        return Named(name, 1, Demand(reason=f"{name}: {claim.problem}"))
    if claim.allocated:
        return Named(name, 1, Demand(), claim.nodes)
    return Named(name, 1, demand) if demand.reason else _without_devices(snapshot, pod, claim, name)


def _without_devices(snapshot: Snapshot, pod: Pod, claim: NamedClaim, name: str) -> Named:
    """Return the demand of one of the pods; the others go to where that one goes."""
    first = claim.holders[0] if claim.holders else claim.users[0]
    demand = snapshot.devices.demands[name] if first[0] == pod.uid else Demand()
    if claim.holders:
        others = [node for uid, node in claim.holders if uid != pod.uid]
        return Named(name, 1, demand, _only(others[0]) if others else None)
    if len(claim.users) > 1 and not _of_one_job(snapshot, claim):
        demand = Demand(reason=f"{name}: several jobs, or not all pods of a job, name it")
    return Named(name, 1, demand, together=len(claim.users) > 1 and not demand.reason)


def _of_one_job(snapshot: Snapshot, claim: NamedClaim) -> bool:
    """Return True if the pods that name a claim are all unfinished pods of one job."""
    jobs = {job for _, job in claim.users}
    job = next(iter(jobs))
    if len(jobs) > 1 or job is None:
        return False
    pods = snapshot.jobs.get(job, ())
    return sum(not pod.finished for pod in pods) == len(claim.users)


def _only(node: NodeName) -> Terms:
    return (NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node,)),)),)


def _once(found: list[Named]) -> Iterator[Named]:
    """Yield all; claims that are counted as a whole say so if the pod has two of a kind."""
    columns = Counter(column for one in found for column in one.demand.whole)
    for one in found:
        twice = next((column for column in one.demand.whole if columns[column] > 1), "")
        if twice:
            reason = f"{one.name}: the pod has two such claims"
            yield one._replace(demand=Demand(reason=reason))
        else:
            yield one


_UNKNOWN: Final = Demand(reason="not observed yet")
"""Of what a pod names that the store has not seen: kube-scheduler may be ahead of our watch."""
