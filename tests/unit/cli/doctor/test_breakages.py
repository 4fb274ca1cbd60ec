"""An installation as deploy/base makes it is well; each thing that is broken in it is found."""

import base64
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml

from cli.connection import Answer
from cli.doctor import neighbours, running
from cli.doctor.certificates import SECRETS
from cli.doctor.findings import Finding, Level
from cli.doctor.rights import REVIEWS
from shared import api
from shared.kube import paths, stamps
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.healthy import FakeCluster, Object

OK, WARNING, FAULT, UNKNOWN = Level
Break = Callable[[FakeCluster], object]


def found(cluster: FakeCluster, check: str = "", release: str = "0.1.0") -> list[Finding]:
    return [one for one in running.look(cluster.site(release)) if check in {"", one.check}]


def test_what_deploy_base_makes_is_well(well: FakeCluster) -> None:
    findings = found(well)
    assert [one for one in findings if one.level is not OK] == []
    assert {one.check for one in findings} == set(running.CHECKS)


def test_certificates_from_cert_manager_are_well_too(well: FakeCluster) -> None:
    """As deploy/components/cert-manager has it: a Secret of theirs, and our ConfigMap as before."""
    volume = {"name": "certificates", "secret": {"secretName": "shuntyard-tls"}}
    spec = well.objects[healthy.DEPLOYMENT]["spec"]["template"]["spec"]
    spec["volumes"] = [*(one for one in spec["volumes"] if one["name"] != volume["name"]), volume]
    place = "/run/shuntyard/certificates/ca.crt"
    (container,) = [one for one in spec["containers"] if one["name"] == "extender"]
    container["env"] = [
        {"name": "SHUNTYARD__CERTIFICATES__MANAGED", "value": "false"},
        {"name": "SHUNTYARD__CERTIFICATES__AUTHORITY", "value": place},
    ]
    secret = well.objects.pop(healthy.SECRET)
    well.objects[healthy.SECRET.replace("shuntyard-certificates", "shuntyard-tls")] = secret
    well.lacking |= {"get secrets", "patch secrets"}
    assert [one for one in found(well) if one.level is not OK] == []
    well.lacking |= {"patch configmaps"}
    assert [one for one in found(well) if "shuntyard-ca" in one.said and one.level is not OK]


def test_certificates_that_are_mounted_on_both_sides_are_well_too(well: FakeCluster) -> None:
    """No Secret and no rights of ours, two of somebody's who issues in both namespaces."""
    certificates = {"name": "certificates", "secret": {"secretName": "shuntyard-tls"}}
    authority = {"name": "authority", "secret": {"secretName": "shuntyard-agent-tls"}}
    for path, volume in ((healthy.DEPLOYMENT, certificates), (healthy.DAEMON_SET, authority)):
        spec = well.objects[path]["spec"]["template"]["spec"]
        kept = [one for one in spec["volumes"] if one["name"] != volume["name"]]
        assert len(kept) == len(spec["volumes"]) - 1
        spec["volumes"] = [*kept, volume]
        for one in spec["containers"]:
            if one["name"] == "extender":
                one["env"] = [{"name": "SHUNTYARD__CERTIFICATES__MANAGED", "value": "false"}]
    secret = well.objects.pop(healthy.SECRET)
    del well.objects[healthy.AUTHORITY]
    well.lacking |= {"get secrets", "patch secrets"}
    well.objects[healthy.SECRET.replace("shuntyard-certificates", "shuntyard-tls")] = secret
    agents = paths.namespaced(SECRETS, healthy.AGENTS, "shuntyard-agent-tls")
    well.objects[agents] = {"data": {"ca.crt": secret["data"]["ca.crt"]}}
    assert [one for one in found(well) if one.level is not OK] == []
    well.objects[agents] = {"data": {}}
    (said,) = [one for one in found(well) if one.level is not OK]
    assert said.said.startswith("the Secret shuntyard-agents/shuntyard-agent-tls has no ca.crt")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, well: FakeCluster) -> None:
    """What would be waited for goes by at once."""
    monkeypatch.setattr("cli.doctor.lease.time.sleep", well.clock.pass_by)


def gone(path: str) -> Break:
    return lambda cluster: cluster.objects.pop(path)


def changed(path: str, change: Callable[[Any], object]) -> Break:
    return lambda cluster: cluster.change(path, change)


def labelled(namespace: str, **labels: str) -> Break:
    named = {key.replace("_", "-"): value for key, value in labels.items()}
    level = {f"pod-security.kubernetes.io/{key}": value for key, value in named.items()}
    return changed(paths.namespace(namespace), lambda one: one["metadata"].update(labels=level))


def status(path: str, **values: int) -> Break:
    return changed(path, lambda one: one["status"].update(values))


def image(path: str, index: int, name: str) -> Break:
    def change(one: Object) -> None:
        one["spec"]["template"]["spec"]["containers"][index]["image"] = name

    return changed(path, change)


def settings(text: str, path: str = healthy.EXTENDER_YAML, key: str = "extender.yaml") -> Break:
    def change(one: Object) -> None:
        one["data"][key] = text

    return changed(path, change)


def more(**sections: Object) -> Break:
    """More in the extender's settings."""

    def change(one: Object) -> None:
        whole = yaml.safe_load(one["data"]["extender.yaml"])
        for name, values in sections.items():
            whole[name] = {**whole.get(name, {}), **values}
        one["data"]["extender.yaml"] = yaml.safe_dump(whole)

    return changed(healthy.EXTENDER_YAML, change)


def configured(change: Callable[[Any], object]) -> Break:
    """Something else in kube-scheduler's configuration."""

    def with_it(one: Object) -> None:
        whole = yaml.safe_load(one["data"]["scheduler.yaml"])
        change(whole)
        one["data"]["scheduler.yaml"] = yaml.safe_dump(whole)

    return changed(healthy.SCHEDULER_YAML, with_it)


def spec(**values: Any) -> Break:
    return changed(healthy.LEASE, lambda one: one["spec"].update(values))


def nodes(*names: str, silent: tuple[str, ...] = (), ahead_seconds: float = 0.0) -> Break:
    def change(cluster: FakeCluster) -> None:
        answer = healthy.heard(cluster.clock.now() + ahead_seconds, *names, silent=silent)
        cluster.bodies[healthy.NODES] = msgspec.json.encode(answer)

    return change


def lacking(*rights: str) -> Break:
    return lambda cluster: cluster.lacking.update(rights)


def ahead(seconds: float) -> Break:
    return lambda cluster: setattr(cluster, "ahead_seconds", seconds)


def later(seconds: float) -> Break:
    """Time goes by, and everything but the certificates goes with it."""

    def change(cluster: FakeCluster) -> None:
        cluster.clock.pass_by(seconds)
        cluster.objects[healthy.LEASE]["spec"]["renewTime"] = stamps.micros(cluster.clock.now())
        nodes("node-a")(cluster)

    return change


def held_by_nobody(cluster: FakeCluster) -> None:
    cluster.objects[healthy.LEASE]["spec"].pop("holderIdentity")


def pods(*theirs: Object) -> Break:
    return changed(paths.PODS, lambda one: one["items"].extend(theirs))


def queue(cluster: FakeCluster) -> None:
    answer = api.QueueResponse(generated_at=cluster.clock.now(), acting=False, order="cps")
    cluster.bodies[healthy.QUEUE] = msgspec.json.encode(answer)


def another_authority(cluster: FakeCluster) -> None:
    leaf = base64.b64decode(cluster.objects[healthy.SECRET]["data"]["tls.crt"])
    cluster.objects[healthy.AUTHORITY]["data"]["ca.crt"] = leaf.decode()


def entries(index: int, **values: Any) -> Break:
    return configured(lambda whole: whole["extenders"][index].update(values))


POLICIES = f"{healthy.ADMISSION}/mutatingadmissionpolicies"
BINDINGS = f"{healthy.ADMISSION}/mutatingadmissionpolicybindings"
DAY = 24 * 3600.0

BROKEN: dict[str, tuple[Break, str, Level, str]] = {
    "an old Kubernetes": (
        changed("/version", lambda one: one.update(gitVersion="v1.33.9")),
        "versions", WARNING, "Kubernetes is v1.33.9, tested are 1.34 to 1.36",
    ),
    "a Kubernetes that nobody knows": (
        changed("/version", lambda one: one.update(gitVersion="dev")),
        "versions", UNKNOWN, "'dev' cannot be read",
    ),
    "a newer kube-scheduler": (
        image(healthy.DEPLOYMENT, 1, "r.example:5000/kube-scheduler:v1.37.0"),
        "versions", FAULT, "kube-scheduler is v1.37.0, the API server v1.36.3: it must not be",
    ),
    "a kube-scheduler that is too old": (
        image(healthy.DEPLOYMENT, 1, "kube-scheduler:v1.34.1@sha256:00"),
        "versions", FAULT, "it may be one version older",
    ),
    "a kube-scheduler by digest": (
        image(healthy.DEPLOYMENT, 1, "r.example:5000/kube-scheduler@sha256:00"),
        "versions", UNKNOWN, "has no version for a tag",
    ),
    "agents of another release": (
        image(healthy.DAEMON_SET, 0, "shuntyard-agent:0.0.9"),
        "versions", WARNING, "the extender's image is 0.1.0, the agents' 0.0.9",
    ),
    "a clock of this machine that is wrong": (
        ahead(-40), "clock", WARNING, "this machine is 40 s behind the API server",
    ),
    "a clock of the extender that is a little wrong": (
        nodes("node-a", ahead_seconds=-20),
        "clock", WARNING, "the extender's node is 20 s behind the API server",
    ),
    "a clock of the extender that is wrong": (
        nodes("node-a", ahead_seconds=90),
        "clock", FAULT, "the extender's node is 90 s ahead of the API server",
    ),
    "no namespace": (
        gone(paths.namespace(healthy.SYSTEM)),
        "namespaces", FAULT, "there is no namespace shuntyard-system",
    ),
    "a lax namespace": (
        labelled(healthy.SYSTEM, enforce="baseline"),
        "namespaces", WARNING, "the Pod Security level baseline, not restricted",
    ),
    "a namespace that refuses agents": (
        labelled(healthy.AGENTS, enforce="restricted"),
        "namespaces", FAULT, "agents' pods are refused",
    ),
    "a namespace with the cluster's level": (
        labelled(healthy.AGENTS), "namespaces", WARNING, "has no Pod Security level",
    ),
    "no agents' namespace": (
        gone(paths.namespace(healthy.AGENTS)), "namespaces", FAULT, "there is no namespace",
    ),
    "no definition": (
        gone(healthy.GROUP), "definition", FAULT, "shuntyard.io/v1alpha1 is not served",
    ),
    "a definition of somebody else": (
        changed(healthy.GROUP, lambda one: one["resources"].pop()),
        "definition", FAULT, "served without migrations/status",
    ),
    "a missing right": (
        lacking("patch pods", "list nodes"),
        "rights", FAULT, "lacks `patch` on `pods`, `list` on `nodes`",
    ),
    "a kind that is not read": (
        lacking("list pytorchjobs.kubeflow.org"),
        "rights", OK, "does not read pytorchjobs.kubeflow.org",
    ),
    "a right that is a choice": (
        lacking("patch pods/resize"), "rights", WARNING, "lacks `patch` on `pods/resize`",
    ),
    "kube-scheduler's rights": (
        lacking("list csinodes.storage.k8s.io"), "rights", FAULT, "csinodes.storage.k8s.io",
    ),
    "no Deployment": (
        gone(healthy.DEPLOYMENT), "deployment", FAULT, "there is no Deployment shuntyard-extender",
    ),
    "no replica": (
        status(healthy.DEPLOYMENT, readyReplicas=0), "deployment", FAULT, "0 of 2 replicas",
    ),
    "one replica of two": (
        status(healthy.DEPLOYMENT, readyReplicas=1), "deployment", WARNING, "1 of 2 replicas",
    ),
    "a rollout": (
        status(healthy.DEPLOYMENT, observedGeneration=2), "deployment", WARNING, "not looked at",
    ),
    "scaled to nothing": (
        changed(healthy.DEPLOYMENT, lambda one: one["spec"].update(replicas=0)),
        "deployment", FAULT, "scaled to no replicas",
    ),
    "a single replica": (
        changed(healthy.DEPLOYMENT, lambda one: one["spec"].update(replicas=1)),
        "deployment", WARNING, "the only replica",
    ),
    "a kube-scheduler elsewhere": (
        gone(healthy.SCHEDULER_YAML), "configuration", UNKNOWN, "kube-scheduler is elsewhere",
    ),
    "a configuration that is no YAML": (
        settings("a: [", healthy.SCHEDULER_YAML, "scheduler.yaml"),
        "configuration", UNKNOWN, "scheduler.yaml is no YAML",
    ),
    "another Lease": (
        configured(lambda one: one["leaderElection"].pop("resourceName")),
        "configuration", FAULT, "holds the Lease kube-system/kube-scheduler, the extender looks",
    ),
    "no election": (
        configured(lambda one: one["leaderElection"].update(leaderElect=False)),
        "configuration", FAULT, "without the Lease nobody acts",
    ),
    "another profile": (
        more(scheduler={"scheduler_name": "yard"}),
        "configuration", FAULT, "no profile is called yard",
    ),
    "one more profile": (
        configured(lambda one: one["profiles"].append({"schedulerName": "other"})),
        "configuration", WARNING, "the profile other is not ours",
    ),
    "preemption": (
        configured(lambda one: one["profiles"][0].pop("plugins")),
        "configuration", FAULT, "DefaultPreemption is on",
    ),
    "preemption put back": (
        configured(
            lambda one: one["profiles"][0]["plugins"].update(
                postFilter={"enabled": [{"name": "DefaultPreemption"}]}
            )
        ),
        "configuration", FAULT, "DefaultPreemption is on",
    ),
    "a sample of nodes": (
        configured(lambda one: one.pop("percentageOfNodesToScore")),
        "configuration", WARNING, "percentageOfNodesToScore is 0, not 100",
    ),
    "no extender": (
        configured(lambda one: one.pop("extenders")),
        "configuration", FAULT, "no extender entry has a filterVerb",
    ),
    "no bind": (
        configured(lambda one: one["extenders"].pop()),
        "configuration", FAULT, "no extender entry has a bindVerb",
    ),
    "no prioritize": (
        configured(lambda one: one["extenders"][0].pop("prioritizeVerb")),
        "configuration", WARNING, "no prioritizeVerb",
    ),
    "a bind that ends too soon": (
        entries(1, httpTimeout="4m"),
        "configuration", FAULT, "httpTimeout 4m, a bind call waits 240 s",
    ),
    "a barrier that waits longer": (
        more(gang={"bind_wait_seconds": 600}),
        "configuration", FAULT, "httpTimeout 300s, a bind call waits 600 s",
    ),
    "a filter that may take long": (
        entries(0, httpTimeout="2m"), "configuration", WARNING, "holds up kube-scheduler",
    ),
    "a time-out that is none": (
        entries(1, httpTimeout="long"), "configuration", FAULT, "httpTimeout long",
    ),
    "whole nodes": (
        entries(0, nodeCacheCapable=False),
        "configuration", WARNING, "the entry with filterVerb is not nodeCacheCapable",
    ),
    "an extender that may be ignored": (
        entries(1, ignorable=True),
        "configuration", FAULT, "the entry with bindVerb is ignorable",
    ),
    "another port": (
        more(scheduler={"listen_port": 9999}),
        "configuration", FAULT, "calls http://127.0.0.1:10261, the port is 9999",
    ),
    "no Lease": (gone(healthy.LEASE), "lease", FAULT, "nobody has ever acted"),
    "a Lease that nobody holds": (
        held_by_nobody, "lease", FAULT, "nobody holds the Lease",
    ),
    "a stranger with our Lease": (
        spec(holderIdentity="other-host_12"), "lease", FAULT, "other-host holds the Lease",
    ),
    "a Lease from the future": (
        spec(renewTime=stamps.micros(1_700_000_060.0)),
        "lease", WARNING, "clock is 60 s ahead of the API server's",
    ),
    "a standby that answers": (queue, "read-api", WARNING, "a replica that does not decide"),
    "a Service without endpoints": (
        lambda cluster: cluster.bodies.pop(healthy.QUEUE), "read-api", FAULT, "no Service",
    ),
    "an answer of something else": (
        lambda cluster: cluster.bodies.update({healthy.QUEUE: b"{}"}),
        "read-api", UNKNOWN, "not that of a Shuntyard read API",
    ),
    "a closed listener": (
        more(agents={"certificate": ""}), "certificates", FAULT, "the agents' listener is closed",
    ),
    "no authority": (
        changed(healthy.AUTHORITY, lambda one: one.pop("data")),
        "certificates", FAULT, "has no ca.crt: agents trust nobody",
    ),
    "no Secret": (gone(healthy.SECRET), "certificates", WARNING, "there is no Secret"),
    "an empty Secret": (
        changed(healthy.SECRET, lambda one: one.pop("data")),
        "certificates", FAULT, "shuntyard-certificates is empty",
    ),
    "a Secret of something else": (
        changed(healthy.SECRET, lambda one: one["data"].update({"tls.crt": "AAAA"})),
        "certificates", FAULT, "holds no certificate",
    ),
    "a certificate that is cut": (
        changed(
            healthy.AUTHORITY,
            lambda one: one["data"].update(
                {"ca.crt": one["data"]["ca.crt"][:60] + "\n-----END CERTIFICATE-----\n"}
            ),
        ),
        "certificates", FAULT, "cannot be read: not a certificate",
    ),
    "an authority that agents do not know": (
        another_authority, "certificates", FAULT, "another one than agents trust",
    ),
    "certificates that ended": (
        later(3660 * DAY), "certificates", FAULT, "tls.crt of the Secret",
    ),
    "certificates that end soon": (
        later(3000 * DAY), "certificates", WARNING, "it was not renewed in time",
    ),
    "certificates that begin later": (
        later(-2 * DAY), "certificates", FAULT, "begins in",
    ),
    "no claim": (gone(healthy.CLAIM), "volume", FAULT, "is not there: no agent starts"),
    "a claim that waits": (
        changed(healthy.CLAIM, lambda one: one.update(status={"phase": "Pending"})),
        "volume", FAULT, "is Pending, not Bound",
    ),
    "a claim for one node": (
        changed(healthy.CLAIM, lambda one: one["spec"].update(accessModes=["ReadWriteOnce"])),
        "volume", WARNING, "not every node can write to it",
    ),
    "no DaemonSet": (gone(healthy.DAEMON_SET), "agents", FAULT, "there is no DaemonSet"),
    "agents that are not ready": (
        status(healthy.DAEMON_SET, numberReady=1), "agents", WARNING, "1 of 2 agents are ready",
    ),
    "no agent at all": (
        status(healthy.DAEMON_SET, numberReady=0), "agents", FAULT, "0 of 2 agents are ready",
    ),
    "an agent that is not heard": (
        nodes("node-a", silent=("node-b",)),
        "agents", WARNING, "hears no agent on 1 of 2 ready nodes: node-b",
    ),
    "agents that are not heard": (
        nodes(silent=tuple("abcdefg")),
        "agents", FAULT, "no agent on 7 of 7 ready nodes: a, b, c, d, e …",
    ),
    "no policy": (
        changed(POLICIES, lambda one: one["items"].clear()), "gate", WARNING, "no Mutating",
    ),
    "a policy that is not bound": (
        changed(BINDINGS, lambda one: one["items"].clear()), "gate", WARNING, "has no binding",
    ),
    "no such policies": (gone(healthy.ADMISSION), "gate", OK, "gated by hand"),
    "pods of others": (
        pods(
            healthy.running("web-0", "node-a", "default-scheduler"),
            healthy.running("web-1", "node-a", "default-scheduler"),
        ),
        "neighbours", WARNING, "(2 of default-scheduler; on node-a)",
    ),
    "pods of others elsewhere": (
        pods(healthy.running("web-0", "node-b", "default-scheduler")),
        "neighbours", OK, "nobody else",
    ),
    "daemons": (
        pods(healthy.running("logs", "node-a", "default-scheduler", "DaemonSet")),
        "neighbours", OK, "nobody else",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("broken", "check", "level", "said"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_found(
    well: FakeCluster, broken: Break, check: str, level: Level, said: str
) -> None:
    broken(well)
    findings = found(well, check)
    assert [one for one in findings if one.level is level and said in one.said], findings
    worse = [one for one in findings if one.level in {WARNING, FAULT} and not one.mend]
    assert worse == [], "it is not said how to mend it"


def test_a_lease_that_is_not_renewed_is_looked_at_twice(
    well: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    well.objects[healthy.LEASE]["spec"]["renewTime"] = stamps.micros(well.clock.now() - 60)
    (first, _) = found(well, "lease")
    assert (first.level, "nobody decides" in first.said) == (FAULT, True)

    def renewed(seconds: float) -> None:
        well.clock.pass_by(seconds)
        late = stamps.micros(well.clock.now() - 60)
        well.objects[healthy.LEASE]["spec"]["renewTime"] = late

    monkeypatch.setattr("cli.doctor.lease.time.sleep", renewed)
    (first, _) = found(well, "lease")
    assert (first.level, "s behind" in first.said) == (WARNING, True), first


FORBIDDEN: dict[str, tuple[str, str, str]] = {
    "namespaces": (paths.namespace(healthy.SYSTEM), "namespaces", "`get` on `namespaces`"),
    "reviews": (REVIEWS, "rights", "`create` on `subjectaccessreviews.authorization.k8s.io`"),
    "the Deployment": (
        healthy.DEPLOYMENT, "deployment",
        "`get` on `deployments.apps` in the namespace shuntyard-system",
    ),
    "the settings": (
        healthy.EXTENDER_YAML, "lease", "`get` on `configmaps` in the namespace shuntyard-system",
    ),
    "the Lease": (
        healthy.LEASE, "lease", "`get` on `leases.coordination.k8s.io` in the namespace",
    ),
    "the replicas": (paths.pods(healthy.SYSTEM), "lease", "whether extender-a is one of"),
    "the read API": (healthy.QUEUE, "read-api", "`get` on `services/proxy`"),
    "the nodes of the read API": (healthy.NODES, "agents", "`get` on `services/proxy`"),
    "the Secret": (
        healthy.SECRET, "certificates", "`get` on `secrets` in the namespace shuntyard-system",
    ),
    "the claim": (healthy.CLAIM, "volume", "`get` on `persistentvolumeclaims`"),
    "policies": (
        POLICIES, "gate", "`list` on `mutatingadmissionpolicies.admissionregistration.k8s.io`",
    ),
    "pods": (paths.PODS, "neighbours", "`list` on `pods`"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "check", "right"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_may_not_be_read_is_not_known_and_no_fault(
    well: FakeCluster, path: str, check: str, right: str
) -> None:
    well.forbidden.add(path)
    findings = found(well)
    assert {one.level for one in findings} <= {OK, UNKNOWN}
    assert [one for one in findings if one.check == check and right in one.said], findings


def test_who_may_read_nothing_is_told_which_rights_are_needed(well: FakeCluster) -> None:
    well.forbidden.update({*well.objects, *well.bodies, REVIEWS} - {"/version"})
    findings = found(well)
    assert {one.level for one in findings} == {OK, UNKNOWN}
    assert all("right" in one.said for one in findings if one.level is UNKNOWN), findings


def test_an_object_that_is_none_keeps_no_other_check_from_its_work(well: FakeCluster) -> None:
    well.objects[healthy.DEPLOYMENT] = {"spec": 1}
    well.objects[healthy.LEASE] = {"spec": {"holderIdentity": "x", "renewTime": "then"}}
    findings = found(well)
    assert {one.check for one in findings} == set(running.CHECKS)
    assert next(one for one in findings if one.check == "lease").level is UNKNOWN


def test_another_release_of_the_command_is_told(well: FakeCluster) -> None:
    (said,) = [one for one in found(well, "versions", "0.2.0") if one.level is WARNING]
    assert said.said == "the extender is release 0.1.0, this command 0.2.0"


def test_a_list_is_read_page_by_page_and_not_for_ever(well: FakeCluster) -> None:
    reader, asked = well.site().reader, []

    def ask(path: str, query: Any, body: bytes | None) -> Any:
        asked.append(query.get("continue", ""))
        pod = healthy.running(f"p-{len(asked)}", "node-a")
        page = {"items": [pod] * 500, "metadata": {"continue": f"c{len(asked)}"}}
        return Answer(200, json.dumps(page).encode())

    reader.ask = ask
    assert len(reader.items(paths.PODS)) == 10_000
    assert asked[:3] == ["", "c1", "c2"]
    assert neighbours.of_the_pods([], []).level is OK
