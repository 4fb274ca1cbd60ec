"""What a pod requires of a node, its volumes and device classes included.

A claim names a volume, and the volume states from where it can be reached:

=========================================================  =========================================
claim                                                      what it means for the pod
=========================================================  =========================================
bound, for many nodes, its volume without node affinity    nothing
bound, for many nodes, its volume with node affinity       the affinity holds for the pod as well
unbound, unknown, or being deleted                         not modelled
for one node or one pod (ReadWriteOnce, …OncePod)          not modelled
its volume has a label of a zone, or affinity by fields    not modelled
=========================================================  =========================================

Devices that drivers publish are amounts like others (``nodes.device_columns``): those of a resource
that a DeviceClass serves, and those that a claim requests (``device_demands``). What is not
modelled says why.

A pod with something that is not modelled is released without a pin: kube-scheduler knows better.
How many volumes a node can attach is not modelled either; a node that kube-scheduler refuses for it
is one that was planned and not offered.

Source:
    kube-scheduler 1.36.3, plugins volumebinding (``FindPodVolumes``, ``CheckNodeAffinity``),
    volumezone and volumerestrictions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Final

from msgspec.structs import replace

from extender.core.cluster.device_demands import Named, device_demands
from extender.core.cluster.snapshot import Kept, Slot, Snapshot
from shared import labels
from shared.model import CPU, NodeSelectorTerm, Pod, PodClaim, PodShape, Requirement
from shared.objects import pod_cpu
from shared.objects.claims import PersistentVolume

VOLUMES: Final = "volumes"
"""Name of claimed volumes among what is not modelled."""

MOST_TERMS: Final = 64
"""Combinations of the terms of several volumes; a pod with more is not modelled."""

MOST_WEIGHT: Final = 65_536
"""Requirements and values of the pod's own terms, times those combinations; likewise."""

Terms = tuple[NodeSelectorTerm, ...]


def unmodelled(snapshot: Snapshot, pod: Pod) -> tuple[str, ...]:
    """Return what our planner does not model of a pod, sorted; empty if it models all."""
    return shape(snapshot, pod).unmodelled


def shape(snapshot: Snapshot, pod: Pod) -> PodShape:
    """Return the pod's shape as node filters have to see it.

    It is the pod's own one, the very object, unless a claim adds something or devices are not
    modelled: pods that claim different volumes of the same kind stay in one equivalence class.
    """
    named = device_demands(snapshot, pod)
    shape_of_pod = _with_devices(snapshot, pod, named)
    of_claims = [one.nodes for one in named if one.nodes is not None]
    if not (pod.claims or of_claims):
        return shape_of_pod
    volumes = list(_volumes(snapshot, pod))
    affinities = dict.fromkeys(volume.affinity for volume in volumes if volume is not None)
    demands = [terms for terms in (*affinities, *dict.fromkeys(of_claims)) if terms is not None]
    if None in volumes or _too_many(pod.shape.affinity or (), prod(map(len, demands))):
        return _with_unmodelled(shape_of_pod, [VOLUMES])
    if not demands:
        return shape_of_pod
    return replace(shape_of_pod, affinity=_all_of(pod.shape.affinity, demands))


def with_devices(snapshot: Snapshot, pod: Pod) -> PodShape:
    """Return the pod's own shape with the devices of its claims, without what volumes demand.

    What is not modelled is left out, and named instead; the very object if that changes nothing.
    """
    return _with_devices(snapshot, pod, device_demands(snapshot, pod))


def _with_devices(snapshot: Snapshot, pod: Pod, named: tuple[Named, ...]) -> PodShape:
    if not named:
        return pod.shape
    source = (pod.shape, named)
    kept = snapshot.cache.of(_SHAPES)
    carries = sum(bool(one.demand.columns) for one in named)  # of pods that share a claim one does
    key = (pod.shape, pod.namespace, pod.device_claims, carries)
    shape_of_pod = kept.get(key, source)
    if shape_of_pod is None:
        shape_of_pod = _requesting(pod.shape, named)
        kept.trim(())
        kept.put(key, source, shape_of_pod)
    return shape_of_pod


def _requesting(own: PodShape, named: Sequence[Named]) -> PodShape:
    left_out = {one.name for one in named if one.demand.reason}
    amounts = Counter({name: a for name, a in own.requests if name not in left_out})
    for one in named:
        if not one.demand.reason and one.name not in amounts:
            columns = one.demand.columns
            amounts.update({column: count * one.amount for column, count in columns})
    requests = tuple(sorted(amounts.items()))
    changed = own if requests == own.requests else replace(own, requests=requests)
    reasons = [one.demand.reason for one in named if one.demand.reason]
    return _with_unmodelled(changed, reasons) if reasons else changed


_Alike = tuple[PodShape, str, tuple[PodClaim, ...], int]
_SHAPES: Final[Slot[Kept[_Alike, PodShape]]] = Slot(Kept, Kept)
"""Shapes with devices: one object for all pods that are alike."""


def _with_unmodelled(own: PodShape, names: Iterable[str]) -> PodShape:
    return replace(own, unmodelled=tuple(sorted({*own.unmodelled, *names})))


def own_shape(snapshot: Snapshot, pod: Pod) -> PodShape:
    """Return what another pod of the same owner would request: without our pin and our resize."""
    shape_of_pod = unpinned(pod.shape)
    given = pod_cpu.parse_given(pod.annotations)
    changed = [cpu for cpu in pod.cpus if given is not None and cpu.name == given.container]
    if given is not None and changed:  # the new pod requests what its owner gave
        amounts = dict(shape_of_pod.requests)
        amounts[CPU] = amounts.get(CPU, 0) + given.milli - changed[0].request_milli
        shape_of_pod = replace(shape_of_pod, requests=tuple(sorted(amounts.items())))
    return shape(snapshot, replace(pod, shape=shape_of_pod))


def _too_many(own: Terms, combinations: int) -> bool:
    lines = [line for term in own for line in (*term.expressions, *term.fields)]
    weight = len(lines) + sum(len(line.values) for line in lines)
    return combinations > MOST_TERMS or combinations * weight > MOST_WEIGHT


def _volumes(snapshot: Snapshot, pod: Pod) -> Iterator[PersistentVolume | None]:
    """Yield the volume of each claim; None for one that we do not model."""
    for name in pod.claims:
        claim = snapshot.claims.get(f"{pod.namespace}/{name}")
        usable = claim is not None and claim.many_nodes and not claim.deleting
        volume = snapshot.volumes.get(claim.volume) if claim is not None and usable else None
        yield volume if volume is not None and _plain(volume) else None


def _plain(volume: PersistentVolume) -> bool:
    """kube-scheduler shows the affinity a node with labels and without a name."""
    return not volume.zonal and not any(term.fields for term in volume.affinity or ())


def _all_of(own: Terms | None, demands: Iterable[Terms]) -> Terms:
    """Return terms of which one matches exactly where one of each list does."""
    first, *others = (terms for terms in (own, *demands) if terms is not None)
    for terms in others:
        pairs = product(filter(_has_lines, first), filter(_has_lines, terms))
        first = tuple(_both(term, other) for term, other in pairs)
    return first


def _has_lines(term: NodeSelectorTerm) -> bool:
    """A term without lines matches nothing."""
    return bool(term.expressions or term.fields)


def _both(term: NodeSelectorTerm, other: NodeSelectorTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(term.expressions + other.expressions, term.fields + other.fields)


def has_plain_cycle(snapshot: Snapshot, pod: Pod, shape_of_pod: PodShape) -> bool:
    """Return True if kube-scheduler does nothing for the pod but find a node that our masks pass.

    It weighs preferences, binds volumes and devices, and keeps in-tree groups whole.
    """
    if pod.prefers or pod.scheduling_group or pod.excess or device_demands(snapshot, pod):
        return False
    return not (shape_of_pod.unmodelled or shape_of_pod.host_ports)


def unpinned(shape: PodShape) -> PodShape:
    """Return the shape of a released pod as it was before ``pinned_terms``."""
    terms = shape.affinity
    if terms is None:
        return shape
    if all(_is_pin(term) for term in terms):
        return replace(shape, affinity=None)
    return replace(shape, affinity=tuple(_widened(term) for term in terms))


def has_pin(shape: PodShape) -> bool:
    """Return True if each of the required terms ends as ``pinned_terms`` leaves it."""
    return bool(shape.affinity) and all(_widened(term) != term for term in shape.affinity or ())


def _is_pin(term: NodeSelectorTerm) -> bool:
    return not term.expressions and len(term.fields) == 1 and _names_a_node(term.fields[0])


def _names_a_node(line: Requirement) -> bool:
    return line.key == "metadata.name" and line.operator == "In" and len(line.values) == 1


def _widened(term: NodeSelectorTerm) -> NodeSelectorTerm:
    """Take back what ``_narrowed`` added: the last hostname, else the last name."""
    if term.expressions and term.expressions[-1].key == labels.HOSTNAME_LABEL:
        return NodeSelectorTerm(term.expressions[:-1], term.fields)
    if term.fields and _names_a_node(term.fields[-1]):
        return NodeSelectorTerm(term.expressions, term.fields[:-1])
    return term
