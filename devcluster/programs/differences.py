"""Differences between minor versions of Kubernetes.

Source:
    kubernetes ``pkg/features/kube_features.go`` and ``staging/src/k8s.io/api`` of v1.34.4,
    v1.35.4, v1.36.3 and v1.37.2.
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
        objects: Name of its objects in URL paths.
    """

    gates: tuple[str, ...]
    api: str
    objects: str

    @property
    def gates_flag(self) -> str:
        """Value of ``--feature-gates``."""
        return ",".join(f"{gate}=true" for gate in self.gates)

    @property
    def path(self) -> str:
        """URL path of its objects, over all namespaces."""
        return f"/apis/{self.api}/{self.objects}"


@dataclass(frozen=True, slots=True)
class Differences:
    """The features of a minor version.

    Args:
        gangs: Kubernetes' own gangs (KEP-4671); None: it has none.
        eviction_requests: The Eviction Request API (KEP-4563); None: it has none.
        device_taint_rules: DeviceTaintRules (KEP-5055); None: older ones are not switched on.
        mutating_policies: How to switch on ``MutatingAdmissionPolicy``; without gates: always on.
    """

    gangs: Feature | None
    mutating_policies: Feature
    eviction_requests: Feature | None = None
    device_taint_rules: Feature | None = None

    @property
    def has_mutating_policies(self) -> bool:
        """Whether ``MutatingAdmissionPolicy`` is on without any flag."""
        return not self.mutating_policies.gates

    @property
    def pod_groups(self) -> Feature | None:
        """Kubernetes' own gangs if their objects are PodGroups; 1.35 has Workloads only."""
        gangs = self.gangs
        return gangs if gangs is not None and gangs.objects == _POD_GROUPS else None


_POD_GROUPS: Final = "podgroups"


def _gangs(version: str, objects: str, *gates: str) -> Feature:
    return Feature(("GenericWorkload", *gates), f"scheduling.k8s.io/{version}", objects)


def _policies(version: str, *gates: str) -> Feature:
    api = f"admissionregistration.k8s.io/{version}"
    return Feature(gates, api, "mutatingadmissionpolicies")


_BETA_POLICIES: Final = _policies("v1beta1", "MutatingAdmissionPolicy")
_STABLE_POLICIES: Final = _policies("v1")

_EVICTION_REQUESTS: Final = Feature(
    ("EvictionRequestAPI",), "lifecycle.k8s.io/v1alpha1", "evictions"
)


def _taint_rules(version: str, *gates: str) -> Feature:
    return Feature(gates, f"resource.k8s.io/{version}", "devicetaintrules")


_MINORS: Final[Mapping[str, Differences]] = {
    "1.34": Differences(None, _BETA_POLICIES),
    "1.35": Differences(_gangs("v1alpha1", "workloads", "GangScheduling"), _BETA_POLICIES),
    "1.36": Differences(
        _gangs("v1alpha2", _POD_GROUPS, "GangScheduling"),
        _STABLE_POLICIES,
        device_taint_rules=_taint_rules("v1beta2", "DRADeviceTaintRules"),
    ),
    "1.37": Differences(
        _gangs("v1beta1", _POD_GROUPS), _STABLE_POLICIES, _EVICTION_REQUESTS, _taint_rules("v1")
    ),
}
"""In 1.37 the gate GangScheduling is gone."""


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
        message = (
            f"Kubernetes {kubernetes} is not in devcluster/programs/differences.py; known: {known}"
        )
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
