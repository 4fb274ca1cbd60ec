"""Does the API server answer, and do the versions of all parts go together?

Source:
    https://kubernetes.io/releases/version-skew-policy/: kube-scheduler must not be newer than
    kube-apiserver, and may be one minor version older.
"""

import re
from collections.abc import Iterator
from typing import Final

from cli import connection
from cli.doctor import site as sites
from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.site import Site

CHECK: Final = "versions"
TESTED: Final = ((1, 34), (1, 36))
"""The oldest and the newest Kubernetes that our tests run on."""
SCHEDULER: Final = "kube-scheduler"

_MINOR: Final = re.compile(r"v?(\d+)\.(\d+)")
_TAG: Final = re.compile(r":([\w][\w.-]{0,127})(?:@|$)")
_BUILD: Final = re.compile(rb'^shuntyard_build_info\{version="([^"]*)"\} 1', re.MULTILINE)


def check(site: Site) -> Iterator[Finding]:
    """Ask the API server, look at the images, ask the extender for its release."""
    found = site.reader.get("/version") or {}
    server = str(found.get("gitVersion", ""))
    yield of_the_server(server)
    images = sites.containers(site.deployment or {})
    if SCHEDULER in images:
        yield of_the_scheduler(tag(images[SCHEDULER]), server)
    answer = site.reader.answer(site.service.path("/metrics"))
    runs = _BUILD.search(answer.body) if answer.status == connection.OK else None
    if runs is not None:
        yield of_this_command(runs[1].decode(), site.release)
    agents = sites.containers(site.daemon_set or {})
    if site.service.name in images or "extender" in images:
        yield from of_the_images(tag(images.get("extender", "")), tag(agents.get("agent", "")))


def of_the_server(version: str) -> Finding:
    """Judge the API server's version."""
    minor = _minor(version)
    if minor is None:
        return unknown(CHECK, f"the API server's version {version!r} cannot be read")
    first, last = TESTED
    if first <= minor <= last:
        return ok(CHECK, f"the API server answers, Kubernetes {version}")
    tested = f"{_text(first)} to {_text(last)}"
    said = f"Kubernetes is {version}, tested are {tested}"
    return warning(CHECK, said, "see docs/versions.md for what differs")


def of_the_scheduler(version: str, server: str) -> Finding:
    """Judge kube-scheduler's image against the API server."""
    mine, theirs = _minor(version), _minor(server)
    if mine is None or theirs is None:
        said = f"the image of kube-scheduler has no version for a tag: {version or 'none'!r}"
        return unknown(CHECK, said, f"use the tag of the API server's version, {server}")
    said = f"kube-scheduler is {version}, the API server {server}"
    if mine > theirs:
        return fault(CHECK, f"{said}: it must not be newer", f"use the image of {server}")
    if mine < (theirs[0], theirs[1] - 1):
        return fault(CHECK, f"{said}: it may be one version older", f"use the image of {server}")
    return ok(CHECK, said)


def of_this_command(runs: str, mine: str) -> Finding:
    """Judge the extender's release, as it says it itself, against this command's."""
    if runs == mine:
        return ok(CHECK, f"the extender and this command are release {mine}")
    said = f"the extender is release {runs}, this command {mine}"
    return warning(CHECK, said, f"install the command of release {runs}")


def of_the_images(extender: str, agent: str) -> Iterator[Finding]:
    """Judge the agents' image tag against the extender's; nothing if there is none to compare."""
    if extender and agent and extender != agent:
        said = f"the extender's image is {extender}, the agents' {agent}"
        yield warning(CHECK, said, "set both images to the same release")


def tag(image: str) -> str:
    """Return the tag of an image's name; empty if it has none."""
    found = _TAG.search(image.rpartition("/")[2])
    return found[1] if found else ""


def _minor(version: str) -> tuple[int, int] | None:
    found = _MINOR.match(version)
    return (int(found[1]), int(found[2])) if found else None


def _text(minor: tuple[int, int]) -> str:
    return f"{minor[0]}.{minor[1]}"
