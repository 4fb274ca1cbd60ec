"""Do other schedulers place pods on the nodes where ours run?

Only our own planner honours our reservations: what others place there takes rooms that we keep.
Pods of DaemonSets and of nodes themselves are everywhere and do not count.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from cli.doctor.findings import Finding, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import Site
from shared.kube import paths

CHECK: Final = "neighbours"
MOST_NAMES: Final = 5
_RUNNING: Final = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="
_OF_NODES: Final = frozenset({"DaemonSet", "Node"})


def check(site: Site) -> Iterator[Finding]:
    """List our pods that run, then all others that do."""
    name = site.settings.scheduler_name
    ours = site.reader.items(paths.PODS, fieldSelector=f"spec.schedulerName={name},{_RUNNING}")
    theirs = site.reader.items(paths.PODS, fieldSelector=f"spec.schedulerName!={name},{_RUNNING}")
    yield of_the_pods(ours, theirs)


def of_the_pods(ours: Iterable[Object], theirs: Iterable[Object]) -> Finding:
    """Judge pods that run, by their nodes."""
    nodes = {pod["spec"]["nodeName"] for pod in ours}
    strangers = [pod for pod in theirs if pod["spec"]["nodeName"] in nodes and _counts(pod)]
    if not strangers:
        return ok(CHECK, f"nobody else places pods on the {len(nodes)} nodes where ours run")
    by_name = Counter(_scheduler(pod) for pod in strangers)
    who = ", ".join(f"{count} of {name}" for name, count in by_name.most_common(MOST_NAMES))
    where = sorted({pod["spec"]["nodeName"] for pod in strangers})
    names = ", ".join(where[:MOST_NAMES]) + (" …" if len(where) > MOST_NAMES else "")
    said = f"pods of other schedulers share nodes with ours ({who}; on {names})"
    return warning(CHECK, said, "give training nodes of their own, by a taint: docs/coexistence.md")


def _counts(pod: Object) -> bool:
    """Say whether it asks for something, and somebody chose its node."""
    owners = pod["metadata"].get("ownerReferences") or ()
    if any(one.get("kind") in _OF_NODES for one in owners):
        return False
    return any(
        (one.get("resources") or {}).get("requests") for one in pod["spec"].get("containers") or ()
    )


def _scheduler(pod: Object) -> str:
    return str(pod["spec"].get("schedulerName") or "default-scheduler")
