"""Checks of the agents: they run and report on every node, and mount a usable volume."""

from collections.abc import Iterable, Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok, shortened, unknown, warning
from cli.doctor.reading import Object
from cli.doctor.replicas import nodes
from cli.doctor.site import AGENT, AGENTS_NAMESPACE, INSTALL, Site, mounted, pod_spec
from shared.gpu_faults import faults
from shared.kube import paths
from shared.readapi.api import NodeEntry

AGENTS: Final = "agents"
VOLUME: Final = "volume"
_AUDIENCE: Final = "shuntyard-extender"
_ACCOUNT: Final = f"system:serviceaccount:{AGENTS_NAMESPACE}:{AGENT}"
"""The extender's defaults (``agents.audience``, ``agents.accounts``)."""
_READ_WRITE_MANY: Final = "ReadWriteMany"
_LOGS: Final = f"kubectl -n {AGENTS_NAMESPACE} logs daemonset/{AGENT}"


def check_agents(site: Site) -> Iterator[Finding]:
    """Read the DaemonSet, and ask the extender which agents report."""
    if site.daemon_set is None:
        problem = f"there is no DaemonSet {AGENT} in the namespace {AGENTS_NAMESPACE}"
        yield fault(AGENTS, f"{problem}: training progress is unknown", INSTALL)
    else:
        yield of_pods(site.daemon_set.get("status") or {})
        yield from of_token(site)
    answer = nodes(site)
    if answer is not None:
        yield of_heartbeats(answer.entries)
        yield from of_gpus(answer.entries)


def of_pods(status: Object) -> Finding:
    """Judge the DaemonSet's ``status``."""
    desired, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    message = f"{ready} of {desired} agents are ready"
    if ready >= desired > 0:
        return ok(AGENTS, message)
    judge = warning if ready else fault
    return judge(AGENTS, message, f"kubectl -n {AGENTS_NAMESPACE} describe pods")


def of_token(site: Site) -> Iterator[Finding]:
    """Judge the token by which the extender knows an agent; nothing if it is right."""
    wanted = str(site.settings.of("agents", "audience", _AUDIENCE))
    spec = pod_spec(site.daemon_set or {})
    sources = [one for volume in spec.get("volumes") or () for one in _sources(volume)]
    audiences = [one["serviceAccountToken"].get("audience", "") for one in sources]
    if not audiences:
        message = "the agents mount no token of their ServiceAccount: the extender refuses them"
        yield fault(AGENTS, message, INSTALL)
    elif wanted not in audiences:
        named = ", ".join(audiences) or "the API server"
        message = f"the agents' token is for {named}, and agents.audience is {wanted}"
        yield fault(AGENTS, f"{message}: the extender refuses them", INSTALL)
    account = f"system:serviceaccount:{AGENTS_NAMESPACE}:{spec.get('serviceAccountName')}"
    accounts = site.settings.of("agents", "accounts", [_ACCOUNT])
    if account not in accounts:
        message = f"the agents run as {account}, which agents.accounts does not have"
        yield fault(AGENTS, f"{message}: the extender refuses them", INSTALL)


def _sources(volume: Object) -> Iterator[Object]:
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            yield source


def of_heartbeats(entries: Iterable[NodeEntry]) -> Finding:
    """Judge the heartbeats that the extender receives from ready nodes."""
    ready = [node for node in entries if node.ready]
    silent = [node.name for node in ready if node.agent is None or node.agent.stale]
    if not ready:
        return warning(AGENTS, "no node is ready", "kubectl get nodes")
    if not silent:
        return ok(AGENTS, f"the agents of all {len(ready)} ready nodes report to the extender")
    count = f"{len(silent)} of {len(ready)} ready nodes"
    message = f"no agent reports to the extender from {count}: {shortened(silent)}"
    judge = fault if len(silent) == len(ready) else warning
    return judge(AGENTS, message, f"{_LOGS}; `certificates` is the most frequent cause")


def of_gpus(entries: Iterable[NodeEntry]) -> Iterator[Finding]:
    """Judge the GPUs that agents read; nothing where none does."""
    read = {node.name: node.agent.gpus for node in entries if node.agent and node.agent.gpus}
    found = {name: ", ".join(faults(gpus)) for name, gpus in read.items()}
    faulty = [f"{name}: {words}" for name, words in found.items() if words]
    if faulty:
        fix = "keep jobs off such a node with kubectl cordon; docs/sampling.md, Faults of GPUs"
        yield warning(AGENTS, f"GPUs have faults: {shortened(faulty)}", fix)
    elif read:
        count = f"{len(read)} node{'' if len(read) == 1 else 's'}"
        yield ok(AGENTS, f"the agents of {count} read GPUs, which have no faults")


def check_volume(site: Site) -> Iterator[Finding]:
    """Read the claims that the agents mount for metrics and checkpoints of jobs."""
    if site.daemon_set is None:
        yield unknown(VOLUME, "there is no DaemonSet to check")
        return
    names = list(mounted(site.daemon_set, "persistentVolumeClaim", "claimName"))
    if not names:
        message = "the agents mount no volume claim: they read logs, but request no checkpoints"
        yield warning(VOLUME, message, "docs/install.md, the volume")
    desired = (site.daemon_set.get("status") or {}).get("desiredNumberScheduled", 0)
    for name in names:
        path = paths.namespaced(paths.VOLUME_CLAIMS, AGENTS_NAMESPACE, name)
        yield of_claim(name, site.reader.get(path), desired)


def of_claim(name: str, claim: Object | None, nodes: int) -> Finding:
    """Judge a claim that agents on so many nodes mount."""
    named = f"the claim {name} in the namespace {AGENTS_NAMESPACE}"
    if claim is None:
        fix = "create it, on a ReadWriteMany volume: overlays demo-pv and nfs are examples"
        return fault(VOLUME, f"{named} does not exist: no agent starts", fix)
    phase = (claim.get("status") or {}).get("phase", "Pending")
    if phase != "Bound":
        fix = f"kubectl -n {AGENTS_NAMESPACE} describe pvc {name}"
        return fault(VOLUME, f"{named} is {phase}, not Bound: no agent starts", fix)
    modes = (claim.get("spec") or {}).get("accessModes") or []
    if nodes > 1 and _READ_WRITE_MANY not in modes:
        message = f"{named} is bound, but {', '.join(modes)}: not every node can write to it"
        return warning(VOLUME, message, "use a ReadWriteMany volume")
    return ok(VOLUME, f"{named} is bound")
