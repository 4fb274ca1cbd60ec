"""Is the Lease held and renewed, by somebody who is ours? Its holder is who decides."""

import time
from collections.abc import Iterator
from typing import Any, Final

from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.reading import Object, Reader
from cli.doctor.site import Site
from cli.errors import UnreadableError
from shared.kube import paths, stamps

CHECK: Final = "lease"
SECOND_LOOK_SECONDS: Final = 5.0
"""kube-scheduler renews every two seconds."""
SKEW_SECONDS: Final = 3.0
_DURATION_SECONDS: Final = 15.0


def check(site: Site) -> Iterator[Finding]:
    """Read the Lease, a second time if it seems to be old, and who could hold it."""
    namespace, name = site.settings.lease
    path = paths.lease(namespace, name)
    found = site.reader.get(path)
    if found is None:
        said = f"there is no Lease {namespace}/{name}: nobody has ever acted"
        yield fault(
            CHECK, said, "look at `deployment` and `configuration`, and at the logs of both"
        )
        return
    spec, behind = found.get("spec") or {}, site.reader.ahead_seconds or 0.0
    age_seconds = site.reader.clock.now() - behind - stamps.parse(spec.get("renewTime"))
    renewed = age_seconds <= _lasts(spec) or _renewed(site.reader, path, spec)
    yield of_the_renewal(spec, age_seconds, renewed=renewed)
    if spec.get("holderIdentity"):
        yield of_the_holder(str(spec["holderIdentity"]), _hosts(site))


def of_the_renewal(spec: Object, age_seconds: float, *, renewed: bool) -> Finding:
    """Judge a Lease.

    Args:
        spec: Of the Lease.
        age_seconds: Of its renewal by the API server's clock.
        renewed: It is young, or was renewed while we looked.
    """
    holder = spec.get("holderIdentity")
    if not holder:
        mend = "is kube-scheduler running? Look at `deployment`, and at its log"
        return fault(CHECK, "nobody holds the Lease: nobody decides", mend)
    if not renewed:
        said = f"{holder} holds the Lease, and renewed it {age_seconds:.0f} s ago: nobody decides"
        return fault(CHECK, said, "look at the logs of both containers of that pod")
    if not -SKEW_SECONDS <= age_seconds <= _lasts(spec):
        where = "behind" if age_seconds > 0 else "ahead of"
        said = f"{holder}'s clock is {abs(age_seconds):.0f} s {where} the API server's"
        return warning(CHECK, said, "synchronise the clock of its node")
    return ok(CHECK, f"{holder} holds the Lease, and renews it")


def of_the_holder(holder: str, hosts: frozenset[str] | None) -> Finding:
    """Judge who holds it; ``hosts``: names of the extender's pods, None if they are not known."""
    host = holder.rpartition("_")[0] or holder
    if hosts is None:
        return unknown(CHECK, f"whether {host} is one of the extender's pods")
    if host in hosts:
        return ok(CHECK, f"{host} decides")
    said = f"{host} holds the Lease, and is none of the extender's pods: nobody decides"
    mend = "another kube-scheduler uses the same Lease: name it otherwise, or end it"
    return fault(CHECK, said, mend)


def _hosts(site: Site) -> frozenset[str] | None:
    try:
        pods = site.reader.items(paths.pods(site.namespace))
    except UnreadableError:
        return None
    return frozenset(
        pod["spec"].get("hostname") or pod["metadata"]["name"]
        for pod in pods
        if pod["spec"].get("serviceAccountName") == site.service.name
    )


def _renewed(reader: Reader, path: str, before: Object) -> bool:
    """Look until the renewal changes, or for as long as that may take."""
    until = reader.clock.monotonic() + SECOND_LOOK_SECONDS
    while reader.clock.monotonic() < until:
        time.sleep(0.5)
        spec: Any = (reader.fresh(path) or {}).get("spec") or {}
        if spec.get("renewTime") != before.get("renewTime"):
            return True
    return False


def _lasts(spec: Object) -> float:
    return float(spec.get("leaseDurationSeconds") or _DURATION_SECONDS)
