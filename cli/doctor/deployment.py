"""Do the replicas of the extender run?"""

from collections.abc import Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import INSTALL, Site

CHECK: Final = "deployment"


def check(site: Site) -> Iterator[Finding]:
    """Read the Deployment."""
    name, namespace = site.service.name, site.namespace
    found = site.deployment
    if found is None:
        said = f"there is no Deployment {name} in the namespace {namespace}"
        yield fault(CHECK, said, f"{INSTALL}; or say with --service where it is")
        return
    yield of_the_replicas(found, f"kubectl -n {namespace} describe pods -l {_selector(found)}")


def of_the_replicas(deployment: Object, look: str) -> Finding:
    """Judge a Deployment; ``look``: the command that shows why pods are not ready."""
    meta, spec = deployment["metadata"], deployment["spec"]
    status = deployment.get("status") or {}
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    of = f"{ready} of {wanted} replicas are ready"
    if not wanted:
        return fault(CHECK, "it is scaled to no replicas", "scale it to 2")
    if not ready:
        return fault(CHECK, of, look)
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        return warning(CHECK, f"{of}, and the last change is not looked at yet", "wait, ask again")
    if ready < wanted or status.get("updatedReplicas", 0) < wanted:
        return warning(CHECK, f"{of}, {status.get('updatedReplicas', 0)} are up to date", look)
    if wanted == 1:
        mend = "scale it to 2; docs/high-availability.md"
        return warning(CHECK, "the only replica is ready: while it restarts, nobody decides", mend)
    return ok(CHECK, of)


def _selector(deployment: Object) -> str:
    labels = (deployment["spec"].get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in labels.items())
