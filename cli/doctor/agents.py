"""Do the agents run on every node, and are they heard?"""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.read_api import nodes
from cli.doctor.reading import Object
from cli.doctor.site import AGENT, AGENTS_NAMESPACE, INSTALL, Site
from shared.api import NodeEntry

CHECK: Final = "agents"
MOST_NAMES: Final = 5
_LOGS: Final = f"kubectl -n {AGENTS_NAMESPACE} logs daemonset/{AGENT}"


def check(site: Site) -> Iterator[Finding]:
    """Read the DaemonSet, and ask the extender whom it hears."""
    found = site.daemon_set
    if found is None:
        said = f"there is no DaemonSet {AGENT} in the namespace {AGENTS_NAMESPACE}"
        yield fault(CHECK, f"{said}: nothing is known of training", INSTALL)
    else:
        yield of_the_pods(found.get("status") or {})
    answer = nodes(site)
    if answer is not None:
        yield of_the_heartbeats(answer.entries)


def of_the_pods(status: Object) -> Finding:
    """Judge the DaemonSet's ``status``."""
    wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    if ready >= wanted > 0:
        return ok(CHECK, f"{ready} of {wanted} agents are ready")
    said = f"{ready} of {wanted} agents are ready"
    judge = warning if ready else fault
    return judge(CHECK, said, f"kubectl -n {AGENTS_NAMESPACE} describe pods")


def of_the_heartbeats(entries: Iterable[NodeEntry]) -> Finding:
    """Judge what the extender hears of nodes that are ready."""
    ready = [one for one in entries if one.ready]
    silent = [one.name for one in ready if one.agent is None or one.agent.stale]
    if not ready:
        return warning(CHECK, "there is no node that is ready", "kubectl get nodes")
    if not silent:
        return ok(CHECK, f"the extender hears the agents of all {len(ready)} nodes that are ready")
    names = ", ".join(silent[:MOST_NAMES]) + (" …" if len(silent) > MOST_NAMES else "")
    said = f"the extender hears no agent on {len(silent)} of {len(ready)} ready nodes: {names}"
    judge = fault if len(silent) == len(ready) else warning
    return judge(CHECK, said, f"{_LOGS}; `certificates` is the most frequent cause")
