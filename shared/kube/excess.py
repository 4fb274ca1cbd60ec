"""Limits of a pod's spec: users must not determine how long a pass takes.

The API server accepts pods of more than a megabyte. The job of a pod beyond a limit is
``Misconfigured``, with a message that names the field; its node requirements are not read. Its
resources on its node still count. Only list lengths are counted, which costs less than the JSON
decoding before.

One requirement with up to ten values in each term of a node affinity is free: when we release a pod
with its own terms, the pin adds one with the planned node and its spares to each of them.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from shared.kube import wire

MOST_TERMS: Final = 256
"""Terms of the required node affinity; people write a handful."""
MOST_REQUIREMENTS: Final = 1024
"""Requirements of all terms together: 12 ms at 5,000 nodes, once a class of pods."""
MOST_VALUES: Final = 16_384
"""Values of all requirements together: three times the names of 5,000 nodes; 5 ms to read."""
MOST_PAIRS: Final = 256
"""Pairs of the node selector."""
MOST_TOLERATIONS: Final = 256
"""Tolerations."""
MOST_HOST_PORTS: Final = 512
"""Host ports of all containers; each is compared with the taken ports of each node."""
MOST_RESOURCES: Final = 128
"""Resource names of one container, of the pod or of its overhead; each is a column to search."""
MOST_CONTAINERS: Final = 1024
"""Containers and init containers."""
MOST_CLAIMS: Final = 512
"""Claimed volumes; a node can attach far fewer."""

_PINNED_VALUES: Final = 10
_AFFINITY: Final = (
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
)


def excess(spec: wire.PodSpec) -> str:
    """Return a message if a pod's spec exceeds a limit; else ""."""
    for field, items, count, most in _counts(spec):
        if count > most:
            return f"{field}: {count} {items}, and at most {most} are allowed"
    return ""


def without_requirements(spec: wire.PodSpec) -> wire.PodSpec:
    """Return the spec of a pod that fits no node, without anything that exceeds a limit."""
    nowhere = wire.NodeAffinity(required=wire.NodeSelector([]))
    return replace(
        spec,
        affinity=replace(spec.affinity or wire.Affinity(), node_affinity=nowhere),
        node_selector=None,
        tolerations=None,
        volumes=None,
        resource_claims=None,
    )


def _counts(spec: wire.PodSpec) -> Iterable[tuple[str, str, int, int]]:
    """Yield field, name of the items, count and limit; the cheap ones first."""
    containers = [*(spec.containers or ()), *(spec.init_containers or ())]
    yield "spec.containers", "containers", len(containers), MOST_CONTAINERS
    yield "spec.nodeSelector", "pairs", len(spec.node_selector or ()), MOST_PAIRS
    yield "spec.tolerations", "tolerations", len(spec.tolerations or ()), MOST_TOLERATIONS
    claims = sum(v.persistent_volume_claim is not None for v in spec.volumes or ())
    yield "spec.volumes", "persistentVolumeClaims", claims, MOST_CLAIMS
    for_devices = spec.resource_claims or ()
    yield "spec.resourceClaims", "claims for devices", len(for_devices), MOST_CLAIMS
    ports = sum(bool(port.host_port) for container in containers for port in container.ports or ())
    yield "spec.containers[].ports", "host ports", ports, MOST_HOST_PORTS
    requests = [part.resources.requests for part in (*containers, spec) if part.resources]
    names = max((len(amounts or ()) for amounts in (*requests, spec.overhead)), default=0)
    yield "spec.containers[].resources.requests", "resources", names, MOST_RESOURCES
    yield from _affinity(spec)


def _affinity(spec: wire.PodSpec) -> Iterable[tuple[str, str, int, int]]:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    terms = (required.node_selector_terms if required else None) or ()
    yield _AFFINITY, "terms", len(terms), MOST_TERMS
    lines = [
        line
        for term in terms
        for line in (*(term.match_expressions or ()), *(term.match_fields or ()))
    ]
    free = min(len(terms), len(lines))
    yield _AFFINITY, "requirements in all terms", len(lines) - free, MOST_REQUIREMENTS
    values = sum(len(line.values or ()) for line in lines) - _PINNED_VALUES * free
    yield _AFFINITY, "values in all terms", values, MOST_VALUES
