"""Checks of the extender's replicas: they run, one of them is the leader, and they answer."""

import time
from collections.abc import Iterator
from typing import Any, Final

from cli import by_service, client, connection
from cli.connection import AnyApiServer
from cli.doctor import reading
from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.reading import FORBIDDEN, Object, Reader
from cli.doctor.site import INSTALL, Site
from cli.errors import UnansweredError, UnreadableError
from shared.kube import errors, paths, stamps
from shared.readapi import api

DEPLOYMENT: Final = "deployment"
LEASE: Final = "lease"
READ_API: Final = "read-api"
SECOND_LOOK_SECONDS: Final = 5.0
"""kube-scheduler renews its Lease every two seconds."""
SKEW_SECONDS: Final = 3.0
_DURATION_SECONDS: Final = 15.0


def check_deployment(site: Site) -> Iterator[Finding]:
    """Read the Deployment."""
    name, namespace = site.service.name, site.namespace
    if site.deployment is None:
        message = f"there is no Deployment {name} in the namespace {namespace}"
        yield fault(DEPLOYMENT, message, f"{INSTALL}; or name its Service with --service")
        return
    look = f"kubectl -n {namespace} describe pods -l {_selector(site.deployment)}"
    yield of_deployment(site.deployment, look)


def of_deployment(deployment: Object, look: str) -> Finding:
    """Judge a Deployment; ``look``: the command that shows why pods are not ready."""
    meta, spec = deployment["metadata"], deployment["spec"]
    status = deployment.get("status") or {}
    desired, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    updated = status.get("updatedReplicas", 0)
    message = f"{ready} of {desired} replicas are ready"
    if not desired:
        return fault(DEPLOYMENT, "it is scaled to 0 replicas", "scale it to 2")
    if not ready:
        return fault(DEPLOYMENT, message, look)
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        message = f"{message}; the last change is not rolled out yet"
        return warning(DEPLOYMENT, message, "wait, then run doctor again")
    if ready < desired or updated < desired:
        return warning(DEPLOYMENT, f"{message}, {updated} are up to date", look)
    if desired == 1:
        message = "the only replica is ready: there is no leader while it restarts"
        return warning(DEPLOYMENT, message, "scale it to 2; docs/high-availability.md")
    return ok(DEPLOYMENT, message)


def check_lease(site: Site) -> Iterator[Finding]:
    """Read the Lease, a second time if it looks old, and the pods that may hold it."""
    namespace, name = site.settings.lease
    path = paths.lease(namespace, name)
    lease = site.reader.get(path)
    if lease is None:
        message = f"there is no Lease {namespace}/{name}: there has never been a leader"
        fix = "look at `deployment` and `configuration`, and at the logs of both containers"
        yield fault(LEASE, message, fix)
        return
    spec, behind = lease.get("spec") or {}, site.reader.ahead_seconds or 0.0
    age_seconds = site.reader.clock.now() - behind - stamps.parse(spec.get("renewTime"))
    renewed = age_seconds <= _duration(spec) or _is_renewed(site.reader, path, spec)
    yield of_renewal(spec, age_seconds, renewed=renewed)
    if spec.get("holderIdentity"):
        hosts = None if site.deployment is None else _hosts(site)
        yield of_holder(str(spec["holderIdentity"]), hosts)


def of_renewal(spec: Object, age_seconds: float, *, renewed: bool) -> Finding:
    """Judge a Lease.

    Args:
        spec: Of the Lease.
        age_seconds: Since its renewal, by the API server's clock.
        renewed: It is young, or was renewed during the check.
    """
    holder = spec.get("holderIdentity")
    if not holder:
        fix = "is kube-scheduler running? Look at `deployment`, and at its log"
        return fault(LEASE, "the Lease has no holder: there is no leader", fix)
    if not renewed:
        message = f"{holder} holds the Lease, but renewed it {age_seconds:.0f} s ago"
        fix = "look at the logs of both containers of that pod"
        return fault(LEASE, f"{message}: there is no leader", fix)
    if not -SKEW_SECONDS <= age_seconds <= _duration(spec):
        where = "behind" if age_seconds > 0 else "ahead of"
        message = f"{holder}'s clock is {abs(age_seconds):.0f} s {where} the API server's"
        return warning(LEASE, message, "synchronise the clock of its node")
    return ok(LEASE, f"{holder} holds the Lease and renews it")


def of_holder(holder: str, hosts: frozenset[str] | None) -> Finding:
    """Judge the holder; ``hosts``: names of the extender's pods, None if they are not known."""
    host = holder.rpartition("_")[0] or holder
    if hosts is None:
        return unknown(LEASE, f"whether {host} is one of the extender's pods")
    if host in hosts:
        return ok(LEASE, f"{host} is the leader")
    message = f"{host} holds the Lease but is not a pod of the extender: there is no leader"
    fix = "another kube-scheduler uses the same Lease: give it another name, or stop it"
    return fault(LEASE, message, fix)


def check_read_api(site: Site) -> Iterator[Finding]:
    """Read the queue through the API server's service proxy."""
    answer = site.reader.answer(site.service.path("/v1/queue"))
    if answer.status == connection.OK:
        yield of_queue(client.parse(answer.body, api.QueueResponse))
    else:
        yield of_refusal(answer.status, answer.body, site)


def of_queue(queue: api.QueueResponse) -> Finding:
    """Judge an answer."""
    more = " or more" if queue.more else ""
    waiting = f"{len(queue.entries)}{more} job{'' if len(queue.entries) == 1 else 's'} waiting"
    if queue.acting:
        return ok(READ_API, f"the leader answers; {waiting}")
    fix = "normal for one of two replicas; if it stays so, see `lease`"
    return warning(READ_API, f"a standby answers; {waiting}", fix)


def of_refusal(status: int, body: bytes, site: Site) -> Finding:
    """Judge another status than 200."""
    message = by_service.refusal(status, body, site.service, "the API server", "get")
    if status == FORBIDDEN:
        is_right = errors.from_response(status, body).reason
        return unknown(READ_API, message, "ask for the Role shuntyard-viewer" if is_right else "")
    fix = "see `deployment`: is a replica ready? The API server's proxy must reach its port"
    return fault(READ_API, message, fix)


def nodes(site: Site) -> api.NodesResponse | None:
    """Return the extender's list of nodes; None if it does not answer.

    Raises:
        UnreadableError: The user may not read it.
    """
    way = _Proxied(site)
    try:
        _, answer = client.fetch_all(way, "/v1/nodes", api.NodesResponse, {})
    except UnansweredError as error:
        if way.refused:
            return None
        raise UnreadableError(str(error)) from error
    return answer


class _Proxied:
    """The way through the API server's service proxy, with the doctor's reader."""

    namespace: str | None = None
    api_server: AnyApiServer | None = None

    def __init__(self, site: Site) -> None:
        self._site, self.refused = site, False

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:  # noqa: ARG002 - as every way
        """Return the body; raises ``UnreadableError`` without the right to read it."""
        site = self._site
        answer = site.reader.answer(site.service.path(path), query)
        if answer.status == FORBIDDEN:
            right = f"`get` on `services/proxy` named `{site.service.key}`"
            where = f" in the namespace {site.namespace}"
            raise reading.forbidden(answer.body, site.service.path(path), right + where)
        if answer.status != connection.OK:
            self.refused = True
            raise UnansweredError(f"status {answer.status}")
        return answer.body


def _selector(deployment: Object) -> str:
    labels = (deployment["spec"].get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in labels.items())


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


def _is_renewed(reader: Reader, path: str, before: Object) -> bool:
    """Return True if the Lease is renewed within the time that a renewal may take."""
    until = reader.clock.monotonic() + SECOND_LOOK_SECONDS
    while reader.clock.monotonic() < until:
        time.sleep(0.5)
        spec: Any = (reader.fresh(path) or {}).get("spec") or {}
        if spec.get("renewTime") != before.get("renewTime"):
            return True
    return False


def _duration(spec: Object) -> float:
    return float(spec.get("leaseDurationSeconds") or _DURATION_SECONDS)
