"""Are the namespaces there, with the Pod Security level that their pods need?

Source:
    https://kubernetes.io/docs/concepts/security/pod-security-admission/
"""

from collections.abc import Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import AGENTS_NAMESPACE, INSTALL, Site
from shared.kube import paths

CHECK: Final = "namespaces"
ENFORCE: Final = "pod-security.kubernetes.io/enforce"


def check(site: Site) -> Iterator[Finding]:
    """Read both."""
    yield of_the_extender(site.namespace, site.reader.get(paths.namespace(site.namespace)))
    yield of_the_agents(AGENTS_NAMESPACE, site.reader.get(paths.namespace(AGENTS_NAMESPACE)))


def of_the_extender(name: str, found: Object | None) -> Finding:
    """Judge the extender's: it needs nothing, so nothing should be allowed there."""
    if found is None:
        return fault(CHECK, f"there is no namespace {name}", INSTALL)
    level = _level(found)
    if level == "restricted":
        return ok(CHECK, f"{name} enforces the Pod Security level restricted")
    said = f"{name} enforces the Pod Security level {level or 'of the cluster'}, not restricted"
    return warning(CHECK, said, f"kubectl label namespace {name} {ENFORCE}=restricted --overwrite")


def of_the_agents(name: str, found: Object | None) -> Finding:
    """Judge the agents': they mount directories of their node."""
    if found is None:
        return fault(CHECK, f"there is no namespace {name}", INSTALL)
    level = _level(found)
    if level == "privileged":
        return ok(CHECK, f"{name} allows host paths (Pod Security level privileged)")
    mend = f"kubectl label namespace {name} {ENFORCE}=privileged --overwrite"
    if level:
        said = f"{name} enforces the Pod Security level {level}: agents' pods are refused"
        return fault(CHECK, said, mend)
    said = f"{name} has no Pod Security level: the cluster's default may refuse agents' pods"
    return warning(CHECK, said, mend)


def _level(found: Object) -> str:
    return str((found["metadata"].get("labels") or {}).get(ENFORCE, ""))
