"""Checks of the schedulers: kube-scheduler's configuration, and others on the same nodes.

docs/doctor.md says why kube-scheduler must be configured like this. Only our planner honours our
reservations: what another scheduler places on our nodes takes room that is reserved.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from cli.doctor.findings import Finding, fault, ok, shortened, unknown, warning
from cli.doctor.reading import Object
from cli.doctor.site import SCHEDULER_KEY, Settings, Site
from shared import duration
from shared.errors import DurationError
from shared.kube import paths

CONFIGURATION: Final = "configuration"
NEIGHBOURS: Final = "neighbours"
BIND_WAIT_SECONDS: Final = 240.0
"""The extender's default of ``gang.bind_wait_seconds``."""
BURST_HOLD_SECONDS: Final = 0.8
"""Its default of ``gang.burst_hold_seconds``."""
ANSWER_AFTER_HOLD_SECONDS: Final = 2.0
"""By so much kube-scheduler must wait longer than an answer to filter is held."""
SCHEDULER_PORT: Final = 10261
"""Its default of ``scheduler.listen_port``."""
LONGEST_ANSWER_SECONDS: Final = 30.0
"""Filter and prioritize hold up kube-scheduler's one loop."""
DEFAULT_TIMEOUT: Final = "5s"
MOST_SCHEDULERS: Final = 5
IN_TREE_PLUGINS: Final = frozenset({
    "DefaultBinder", "DefaultPreemption", "DeferredPodScheduling", "DynamicResources",
    "GangScheduling", "ImageLocality", "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures",
    "NodeName", "NodePorts", "NodeResourcesBalancedAllocation", "NodeResourcesFit",
    "NodeUnschedulable", "NodeVolumeLimits", "PodGroupPodsCount", "PodTopologySpread",
    "PrioritySort", "SchedulingGates", "TaintToleration", "TopologyPlacementGenerator",
    "VolumeBinding", "VolumeRestrictions", "VolumeZone",
})  # fmt: skip
"""kube-scheduler's own plugins, by ``pkg/scheduler/framework/plugins/names`` of 1.34 to 1.37."""
_PREEMPTION: Final = "DefaultPreemption"
_FIX: Final = "compare with deploy/base/scheduler.yaml, and restart the Deployment"
_RUNNING: Final = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="
_OF_NODES: Final = frozenset({"DaemonSet", "Node"})
"""Owners of pods that run on every node; they do not count."""

Problem = tuple[bool, str]
"""Whether it is a fault (else a warning), and what is wrong."""


def check_configuration(site: Site) -> Iterator[Finding]:
    """Read the ConfigMaps that the Deployment mounts."""
    if site.deployment is None:
        yield unknown(CONFIGURATION, "there is no Deployment to check")
        return
    if site.scheduler_config is None:
        message = f"no ConfigMap of the Deployment has {SCHEDULER_KEY}: kube-scheduler is elsewhere"
        fix = "check it yourself: docs/tls.md lists what its configuration needs"
        yield unknown(CONFIGURATION, message, fix)
        return
    yield from of_file(site.scheduler_config, site.settings)


def of_file(config: Object, settings: Settings) -> list[Finding]:
    """Judge kube-scheduler's configuration against the extender's settings."""
    problems = [
        *_of_lease(config.get("leaderElection") or {}, settings),
        *_of_profiles(config.get("profiles") or [], settings.scheduler_name),
        *_of_sample(config),
        *_of_bursts(config.get("profiles") or [], settings),
        *_of_entries(config.get("extenders") or [], settings),
    ]
    if not problems:
        facts = "two extender entries, one profile, the extender's Lease, no preemption"
        return [ok(CONFIGURATION, f"kube-scheduler's configuration fits: {facts}")]
    return [(fault if bad else warning)(CONFIGURATION, text, _FIX) for bad, text in problems]


def check_neighbours(site: Site) -> Iterator[Finding]:
    """List our running pods, then all others that run."""
    name = site.settings.scheduler_name
    ours = site.reader.items(paths.PODS, fieldSelector=f"spec.schedulerName={name},{_RUNNING}")
    theirs = site.reader.items(paths.PODS, fieldSelector=f"spec.schedulerName!={name},{_RUNNING}")
    yield of_running_pods(ours, theirs)


def of_running_pods(ours: Iterable[Object], theirs: Iterable[Object]) -> Finding:
    """Judge running pods by their nodes."""
    nodes = {pod["spec"]["nodeName"] for pod in ours}
    shared = [pod for pod in theirs if pod["spec"]["nodeName"] in nodes and _counts(pod)]
    if not shared:
        message = f"no other scheduler places pods on nodes of our pods ({len(nodes)})"
        return ok(NEIGHBOURS, message)
    by_name = Counter(_scheduler(pod) for pod in shared)
    names = ", ".join(f"{count} of {name}" for name, count in by_name.most_common(MOST_SCHEDULERS))
    where = shortened(sorted({pod["spec"]["nodeName"] for pod in shared}))
    message = f"pods of other schedulers share nodes with ours ({names}; on {where})"
    fix = "reserve nodes for training with a taint: docs/coexistence.md"
    return warning(NEIGHBOURS, message, fix)


def _of_lease(election: Object, settings: Settings) -> Iterator[Problem]:
    if settings.of("lease", "hold", default=False):
        return
    if election.get("leaderElect") is False:
        yield True, "leaderElection.leaderElect is false: without the Lease there is no leader"
        return
    theirs = (
        election.get("resourceNamespace", "kube-system"),
        election.get("resourceName", "kube-scheduler"),
    )
    if theirs != settings.lease:
        held, watched = "/".join(theirs), "/".join(settings.lease)
        yield True, f"kube-scheduler holds the Lease {held}, but the extender watches {watched}"


def _of_profiles(profiles: list[Object], ours: str) -> Iterator[Problem]:
    names = [str(profile.get("schedulerName", "default-scheduler")) for profile in profiles]
    if ours not in names:
        yield True, f"there is no profile {ours}, the scheduler name of the extender's pods"
    for name in names:
        if name != ours:
            yield False, f"the pods of another profile, {name}, are sent to the extender too"
    for profile in profiles:
        if profile.get("schedulerName") == ours and not _disables_preemption(profile):
            yield True, f"{_PREEMPTION} is on: kube-scheduler evicts pods without a checkpoint"


def _disables_preemption(profile: Object) -> bool:
    plugins = profile.get("plugins") or {}
    disabled = {
        plugin.get("name")
        for point in ("multiPoint", "postFilter")
        for plugin in (plugins.get(point) or {}).get("disabled") or ()
    }
    enabled = [
        plugin.get("name") for plugin in (plugins.get("postFilter") or {}).get("enabled") or ()
    ]
    return bool({_PREEMPTION, "*"} & disabled) and _PREEMPTION not in enabled


def _of_bursts(profiles: list[Object], settings: Settings) -> Iterator[Problem]:
    """Yield what kube-scheduler does for each pod and a burst does not (ADR 17)."""
    if not _hold_seconds(settings):
        return
    off = "set gang.burst_hold_seconds to 0"
    for profile in profiles:
        name = profile.get("schedulerName", "default-scheduler")
        if more := sorted(_plugins(profile) - IN_TREE_PLUGINS):
            text = f"profile {name} has the plugins {', '.join(more)}"
            yield False, f"{text}, which pods that we bind in bursts do not pass: {off}"
        if any(map(_spreads, profile.get("pluginConfig") or ())):
            text = f"profile {name} has default constraints of PodTopologySpread"
            yield False, f"{text}, which we do not know when we bind in bursts: {off}"


def _plugins(profile: Object) -> set[str]:
    points = (profile.get("plugins") or {}).values()
    enabled = (plugin for point in points for plugin in (point or {}).get("enabled") or ())
    return {str(plugin.get("name")) for plugin in enabled}


def _spreads(config: Object) -> bool:
    """Return True if a plugin's arguments are constraints that nodes must meet."""
    if config.get("name") != "PodTopologySpread":
        return False
    constraints = (config.get("args") or {}).get("defaultConstraints") or ()
    return any(one.get("whenUnsatisfiable") == "DoNotSchedule" for one in constraints)


def _hold_seconds(settings: Settings) -> float:
    return float(settings.of("gang", "burst_hold_seconds", BURST_HOLD_SECONDS))


def _of_sample(config: Object) -> Iterator[Problem]:
    percentage = config.get("percentageOfNodesToScore")
    for profile in config.get("profiles") or ():
        percentage = profile.get("percentageOfNodesToScore", percentage)
    if percentage != 100:  # noqa: PLR2004 - per cent
        text = f"percentageOfNodesToScore is {percentage or 0}, not 100"
        yield False, f"{text}: kube-scheduler offers a sample, which may lack the planned node"


def _of_entries(entries: list[Object], settings: Settings) -> Iterator[Problem]:
    filters = [entry for entry in entries if entry.get("filterVerb")]
    binders = [entry for entry in entries if entry.get("bindVerb")]
    if not filters:
        yield True, "no extender entry has a filterVerb: kube-scheduler does not call the extender"
    if not binders:
        yield True, "no extender entry has a bindVerb: gangs are not bound together"
    if any(not entry.get("prioritizeVerb") for entry in filters):
        yield False, "no prioritizeVerb beside filterVerb: our scores of nodes have no effect"
    for entry in filters:
        yield from _of_filter(entry, settings)
    for entry in binders:
        yield from _of_binder(entry, settings)
    for entry in {id(entry): entry for entry in (*filters, *binders)}.values():
        yield from _of_entry(entry, settings)


def _of_filter(entry: Object, settings: Settings) -> Iterator[Problem]:
    timeout = _timeout(entry)
    hold = _hold_seconds(settings)
    if hold and timeout is not None and timeout < hold + ANSWER_AFTER_HOLD_SECONDS:
        text = f"the entry with filterVerb has httpTimeout {entry.get('httpTimeout')}"
        least = hold + ANSWER_AFTER_HOLD_SECONDS
        yield True, f"{text}, but an answer may be held for {hold:g} s; use at least {least:g}s"
    if timeout is None or timeout > LONGEST_ANSWER_SECONDS:
        text = f"the entry with filterVerb has httpTimeout {entry.get('httpTimeout')}"
        yield False, f"{text}: it holds up kube-scheduler's one loop; use 5s"


def _of_binder(entry: Object, settings: Settings) -> Iterator[Problem]:
    wait = float(settings.of("gang", "bind_wait_seconds", BIND_WAIT_SECONDS))
    timeout = _timeout(entry)
    if timeout is None or timeout <= wait:
        stated = entry.get("httpTimeout", DEFAULT_TIMEOUT)
        text = f"the entry with bindVerb has httpTimeout {stated}"
        yield True, f"{text}, but a bind call waits {wait:g} s for its gang; use more"


def _of_entry(entry: Object, settings: Settings) -> Iterator[Problem]:
    named = f"the entry with {'filterVerb' if entry.get('filterVerb') else 'bindVerb'}"
    if entry.get("nodeCacheCapable") is not True:
        yield False, f"{named} is not nodeCacheCapable: whole nodes are sent with each call"
    if entry.get("ignorable"):
        yield True, f"{named} is ignorable: gangs are torn apart while the extender restarts"
    port = settings.of("scheduler", "listen_port", SCHEDULER_PORT)
    if not str(entry.get("urlPrefix", "")).rstrip("/").endswith(f":{port}"):
        yield True, f"{named} calls {entry.get('urlPrefix')}, but the port is {port}"


def _timeout(entry: Object) -> float | None:
    stated: Any = entry.get("httpTimeout", DEFAULT_TIMEOUT)
    try:
        return duration.parse(str(stated))
    except DurationError:
        return None


def _counts(pod: Object) -> bool:
    """Return True if the pod requests resources and a scheduler chose its node."""
    owners = pod["metadata"].get("ownerReferences") or ()
    if any(owner.get("kind") in _OF_NODES for owner in owners):
        return False
    containers = pod["spec"].get("containers") or ()
    return any((container.get("resources") or {}).get("requests") for container in containers)


def _scheduler(pod: Object) -> str:
    return str(pod["spec"].get("schedulerName") or "default-scheduler")
