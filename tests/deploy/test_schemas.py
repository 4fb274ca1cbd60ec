"""Every object of Kubernetes' own kinds fits the schemas of the versions we name."""

import copy
import functools
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest

from tests.deploy.rendering import SETUPS, Manifest, needs_kubectl, rendered

pytestmark = needs_kubectl

VERSIONS = ("1.33", "1.34", "1.35", "1.36", "1.37")
FOREIGN = {
    "Certificate": "cert-manager.io/v1",
    "Issuer": "cert-manager.io/v1",
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "ServiceMonitor": "monitoring.coreos.com/v1",
}
"""Kinds of other projects: no schema of Kubernetes knows them."""
FROM_1_36 = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}


@pytest.fixture(scope="module", autouse=True)
def _schemas_are_read_once() -> Iterator[None]:
    """The package reads megabytes anew for each object."""
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(kubernetes_validate.utils.schema_contents)
        patch.setattr(kubernetes_validate.utils, "schema_contents", once)
        yield


def every_object() -> Iterator[Manifest]:
    """Yield each object of any setup; what several setups have alike, once."""
    seen: list[Manifest] = []
    for setup in SETUPS.values():
        for one in rendered(setup):
            if one not in seen:
                seen.append(one)
                yield one


def fits(manifest: Manifest, version: str) -> bool:
    """Return True if the version has this kind; the object must then fit.

    Raises:
        kubernetes_validate.ValidationError: It does not.
    """
    try:
        kubernetes_validate.validate(dict(manifest), version, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return False
    return True


@pytest.mark.parametrize("version", VERSIONS)
def test_all_objects_fit_the_version(version: str) -> None:
    unknown = {one["kind"]: one["apiVersion"] for one in every_object() if not fits(one, version)}
    late = FROM_1_36 if version < "1.36" else set()
    assert unknown.keys() == FOREIGN.keys() | late
    assert {kind: unknown[kind] for kind in FOREIGN} == FOREIGN


def test_the_base_works_with_every_version_and_needs_no_other_operator() -> None:
    assert {one["kind"] for one in rendered(SETUPS["the base alone"])}.isdisjoint(
        FOREIGN.keys() | FROM_1_36
    )


@pytest.mark.parametrize(
    "path", [("strategy", "rollingUpdat"), ("template", "spec", "hostnetwork")]
)
def test_a_field_that_does_not_exist_is_found(path: tuple[str, ...]) -> None:
    (deployment,) = (
        one for one in rendered(SETUPS["the base alone"]) if one["kind"] == "Deployment"
    )
    broken: dict[str, Any] = copy.deepcopy(dict(deployment))
    place = broken["spec"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = True
    with pytest.raises(kubernetes_validate.ValidationError, match=path[-1]):
        fits(broken, VERSIONS[-1])
