"""Is the volume there where jobs keep metrics and checkpoints, and can all nodes mount it?"""

from collections.abc import Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.reading import Object
from cli.doctor.site import AGENTS_NAMESPACE, Site, mounted
from shared.kube import paths

CHECK: Final = "volume"
MANY: Final = frozenset({"ReadWriteMany"})


def check(site: Site) -> Iterator[Finding]:
    """Read the claims that the agents mount."""
    if site.daemon_set is None:
        yield unknown(CHECK, "there is no DaemonSet to look at")
        return
    names = list(mounted(site.daemon_set, "persistentVolumeClaim", "claimName"))
    if not names:
        said = (
            "the agents mount no volume claim: they read logs, and no checkpoint can be asked for"
        )
        yield warning(CHECK, said, "docs/install.md, the volume")
    wanted = (site.daemon_set.get("status") or {}).get("desiredNumberScheduled", 0)
    for name in names:
        path = paths.namespaced(paths.VOLUME_CLAIMS, AGENTS_NAMESPACE, name)
        yield of_the_claim(name, site.reader.get(path), wanted)


def of_the_claim(name: str, claim: Object | None, nodes: int) -> Finding:
    """Judge a claim that agents of so many nodes mount."""
    named = f"the claim {name} in the namespace {AGENTS_NAMESPACE}"
    if claim is None:
        mend = "make it, on a ReadWriteMany volume: overlays demo-pv and nfs are examples"
        return fault(CHECK, f"{named} is not there: no agent starts", mend)
    phase = (claim.get("status") or {}).get("phase", "Pending")
    if phase != "Bound":
        mend = f"kubectl -n {AGENTS_NAMESPACE} describe pvc {name}"
        return fault(CHECK, f"{named} is {phase}, not Bound: no agent starts", mend)
    modes = (claim.get("spec") or {}).get("accessModes") or []
    if nodes > 1 and not MANY & {*modes}:
        said = f"{named} is bound, but {', '.join(modes)}: not every node can write to it"
        return warning(CHECK, said, "use a ReadWriteMany volume")
    return ok(CHECK, f"{named} is bound")
