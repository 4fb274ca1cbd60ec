"""Checks of the cluster around Shuntyard: versions, clocks and namespaces.

Source:
    https://kubernetes.io/releases/version-skew-policy/: kube-scheduler must not be newer than
    kube-apiserver, and may be one minor version older.
    https://kubernetes.io/docs/concepts/security/pod-security-admission/
"""

import re
from collections.abc import Iterator
from typing import Final

from cli import connection
from cli.doctor import site as sites
from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.reading import Object
from cli.doctor.replicas import nodes
from cli.doctor.site import AGENTS_NAMESPACE, INSTALL, SCHEDULER, Site
from shared.kube import paths

VERSIONS: Final = "versions"
CLOCK: Final = "clock"
NAMESPACES: Final = "namespaces"
TESTED: Final = ((1, 34), (1, 37))
"""The oldest and the newest Kubernetes that our tests run on."""
TOLERANCE_SECONDS: Final = 3.0
"""Latency, and time stamps of whole seconds."""
FAULT_SECONDS: Final = 60.0
"""From this difference on deadlines of checkpoints are missed."""
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_SYNCHRONISE: Final = "synchronise it, e.g. with chrony: `timedatectl` on that machine shows it"
_MINOR: Final = re.compile(r"v?(\d+)\.(\d+)")
_TAG: Final = re.compile(r":([\w][\w.-]{0,127})(?:@|$)")
_BUILD: Final = re.compile(rb'^shuntyard_build_info\{version="([^"]*)"\} 1', re.MULTILINE)


def check_versions(site: Site) -> Iterator[Finding]:
    """Read the API server's version, the tags of the images, and the extender's release."""
    version = site.reader.get("/version") or {}
    server = str(version.get("gitVersion", ""))
    yield of_server(server)
    images = sites.containers(site.deployment or {})
    if SCHEDULER in images:
        yield of_scheduler(tag(images[SCHEDULER]), server)
    answer = site.reader.answer(site.service.path("/metrics"))
    build = _BUILD.search(answer.body) if answer.status == connection.OK else None
    if build is not None:
        yield of_release(build[1].decode(), site.release)
    agents = sites.containers(site.daemon_set or {})
    if site.service.name in images or "extender" in images:
        yield from of_images(tag(images.get("extender", "")), tag(agents.get("agent", "")))


def of_server(version: str) -> Finding:
    """Judge the API server's version."""
    minor = _minor(version)
    if minor is None:
        return unknown(VERSIONS, f"the API server's version {version!r} cannot be parsed")
    first, last = TESTED
    if first <= minor <= last:
        return ok(VERSIONS, f"the API server answers, Kubernetes {version}")
    tested = f"{_text(first)} to {_text(last)}"
    message = f"Kubernetes is {version}, tested are {tested}"
    return warning(VERSIONS, message, "see docs/versions.md for what differs")


def of_scheduler(version: str, server: str) -> Finding:
    """Judge kube-scheduler's image against the API server."""
    mine, theirs = _minor(version), _minor(server)
    if mine is None or theirs is None:
        message = f"the tag of kube-scheduler's image is not a version: {version or 'none'!r}"
        return unknown(VERSIONS, message, f"use the tag of the API server's version, {server}")
    message, fix = f"kube-scheduler is {version}, the API server {server}", "use the image of"
    if mine > theirs:
        return fault(VERSIONS, f"{message}: it must not be newer", f"{fix} {server}")
    if mine < (theirs[0], theirs[1] - 1):
        return fault(VERSIONS, f"{message}: it may be one version older", f"{fix} {server}")
    return ok(VERSIONS, message)


def of_release(extender: str, command: str) -> Finding:
    """Judge the extender's release, from its metrics, against this command's."""
    if extender == command:
        return ok(VERSIONS, f"the extender and this command are release {command}")
    message = f"the extender is release {extender}, this command {command}"
    return warning(VERSIONS, message, f"install the command of release {extender}")


def of_images(extender: str, agent: str) -> Iterator[Finding]:
    """Judge the agents' image tag against the extender's; nothing if one is missing."""
    if extender and agent and extender != agent:
        message = f"the extender's image is {extender}, the agents' {agent}"
        yield warning(VERSIONS, message, "set both images to the same release")


def check_clock(site: Site) -> Iterator[Finding]:
    """Compare this machine, the API server and the extender: deadlines and tokens depend on it."""
    site.reader.get("/version")
    ahead = site.reader.ahead_seconds
    yield of_this_machine(ahead)
    answer = nodes(site)
    if answer is not None and ahead is not None:
        here = site.reader.clock.now()
        yield of_extender_clock(answer.generated_at - (here - ahead))


def of_this_machine(ahead_seconds: float | None) -> Finding:
    """Judge how far this machine is ahead of the API server."""
    if ahead_seconds is None:
        return unknown(CLOCK, "the API server's answer has no date")
    if abs(ahead_seconds) <= TOLERANCE_SECONDS:
        return ok(CLOCK, "this machine and the API server have the same time")
    message = f"this machine is {_off(ahead_seconds)} the API server"
    fix = f"{_SYNCHRONISE}; tokens and certificates may look expired"
    return warning(CLOCK, message, fix)


def of_extender_clock(ahead_seconds: float) -> Finding:
    """Judge how far the extender is ahead of the API server."""
    if abs(ahead_seconds) <= TOLERANCE_SECONDS:
        return ok(CLOCK, "the extender and the API server have the same time")
    message = f"the extender's node is {_off(ahead_seconds)} the API server"
    judge = fault if abs(ahead_seconds) > FAULT_SECONDS else warning
    return judge(CLOCK, message, _SYNCHRONISE)


def check_namespaces(site: Site) -> Iterator[Finding]:
    """Read the Pod Security levels of both namespaces."""
    extender = site.reader.get(paths.namespace(site.namespace))
    yield of_extender_namespace(site.namespace, extender)
    agents = site.reader.get(paths.namespace(AGENTS_NAMESPACE))
    yield of_agents_namespace(AGENTS_NAMESPACE, agents)


def of_extender_namespace(name: str, namespace: Object | None) -> Finding:
    """Judge the extender's: its pods need no privilege, so none should be allowed there."""
    if namespace is None:
        return fault(NAMESPACES, f"there is no namespace {name}", INSTALL)
    level = _security_level(namespace)
    if level == "restricted":
        return ok(NAMESPACES, f"{name} enforces the Pod Security level restricted")
    enforced = f"the Pod Security level {level}" if level else "the cluster's Pod Security level"
    fix = f"kubectl label namespace {name} {ENFORCE}=restricted --overwrite"
    return warning(NAMESPACES, f"{name} enforces {enforced}, not restricted", fix)


def of_agents_namespace(name: str, namespace: Object | None) -> Finding:
    """Judge the agents': they mount directories of their node."""
    if namespace is None:
        return fault(NAMESPACES, f"there is no namespace {name}", INSTALL)
    level = _security_level(namespace)
    if level == "privileged":
        return ok(NAMESPACES, f"{name} allows host paths (Pod Security level privileged)")
    fix = f"kubectl label namespace {name} {ENFORCE}=privileged --overwrite"
    if level:
        message = f"{name} enforces the Pod Security level {level}: agents' pods are refused"
        return fault(NAMESPACES, message, fix)
    message = f"{name} has no Pod Security level: the cluster's default may refuse agents' pods"
    return warning(NAMESPACES, message, fix)


def tag(image: str) -> str:
    """Return the tag of an image's name; empty if it has none."""
    match = _TAG.search(image.rpartition("/")[2])
    return match[1] if match else ""


def _minor(version: str) -> tuple[int, int] | None:
    match = _MINOR.match(version)
    return (int(match[1]), int(match[2])) if match else None


def _text(minor: tuple[int, int]) -> str:
    return f"{minor[0]}.{minor[1]}"


def _off(ahead_seconds: float) -> str:
    where = "ahead of" if ahead_seconds > 0 else "behind"
    return f"{abs(ahead_seconds):.0f} s {where}"


def _security_level(namespace: Object) -> str:
    return str((namespace["metadata"].get("labels") or {}).get(ENFORCE, ""))
