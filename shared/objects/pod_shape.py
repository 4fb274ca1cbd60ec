"""The part of a pod that node filters read, as values. Used through ``shared.model``."""

from msgspec import Struct


class Requirement(Struct, frozen=True):
    """One line of a node selector term: ``key operator values``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, frozen=True, cache_hash=True):
    """Requirements that must all hold; an empty term matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class Toleration(Struct, frozen=True):
    """A pod's toleration; empty strings where the object has none."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Taint(Struct, frozen=True):
    """A node's taint."""

    key: str
    value: str
    effect: str


class HostPort(Struct, frozen=True):
    """A port the pod takes on the node; ``ip`` is ``0.0.0.0`` where none is given."""

    ip: str
    protocol: str
    port: int


class PreferredTerm(Struct, frozen=True):
    """A term of preferred node affinity; ``weight`` is 1 to 100."""

    weight: int
    term: NodeSelectorTerm


class PodShape(Struct, frozen=True, cache_hash=True, weakref=True, omit_defaults=True):
    """Everything node filters read from a pod. Pods of equal shape are one equivalence class.

    ``requests`` is sorted by resource name, holds only amounts above 0 and includes one ``pods``.
    ``affinity`` is the required node affinity: ``None`` where there is none, terms are ORed.
    ``unmodelled`` names what our planner does not model (``podAffinity``, ``topologySpread``,
    ``volumes``, ``resourceClaims``, …); such a pod is released without a pin. Claimed volumes are
    not in it: which claims a pod names is in ``Pod``, so that it does not split classes, and what
    they mean is in ``extender.core.cluster.pod_shape``. ``preferred``: node affinity that restricts
    nothing.
    """

    requests: tuple[tuple[str, int], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unmodelled: tuple[str, ...] = ()
    preferred: tuple[PreferredTerm, ...] = ()
