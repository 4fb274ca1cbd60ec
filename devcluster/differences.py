"""What minor versions of Kubernetes do not have in common; whoever needs to know asks here.

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
    """What is served, or done, only where it is switched on.

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
    """What a minor version has.

    Args:
        gangs: Kubernetes' own gangs (KEP-4671); None: there are none.
        mutating_policies: What ``MutatingAdmissionPolicy`` needs; without gates it is always there.
    """

    gangs: Feature | None
    mutating_policies: Feature

    @property
    def has_mutating_policies(self) -> bool:
        """``MutatingAdmissionPolicy`` is there without any flag."""
        return not self.mutating_policies.gates


_GANG_GATES: Final = ("GenericWorkload", "GangScheduling")
POD_GROUPS: Final = Feature(_GANG_GATES, "scheduling.k8s.io/v1alpha2")
"""Kubernetes' own gangs as we know them: PodGroups. In 1.35 a Workload alone said all."""
_POLICIES: Final = "admissionregistration.k8s.io"
_BETA_POLICIES: Final = Feature(("MutatingAdmissionPolicy",), f"{_POLICIES}/v1beta1")

_MINORS: Final[Mapping[str, Differences]] = {
    "1.34": Differences(None, _BETA_POLICIES),
    "1.35": Differences(Feature(_GANG_GATES, "scheduling.k8s.io/v1alpha1"), _BETA_POLICIES),
    "1.36": Differences(POD_GROUPS, Feature((), f"{_POLICIES}/v1")),
}


def differences(kubernetes: str) -> Differences:
    """Return what a version has.

    Raises:
        AssetsError: Nobody has written down what its minor version has.
    """
    minor = kubernetes.rpartition(".")[0]
    try:
        return _MINORS[minor]
    except KeyError:
        known = ", ".join(sorted(_MINORS))
        message = f"Kubernetes {kubernetes} is not in devcluster/differences.py; known: {known}"
        raise AssetsError(message) from None


def server_flags(features: Iterable[Feature]) -> Mapping[str, object]:
    """Return what switches features on in kube-apiserver."""
    found = [one for one in features if one.gates]
    if not found:
        return {}
    return {
        "feature-gates": ",".join(one.gates_flag for one in found),
        "runtime-config": ",".join(f"{one.api}=true" for one in found),
    }
