"""The part of a pod that node filters read, in a canonical form: equal pods have equal shapes."""

from collections.abc import Iterable, Iterator
from typing import Final

from shared import model
from shared.kube import wire

MOST_REPELLED: Final = 64
"""Namespaces that anti-affinity may name; a pod that names more counts as if it named all."""

MOST_PREFERRED: Final = 16
"""Terms of a preferred node affinity that is read; each is compared with all nodes."""
MOST_PREFERRED_LINES: Final = 256
"""Requirements and values of all these terms together."""


def shape(spec: wire.PodSpec, requests: tuple[tuple[str, int], ...]) -> model.PodShape:
    """Return the scheduling-relevant part of a pod's spec."""
    return model.PodShape(
        requests=requests,
        node_selector=tuple(sorted((spec.node_selector or {}).items())),
        affinity=_node_affinity(spec.affinity),
        tolerations=tolerations(spec.tolerations),
        host_ports=_host_ports(spec),
        unmodelled=tuple(sorted(set(_unmodelled(spec)))),
        preferred=_preferred(spec.affinity),
    )


def claims(spec: wire.PodSpec) -> tuple[str, ...]:
    """Return the names of the claims of a pod's volumes, sorted and unique."""
    sources = (volume.persistent_volume_claim for volume in spec.volumes or ())
    return tuple(sorted({source.claim_name for source in sources if source is not None}))


def _node_affinity(affinity: wire.Affinity | None) -> tuple[model.NodeSelectorTerm, ...] | None:
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    return None if required is None else terms(required)


def _preferred(affinity: wire.Affinity | None) -> tuple[model.PreferredTerm, ...]:
    """Return the preferred node affinity; nothing of one that is longer than people write."""
    raw = (affinity.node_affinity.preferred if affinity and affinity.node_affinity else None) or ()
    if len(raw) > MOST_PREFERRED:
        return ()
    found = [model.PreferredTerm(one.weight, term(one.preference)) for one in raw]
    lines = [line for one in found for line in (*one.term.expressions, *one.term.fields)]
    if len(lines) + sum(len(line.values) for line in lines) > MOST_PREFERRED_LINES:
        return ()
    return tuple(one for one in found if one.weight > 0)


def terms(selector: wire.NodeSelector) -> tuple[model.NodeSelectorTerm, ...]:
    """Return the terms of a node selector, ORed."""
    return tuple(term(raw) for raw in selector.node_selector_terms or ())


def term(raw: wire.NodeTerm) -> model.NodeSelectorTerm:
    """Return one term of a required node affinity."""
    return model.NodeSelectorTerm(
        _requirements(raw.match_expressions), _requirements(raw.match_fields)
    )


def _requirements(raw: list[wire.NodeRequirement] | None) -> tuple[model.Requirement, ...]:
    return tuple(model.Requirement(r.key, r.operator, tuple(r.values or ())) for r in raw or ())


def tolerations(raw: Iterable[wire.Toleration] | None) -> tuple[model.Toleration, ...]:
    """Return the tolerations, sorted and unique."""
    unique = {
        (t.key or "", t.operator or "Equal", t.value or "", t.effect or "") for t in raw or ()
    }
    return tuple(model.Toleration(*fields) for fields in sorted(unique))


def _host_ports(spec: wire.PodSpec) -> tuple[model.HostPort, ...]:
    """Return ports of containers and sidecars; other init containers have ended before.

    Source:
        kube-scheduler ``util.GetHostPorts``.
    """
    taken = {
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 - says "any"
        for container in _running(spec)
        for port in container.ports or ()
        if port.host_port
    }
    return tuple(model.HostPort(*fields) for fields in sorted(taken))


def prefers(spec: wire.PodSpec) -> bool:
    """Return True if the pod prefers some nodes, besides its requirements."""
    affinity = spec.affinity or wire.Affinity()
    kinds = (affinity.node_affinity, affinity.pod_affinity, affinity.pod_anti_affinity)
    spreads = spec.topology_spread_constraints or ()
    spread = any(s.when_unsatisfiable == "ScheduleAnyway" for s in spreads)
    return spread or any(kind is not None and bool(kind.preferred) for kind in kinds)


def repels(spec: wire.PodSpec, namespace: str) -> tuple[str, ...]:
    """Return the namespaces of pods that the pod's required anti-affinity may keep off its node.

    Args:
        spec: Of the pod.
        namespace: Of the pod; a term without namespaces is about the pods of this one.
    """
    affinity = (spec.affinity or wire.Affinity()).pod_anti_affinity
    terms = (affinity and affinity.required) or ()
    names = {name for term in terms for name in term.namespaces or (namespace,)}
    if any(term.namespace_selector is not None for term in terms) or len(names) > MOST_REPELLED:
        return (model.ALL_NAMESPACES,)
    return tuple(sorted(names))


def _running(spec: wire.PodSpec) -> Iterator[wire.Container]:
    yield from spec.containers or ()
    yield from (c for c in spec.init_containers or () if c.restart_policy == "Always")


def _unmodelled(spec: wire.PodSpec) -> Iterator[str]:
    affinity = spec.affinity or wire.Affinity()
    if any(a and a.required for a in (affinity.pod_affinity, affinity.pod_anti_affinity)):
        yield "podAffinity"
    spreads = spec.topology_spread_constraints or ()
    if any(s.when_unsatisfiable != "ScheduleAnyway" for s in spreads):
        yield "topologySpread"
    if any(v.ephemeral for v in spec.volumes or ()):
        yield "volumes"
    if not all(claim.readable for claim in spec.resource_claims or ()):
        yield "resourceClaims"
