"""Is kube-scheduler configured as the extender needs it? docs/doctor.md says why it does."""

from collections.abc import Iterator
from typing import Any, Final

from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.reading import Object
from cli.doctor.site import SCHEDULER_KEY, Settings, Site
from shared import duration
from shared.errors import DurationError

CHECK: Final = "configuration"
BIND_WAIT_SECONDS: Final = 240.0
"""The extender's default of ``gang.bind_wait_seconds``."""
SCHEDULER_PORT: Final = 10261
"""Its default of ``scheduler.listen_port``."""
LONGEST_ANSWER_SECONDS: Final = 30.0
"""Filter and prioritize hold up kube-scheduler's one loop."""
DEFAULT_TIMEOUT: Final = "5s"
_PREEMPTION: Final = "DefaultPreemption"
_MEND: Final = "compare with deploy/base/scheduler.yaml, and restart the Deployment"

Problem = tuple[bool, str]
"""Whether it is a fault (else a warning), and what is wrong."""


def check(site: Site) -> Iterator[Finding]:
    """Read the ConfigMaps that the Deployment mounts."""
    if site.deployment is None:
        yield unknown(CHECK, "there is no Deployment to look at")
        return
    found = site.scheduler_config
    if found is None:
        said = f"no ConfigMap of the Deployment has {SCHEDULER_KEY}: kube-scheduler is elsewhere"
        mend = "look there yourself: docs/tls.md says what its configuration needs"
        yield unknown(CHECK, said, mend)
        return
    yield from of_the_file(found, site.settings)


def of_the_file(config: Object, settings: Settings) -> list[Finding]:
    """Judge kube-scheduler's configuration beside the extender's settings."""
    problems = [
        *_of_the_lease(config.get("leaderElection") or {}, settings),
        *_of_the_profiles(config.get("profiles") or [], settings.scheduler_name),
        *_of_the_sample(config),
        *_of_the_entries(config.get("extenders") or [], settings),
    ]
    if not problems:
        said = "two extender entries, one profile, the extender's Lease, no preemption"
        return [ok(CHECK, f"kube-scheduler's configuration fits: {said}")]
    return [(fault if bad else warning)(CHECK, said, _MEND) for bad, said in problems]


def _of_the_lease(election: Object, settings: Settings) -> Iterator[Problem]:
    if settings.of("lease", "hold", default=False):
        return
    if election.get("leaderElect") is False:
        yield True, "leaderElection.leaderElect is false: without the Lease nobody acts"
        return
    theirs = (
        election.get("resourceNamespace", "kube-system"),
        election.get("resourceName", "kube-scheduler"),
    )
    if theirs != settings.lease:
        ours = "/".join(settings.lease)
        yield (
            True,
            f"kube-scheduler holds the Lease {'/'.join(theirs)}, the extender looks at {ours}",
        )


def _of_the_profiles(profiles: list[Object], ours: str) -> Iterator[Problem]:
    names = [str(one.get("schedulerName", "default-scheduler")) for one in profiles]
    if ours not in names:
        yield True, f"no profile is called {ours}, which the extender takes for its own"
    for name in names:
        if name != ours:
            yield False, f"the profile {name} is not ours, and its pods come to the extender too"
    for one in profiles:
        if one.get("schedulerName") == ours and not _without_preemption(one.get("plugins") or {}):
            yield True, f"{_PREEMPTION} is on: kube-scheduler evicts pods without a checkpoint"


def _without_preemption(plugins: Object) -> bool:
    disabled = [
        one.get("name")
        for point in ("multiPoint", "postFilter")
        for one in (plugins.get(point) or {}).get("disabled") or ()
    ]
    enabled = [one.get("name") for one in (plugins.get("postFilter") or {}).get("enabled") or ()]
    return bool({_PREEMPTION, "*"} & {*disabled}) and _PREEMPTION not in enabled


def _of_the_sample(config: Object) -> Iterator[Problem]:
    stated = config.get("percentageOfNodesToScore")
    for profile in config.get("profiles") or ():
        stated = profile.get("percentageOfNodesToScore", stated)
    if stated != 100:  # noqa: PLR2004 - per cent
        said = f"percentageOfNodesToScore is {stated or 0}, not 100"
        yield False, f"{said}: kube-scheduler looks at a sample, which may miss the planned node"


def _of_the_entries(entries: list[Object], settings: Settings) -> Iterator[Problem]:
    asking = [one for one in entries if one.get("filterVerb")]
    binding = [one for one in entries if one.get("bindVerb")]
    if not asking:
        yield True, "no extender entry has a filterVerb: kube-scheduler does not ask"
    if not binding:
        yield True, "no extender entry has a bindVerb: gangs are not bound together"
    if any(not one.get("prioritizeVerb") for one in asking):
        yield False, "no prioritizeVerb beside filterVerb: among several nodes we have no say"
    for one in asking:
        yield from _of_the_question(one)
    for one in binding:
        yield from _of_the_binding(one, settings)
    for one in {id(one): one for one in (*asking, *binding)}.values():
        yield from _of_an_entry(one, settings)


def _of_the_question(entry: Object) -> Iterator[Problem]:
    waits = _seconds(entry)
    if waits is None or waits > LONGEST_ANSWER_SECONDS:
        said = f"the entry with filterVerb has httpTimeout {entry.get('httpTimeout')}"
        yield False, f"{said}: it holds up kube-scheduler's one loop; take 5s"


def _of_the_binding(entry: Object, settings: Settings) -> Iterator[Problem]:
    wait = float(settings.of("gang", "bind_wait_seconds", BIND_WAIT_SECONDS))
    waits = _seconds(entry)
    if waits is None or waits <= wait:
        said = (
            f"the entry with bindVerb has httpTimeout {entry.get('httpTimeout', DEFAULT_TIMEOUT)}"
        )
        yield True, f"{said}, a bind call waits {wait:g} s for its gang; take more"


def _of_an_entry(entry: Object, settings: Settings) -> Iterator[Problem]:
    verb = "filterVerb" if entry.get("filterVerb") else "bindVerb"
    if entry.get("nodeCacheCapable") is not True:
        yield (
            False,
            f"the entry with {verb} is not nodeCacheCapable: whole nodes are sent each time",
        )
    if entry.get("ignorable"):
        yield (
            True,
            f"the entry with {verb} is ignorable: gangs are torn while the extender restarts",
        )
    port = settings.of("scheduler", "listen_port", SCHEDULER_PORT)
    if not str(entry.get("urlPrefix", "")).rstrip("/").endswith(f":{port}"):
        yield True, f"the entry with {verb} calls {entry.get('urlPrefix')}, the port is {port}"


def _seconds(entry: Object) -> float | None:
    stated: Any = entry.get("httpTimeout", DEFAULT_TIMEOUT)
    try:
        return duration.parse(str(stated))
    except DurationError:
        return None
