"""``spec.affinity`` of a pod as the API server has it. Used through ``shared.kube.wire``."""

from msgspec import Raw, Struct, field

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeRequirement(Struct):
    """``matchExpressions[]`` and ``matchFields[]``."""

    key: str
    operator: str
    values: list[str] | None = None


class NodeTerm(Struct, rename="camel"):
    """``nodeSelectorTerms[]``."""

    match_expressions: list[NodeRequirement] | None = None
    match_fields: list[NodeRequirement] | None = None


class NodeSelector(Struct, rename="camel"):
    """``requiredDuringSchedulingIgnoredDuringExecution`` of a node affinity."""

    node_selector_terms: list[NodeTerm] | None = None


class PreferredNodeTerm(Struct):
    """A term of the preferred node affinity."""

    weight: int = 0
    preference: NodeTerm = field(default_factory=NodeTerm)


class NodeAffinity(Struct):
    """``affinity.nodeAffinity``."""

    required: NodeSelector | None = field(default=None, name=REQUIRED)
    preferred: list[PreferredNodeTerm] | None = field(default=None, name=PREFERRED)


class PodAffinityTerm(Struct, rename="camel"):
    """A required term; only in which namespaces it holds."""

    namespaces: list[str] | None = None
    namespace_selector: dict[str, Raw] | None = None


class PodAffinity(Struct):
    """``affinity.podAffinity`` and ``podAntiAffinity``; of what is preferred only that it is."""

    required: list[PodAffinityTerm] | None = field(default=None, name=REQUIRED)
    preferred: list[Raw] | None = field(default=None, name=PREFERRED)


class Affinity(Struct, rename="camel"):
    """``spec.affinity``."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None
