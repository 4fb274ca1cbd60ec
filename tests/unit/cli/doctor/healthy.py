"""A fake API server with the installation of deploy/base; tests break one thing each."""

import base64
import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cli.connection import Answer
from cli.doctor import policies, rights
from cli.doctor import running as checks
from cli.doctor.definition import PUBLISHED, SCHEMA
from cli.doctor.findings import Finding
from cli.doctor.reading import Reader
from cli.doctor.rights import REVIEWS
from cli.doctor.site import DAEMON_SETS, SECRETS, Site
from cli.service import DEFAULT_SERVICE, parse
from shared.kube import paths, stamps
from shared.progress import GpuHealth
from shared.readapi import api
from tests.fakes.clock import FakeClock
from tests.root import ROOT

Object = dict[str, Any]

SYSTEM, AGENTS = "shuntyard-system", "shuntyard-agents"
BASE = ROOT / "deploy" / "base"
SERVICE = parse(DEFAULT_SERVICE)
DEPLOYMENT = paths.namespaced(paths.DEPLOYMENTS, SYSTEM, "shuntyard-extender")
DAEMON_SET = paths.namespaced(DAEMON_SETS, AGENTS, "shuntyard-agent")
EXTENDER_YAML = paths.namespaced(paths.CONFIG_MAPS, SYSTEM, "shuntyard-extender")
SCHEDULER_YAML = paths.namespaced(paths.CONFIG_MAPS, SYSTEM, "shuntyard-scheduler")
LEASE = paths.lease("kube-system", "shuntyard")
CLAIM = paths.namespaced(paths.VOLUME_CLAIMS, AGENTS, "shuntyard-volume")
KEYS = paths.namespaced(SECRETS, SYSTEM, "shuntyard-signing-keys")
SECRET = paths.namespaced(SECRETS, SYSTEM, "shuntyard-certificates")
AUTHORITY = paths.namespaced(paths.CONFIG_MAPS, AGENTS, "shuntyard-ca")
GROUP = "/apis/shuntyard.io/v1alpha1"
OPENAPI = f"{PUBLISHED}/{paths.group_version(paths.MIGRATIONS)}"
ADMISSION = f"{paths.GROUPS}/{policies.GROUP}/v1"
QUEUE, NODES, METRICS = (SERVICE.path(p) for p in ("/v1/queue", "/v1/nodes", "/metrics"))


def refusal(message: str) -> bytes:
    """An answer of the API server that has status 403."""
    body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
    return json.dumps(body).encode()


@dataclass
class FakeCluster:
    """Objects by path; any other path is not found.

    Attributes:
        forbidden: Paths that may not be read.
        refusal: The body of the answer about them.
        lacking: Rights that the extender's account does not have: on all, or on one by its name.
        lent: Rights that every other account has.
        ahead_seconds: How far this machine is ahead of the API server.
    """

    objects: dict[str, Object] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    refusal: bytes = refusal('User "jane" cannot get resource "pods"')
    lacking: set[str] = field(default_factory=set)
    lent: set[str] = field(default_factory=set)
    clock: FakeClock = field(default_factory=FakeClock)
    ahead_seconds: float = 0.0

    def site(self, release: str = "0.1.0") -> Site:
        return Site(Reader(self.ask, self.clock), SERVICE, release)

    def ask(self, path: str, query: Mapping[str, str], body: bytes | None) -> Answer:
        date = self._date()
        if path in self.forbidden:
            return Answer(403, self.refusal, date)
        if path == REVIEWS:
            return Answer(201, self._review(json.loads(body or b"")), date)
        if path == paths.PODS:
            return Answer(200, json.dumps(self._pods(query["fieldSelector"])).encode(), date)
        if path in self.bodies:
            return Answer(200, self.bodies[path], date)
        if path in self.objects:
            return Answer(200, json.dumps(self.objects[path]).encode(), date)
        missing = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
        return Answer(404, json.dumps(missing).encode(), date)

    def change(self, path: str, change: Callable[[Object], object]) -> None:
        change(self.objects[path])

    def _pods(self, selector: str) -> Object:
        ours = selector.startswith("spec.schedulerName=shuntyard,")
        pods = self.objects[paths.PODS]["items"]
        return {"items": [p for p in pods if (p["spec"]["schedulerName"] == "shuntyard") == ours]}

    def _review(self, review: Object) -> bytes:
        attributes = review["spec"]["resourceAttributes"]
        if not review["spec"]["user"].endswith(f":{rights.ACCOUNT}"):
            allowed = f"{attributes['verb']} {attributes['resource']}" in self.lent
            return json.dumps({**review, "status": {"allowed": allowed}}).encode()
        resource = ".".join(filter(None, (attributes["resource"], attributes.get("group"))))
        resource += f"/{attributes['subresource']}" if "subresource" in attributes else ""
        right = f"{attributes['verb']} {resource}"
        allowed = self.lacking.isdisjoint({right, f"{right} {attributes.get('name')}"})
        return json.dumps({**review, "status": {"allowed": allowed}}).encode()

    def _date(self) -> str:
        at = datetime.fromtimestamp(self.clock.now() - self.ahead_seconds, UTC)
        return format_datetime(at, usegmt=True)


def manifests() -> list[Object]:
    """Return the objects of deploy/base, as a copy that may be changed."""
    return copy.deepcopy(_manifests())


@cache
def _manifests() -> list[Object]:
    objects = [one for file in sorted(BASE.glob("*.yaml")) for one in _documents(file)]
    return [one for one in objects if "metadata" in one]  # the Kustomization has none


def cluster(leaf: bytes, authority: bytes) -> FakeCluster:
    """Return a healthy installation with these certificates."""
    healthy = FakeCluster()
    clock, objects = healthy.clock, healthy.objects
    by_name = {(one["kind"], one.get("metadata", {}).get("name")): one for one in manifests()}
    for name in (SYSTEM, AGENTS):
        objects[paths.namespace(name)] = by_name["Namespace", name]
    deployment = by_name["Deployment", "shuntyard-extender"]
    deployment["metadata"]["generation"] = 3
    deployment["status"] = {"readyReplicas": 2, "updatedReplicas": 2, "observedGeneration": 3}
    for one in deployment["spec"]["template"]["spec"]["containers"]:
        one["image"] += ":v1.36.1" if one["name"] == "kube-scheduler" else ":0.1.0"
    daemon_set = by_name["DaemonSet", "shuntyard-agent"]
    daemon_set["status"] = {"desiredNumberScheduled": 2, "numberReady": 2}
    daemon_set["spec"]["template"]["spec"]["containers"][0]["image"] += ":0.1.0"
    objects |= {DEPLOYMENT: deployment, DAEMON_SET: daemon_set}
    objects["/version"] = {"gitVersion": "v1.36.3"}
    objects[EXTENDER_YAML] = _map("extender.yaml", BASE / "settings" / "extender.yaml")
    objects[SCHEDULER_YAML] = _map("scheduler.yaml", BASE / "scheduler.yaml")
    names = ("migrations", "migrations/status")
    objects[GROUP] = {"resources": [{"name": name} for name in names]}
    objects[OPENAPI] = _published(by_name["CustomResourceDefinition", "migrations.shuntyard.io"])
    objects[LEASE] = {
        "spec": {
            "holderIdentity": "extender-a_0f",
            "leaseDurationSeconds": 15,
            "renewTime": stamps.micros(clock.now() - 1),
        }
    }
    objects[paths.pods(SYSTEM)] = {"items": [_replica("extender-a"), _replica("extender-b")]}
    objects[paths.PODS] = {"items": [running("train-0", "node-a")]}
    objects[CLAIM] = {"spec": {"accessModes": ["ReadWriteMany"]}, "status": {"phase": "Bound"}}
    objects[AUTHORITY] = {"data": {"ca.crt": authority.decode()}}
    objects[SECRET] = {"data": {"tls.crt": _packed(leaf), "ca.crt": _packed(authority)}}
    objects |= _policies()
    objects[KEYS] = {"data": {"current": _packed(b"k" * 32)}}
    for kind, collection in (("", policies.VALIDATING), ("Binding", policies.VALIDATING_BINDINGS)):
        one = by_name[f"ValidatingAdmissionPolicy{kind}", "shuntyard-our-keys"]
        objects[collection] = {"items": [one]}
    healthy.bodies[METRICS] = b'shuntyard_build_info{version="0.1.0"} 1.0\n'
    queue = api.QueueResponse(generated_at=clock.now(), acting=True, order="cps")
    healthy.bodies[QUEUE] = msgspec.json.encode(queue)
    healthy.bodies[NODES] = msgspec.json.encode(reporting(clock.now(), "node-a", "node-b"))
    return healthy


def _published(definition: Object) -> Object:
    """Return what the API server publishes of a definition."""
    (version,) = definition["spec"]["versions"]
    return {"components": {"schemas": {SCHEMA: version["schema"]["openAPIV3Schema"]}}}


def reporting(
    now: float, *names: str, silent: tuple[str, ...] = (), gpus: GpuHealth | None = None
) -> api.NodesResponse:
    """Return the extender's answer about ready nodes."""
    agent = api.AgentEntry(age_seconds=1.0, stale=False, complete=True, gpus=gpus)
    entries = tuple(
        api.NodeEntry(
            name=name,
            ready=True,
            unschedulable=False,
            allocatable={},
            used={},
            seats=0,
            relative_price=0.0,
            log_price=0.0,
            agent=None if name in silent else agent,
        )
        for name in (*names, *silent)
    )
    return api.NodesResponse(generated_at=now, entries=entries)


def running(name: str, node: str, scheduler: str = "shuntyard", owner: str = "Job") -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"name": name, "ownerReferences": [{"kind": owner}]},
        "spec": {"schedulerName": scheduler, "nodeName": node, "containers": [container]},
    }


def findings(cluster: FakeCluster, check: str = "", release: str = "0.1.0") -> list[Finding]:
    return [one for one in checks.check_all(cluster.site(release)) if check in {"", one.check}]


def _replica(name: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"serviceAccountName": rights.ACCOUNT}}


def _policies() -> dict[str, Object]:
    policy = {"metadata": {"name": "shuntyard-gate"}, "spec": {"say": "shuntyard.io/queue"}}
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "shuntyard-gate"}}
    return {
        ADMISSION: {
            "resources": [{"name": policies.MUTATING}, {"name": policies.MUTATING_BINDINGS}]
        },
        f"{ADMISSION}/{policies.MUTATING}": {"items": [policy]},
        f"{ADMISSION}/{policies.MUTATING_BINDINGS}": {"items": [binding]},
    }


def _map(key: str, file: Path) -> Object:
    return {"data": {key: file.read_text()}}


def _packed(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def _documents(file: Path) -> list[Object]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]
