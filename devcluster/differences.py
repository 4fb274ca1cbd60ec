"""Differences between minor versions of Kubernetes.

Source:
    kubernetes ``pkg/features/kube_features.go`` and ``staging/src/k8s.io/api`` of v1.34.4, v1.35.4
    and v1.36.3.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from devcluster.errors import AssetsError


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that must be switched on.

    Args:
        gates: Feature gates.
        api: Group and version of its objects.
    """

    gates: tuple[str, ...]
    api: str

    @property
    def gates_flag(self) -> str:
        """Value of ``--feature-gates``."""
        return ",".join(f"{gate}=true" for gate in self.gates)


@dataclass(frozen=True, slots=True)
class Differences:
    """The features of a minor version.

    Args:
        gangs: Kubernetes' own gangs (KEP-4671); None: it has none.
        mutating_policies: How to switch on ``MutatingAdmissionPolicy``; without gates: always on.
    """

    gangs: Feature | None
    mutating_policies: Feature

    @property
    def has_mutating_policies(self) -> bool:
        """Whether ``MutatingAdmissionPolicy`` is on without any flag."""
        return not self.mutating_policies.gates


_GANG_GATES: Final = ("GenericWorkload", "GangScheduling")
POD_GROUPS: Final = Feature(_GANG_GATES, "scheduling.k8s.io/v1alpha2")
"""Kubernetes' own gangs as we know them: PodGroups. 1.35 has Workloads only."""
_POLICIES: Final = "admissionregistration.k8s.io"
_BETA_POLICIES: Final = Feature(("MutatingAdmissionPolicy",), f"{_POLICIES}/v1beta1")

_MINORS: Final[Mapping[str, Differences]] = {
    "1.34": Differences(None, _BETA_POLICIES),
    "1.35": Differences(Feature(_GANG_GATES, "scheduling.k8s.io/v1alpha1"), _BETA_POLICIES),
    "1.36": Differences(POD_GROUPS, Feature((), f"{_POLICIES}/v1")),
}


def differences(kubernetes: str) -> Differences:
    """Return the features of a version.

    Raises:
        AssetsError: Its minor version is not listed here.
    """
    minor = kubernetes.rpartition(".")[0]
    try:
        return _MINORS[minor]
    except KeyError:
        known = ", ".join(sorted(_MINORS))
        message = f"Kubernetes {kubernetes} is not in devcluster/differences.py; known: {known}"
        raise AssetsError(message) from None


def server_flags(features: Iterable[Feature]) -> Mapping[str, object]:
    """Return the flags of kube-apiserver that switch features on."""
    gated = [feature for feature in features if feature.gates]
    if not gated:
        return {}
    return {
        "feature-gates": ",".join(feature.gates_flag for feature in gated),
        "runtime-config": ",".join(f"{feature.api}=true" for feature in gated),
    }
