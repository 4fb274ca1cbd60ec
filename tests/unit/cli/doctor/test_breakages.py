"""Doctor finds everything that is broken in an installation."""

import pytest

from cli.doctor import policies
from cli.doctor.findings import Level
from cli.doctor.site import pod_spec
from shared.kube import paths, stamps
from shared.progress import GpuHealth
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.breaking import (
    DAY,
    MUTATING,
    MUTATING_BINDINGS,
    Break,
    ahead,
    another_ca,
    bound,
    changed,
    configured,
    entries,
    gone,
    image,
    labelled,
    lacking,
    later,
    more,
    nodes,
    pods,
    queue,
    settings,
    spec,
    status,
    undefined,
    without_holder,
    without_volume,
)
from tests.unit.cli.doctor.healthy import FakeCluster, findings

OK, WARNING, FAULT, UNKNOWN = Level
SPREAD = [
    {
        "name": "PodTopologySpread",
        "args": {
            "defaultingType": "List",
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            ],
        },
    }
]
pytestmark = pytest.mark.usefixtures("patience")

BROKEN: dict[str, tuple[Break, str, Level, str]] = {
    "an old Kubernetes": (
        changed("/version", lambda one: one.update(gitVersion="v1.33.9")),
        "versions", WARNING, "Kubernetes is v1.33.9, tested are 1.34 to 1.37",
    ),
    "a Kubernetes without a version": (
        changed("/version", lambda one: one.update(gitVersion="dev")),
        "versions", UNKNOWN, "'dev' cannot be parsed",
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
        "versions", UNKNOWN, "is not a version",
    ),
    "agents of another release": (
        image(healthy.DAEMON_SET, 0, "shuntyard-agent:0.0.9"),
        "versions", WARNING, "the extender's image is 0.1.0, the agents' 0.0.9",
    ),
    "a wrong clock of this machine": (
        ahead(-40), "clock", WARNING, "this machine is 40 s behind the API server",
    ),
    "a slightly wrong clock of the extender": (
        nodes("node-a", ahead_seconds=-20),
        "clock", WARNING, "the extender's node is 20 s behind the API server",
    ),
    "a wrong clock of the extender": (
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
    "another definition": (
        changed(healthy.GROUP, lambda one: one["resources"].pop()),
        "definition", FAULT, "served without migrations/status",
    ),
    "a definition of another release": (
        undefined("spec", "members", "nodeSelector"),
        "definition", FAULT, "another release: the API server drops spec.members.nodeSelector",
    ),
    "a definition whose status lacks a field": (
        undefined("status", "holdUntil"), "definition", FAULT, "drops status.holdUntil",
    ),
    "a missing right": (
        lacking("patch pods", "list nodes"),
        "rights", FAULT, "lacks `patch` on `pods`, `list` on `nodes`",
    ),
    "a kind without the right to list it": (
        lacking("list pytorchjobs.kubeflow.org"),
        "rights", OK, "does not read pytorchjobs.kubeflow.org",
    ),
    "an optional right": (
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
        status(healthy.DEPLOYMENT, observedGeneration=2), "deployment", WARNING, "not rolled out",
    ),
    "no replicas": (
        changed(healthy.DEPLOYMENT, lambda one: one["spec"].update(replicas=0)),
        "deployment", FAULT, "scaled to 0 replicas",
    ),
    "a single replica": (
        changed(healthy.DEPLOYMENT, lambda one: one["spec"].update(replicas=1)),
        "deployment", WARNING, "the only replica",
    ),
    "a kube-scheduler elsewhere": (
        gone(healthy.SCHEDULER_YAML), "configuration", UNKNOWN, "kube-scheduler is elsewhere",
    ),
    "a configuration that is not YAML": (
        settings("a: [", healthy.SCHEDULER_YAML, "scheduler.yaml"),
        "configuration", UNKNOWN, "scheduler.yaml is not YAML",
    ),
    "another Lease": (
        configured(lambda one: one["leaderElection"].pop("resourceName")),
        "configuration", FAULT, "kube-system/kube-scheduler, but the extender watches",
    ),
    "no election": (
        configured(lambda one: one["leaderElection"].update(leaderElect=False)),
        "configuration", FAULT, "without the Lease there is no leader",
    ),
    "another profile": (
        more(scheduler={"scheduler_name": "yard"}),
        "configuration", FAULT, "there is no profile yard",
    ),
    "one more profile": (
        configured(lambda one: one["profiles"].append({"schedulerName": "other"})),
        "configuration", WARNING, "the pods of another profile, other",
    ),
    "another plugin": (
        configured(
            lambda one: one["profiles"][0]["plugins"].update(
                reserve={"enabled": [{"name": "Licences"}, {"name": "VolumeBinding"}]}
            )
        ),
        "configuration", WARNING, "has the plugins Licences, which pods that we bind in bursts",
    ),
    "default constraints": (
        configured(lambda one: one["profiles"][0].update(pluginConfig=SPREAD)),
        "configuration", WARNING, "default constraints of PodTopologySpread",
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
    "a short time-out of bind": (
        entries(1, httpTimeout="4m"),
        "configuration", FAULT, "httpTimeout 4m, but a bind call waits 240 s",
    ),
    "a longer wait for the gang": (
        more(gang={"bind_wait_seconds": 600}),
        "configuration", FAULT, "httpTimeout 300s, but a bind call waits 600 s",
    ),
    "a long time-out of filter": (
        entries(0, httpTimeout="2m"), "configuration", WARNING, "holds up kube-scheduler",
    ),
    "filter gives up while an answer is held": (
        entries(0, httpTimeout="2s"), "configuration", FAULT, "use at least 2.8s",
    ),
    "a malformed time-out": (
        entries(1, httpTimeout="long"), "configuration", FAULT, "httpTimeout long",
    ),
    "whole nodes": (
        entries(0, nodeCacheCapable=False),
        "configuration", WARNING, "the entry with filterVerb is not nodeCacheCapable",
    ),
    "an ignorable extender": (
        entries(1, ignorable=True),
        "configuration", FAULT, "the entry with bindVerb is ignorable",
    ),
    "another port": (
        more(scheduler={"listen_port": 9999}),
        "configuration", FAULT, "calls http://127.0.0.1:10261, but the port is 9999",
    ),
    "no Lease": (gone(healthy.LEASE), "lease", FAULT, "there has never been a leader"),
    "a Lease without a holder": (
        without_holder, "lease", FAULT, "the Lease has no holder",
    ),
    "another holder of our Lease": (
        spec(holderIdentity="other-host_12"), "lease", FAULT, "other-host holds the Lease",
    ),
    "a Lease from the future": (
        spec(renewTime=stamps.micros(1_700_000_060.0)),
        "lease", WARNING, "clock is 60 s ahead of the API server's",
    ),
    "a standby that answers": (queue, "read-api", WARNING, "a standby answers"),
    "a Service without endpoints": (
        lambda cluster: cluster.bodies.pop(healthy.QUEUE),
        "read-api", FAULT, "Service shuntyard-extender in the namespace",
    ),
    "an answer of another server": (
        lambda cluster: cluster.bodies.update({healthy.QUEUE: b"{}"}),
        "read-api", UNKNOWN, "not that of a Shuntyard read API",
    ),
    "a closed listener": (
        more(agents={"certificate": ""}), "certificates", FAULT, "the agents' listener is closed",
    ),
    "no CA certificate": (
        changed(healthy.AUTHORITY, lambda one: one.pop("data")),
        "certificates", FAULT, "has no ca.crt: agents cannot verify",
    ),
    "no Secret": (gone(healthy.SECRET), "certificates", WARNING, "there is no Secret"),
    "an empty Secret": (
        changed(healthy.SECRET, lambda one: one.pop("data")),
        "certificates", FAULT, "shuntyard-certificates is empty",
    ),
    "a Secret without a certificate": (
        changed(healthy.SECRET, lambda one: one["data"].update({"tls.crt": "AAAA"})),
        "certificates", FAULT, "holds no certificate",
    ),
    "a truncated certificate": (
        changed(
            healthy.AUTHORITY,
            lambda one: one["data"].update(
                {"ca.crt": one["data"]["ca.crt"][:60] + "\n-----END CERTIFICATE-----\n"}
            ),
        ),
        "certificates", FAULT, "cannot be read: not a certificate",
    ),
    "a CA that the agents do not trust": (
        another_ca, "certificates", FAULT, "the agents do not trust the CA",
    ),
    "expired certificates": (
        later(3660 * DAY), "certificates", FAULT, "tls.crt of the Secret",
    ),
    "certificates that expire soon": (
        later(3000 * DAY), "certificates", WARNING, "it was not renewed",
    ),
    "certificates that are not valid yet": (
        later(-2 * DAY), "certificates", FAULT, "is not valid for another",
    ),
    "no claim": (gone(healthy.CLAIM), "volume", FAULT, "does not exist: no agent starts"),
    "a pending claim": (
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
    "no ready agent": (
        status(healthy.DAEMON_SET, numberReady=0), "agents", FAULT, "0 of 2 agents are ready",
    ),
    "an agent that does not report": (
        nodes("node-a", silent=("node-b",)),
        "agents", WARNING, "from 1 of 2 ready nodes: node-b",
    ),
    "agents without a token": (
        without_volume("token"), "agents", FAULT, "the agents mount no token",
    ),
    "agents with a token for another audience": (
        more(agents={"audience": "training"}),
        "agents", FAULT, "the agents' token is for shuntyard-extender, and agents.audience is",
    ),
    "agents with another account": (
        changed(healthy.DAEMON_SET, lambda one: pod_spec(one).update(serviceAccountName="x")),
        "agents", FAULT, "system:serviceaccount:shuntyard-agents:x, which agents.accounts",
    ),
    "GPUs that cannot be read": (
        nodes("node-a", gpus=GpuHealth(devices=8, lost=1)),
        "agents", WARNING, "GPUs have faults: node-a: 1 of 8 lost",
    ),
    "agents that do not report": (
        nodes(silent=tuple("abcdefg")),
        "agents", FAULT, "from 7 of 7 ready nodes: a, b, c, d, e …",
    ),
    "no policy": (
        changed(MUTATING, lambda one: one["items"].clear()), "gate", WARNING, "no Mutating",
    ),
    "a policy without a binding": (
        changed(MUTATING_BINDINGS, lambda one: one["items"].clear()),
        "gate", WARNING, "has no binding",
    ),
    "no such policies": (gone(healthy.ADMISSION), "gate", OK, "must name the gate"),
    "no policy for our keys": (
        changed(policies.VALIDATING, lambda one: one["items"].clear()),
        "our-keys", WARNING, "no ValidatingAdmissionPolicy reserves our annotations",
    ),
    "a policy for our keys without a binding": (
        changed(policies.VALIDATING_BINDINGS, lambda one: one["items"].clear()),
        "our-keys", WARNING, "shuntyard-our-keys has no binding",
    ),
    "a policy for our keys that only warns": (
        changed(policies.VALIDATING_BINDINGS, bound(validationActions=["Warn", "Audit"])),
        "our-keys", WARNING, "no binding of shuntyard-our-keys denies",
    ),
    "a policy for our keys in one namespace": (
        changed(policies.VALIDATING_BINDINGS, bound(matchResources={"namespaceSelector": {}})),
        "our-keys", WARNING, "covers a part of the cluster",
    ),
    "a policy for our keys that blocks the extender": (
        changed(policies.VALIDATING, lambda one: one["items"][0]["spec"].update(
            matchConditions=[])),
        "our-keys", FAULT, "it blocks the extender",
    ),
    "no signatures": (
        more(signing={"secret": None}), "our-keys", WARNING, "signing.secret is not set",
    ),
    "no Secret for the signing keys": (
        gone(healthy.KEYS), "our-keys", FAULT, "there is no Secret shuntyard-system/shuntyard-sign",
    ),
    "a Secret without a signing key": (
        changed(healthy.KEYS, lambda one: one.pop("data")),
        "our-keys", WARNING, "holds no key yet",
    ),
    "signing keys that others may read": (
        lambda cluster: cluster.lent.add("get secrets"),
        "our-keys", FAULT, "default:default, shuntyard-agents:shuntyard-agent may read the Secret",
    ),
    "signing keys that the extender may not read": (
        lacking("get secrets shuntyard-signing-keys"), "rights", FAULT, "`get` on `secrets` named",
    ),
    "pods of others": (
        pods(
            healthy.running("web-0", "node-a", "default-scheduler"),
            healthy.running("web-1", "node-a", "default-scheduler"),
        ),
        "neighbours", WARNING, "(2 of default-scheduler; on node-a)",
    ),
    "pods of others elsewhere": (
        pods(healthy.running("web-0", "node-b", "default-scheduler")),
        "neighbours", OK, "no other scheduler",
    ),
    "daemons": (
        pods(healthy.running("logs", "node-a", "default-scheduler", "DaemonSet")),
        "neighbours", OK, "no other scheduler",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("broken", "check", "level", "message"), BROKEN.values(), ids=BROKEN)
def test_each_breakage_is_found_and_has_a_fix(
    well: FakeCluster, broken: Break, check: str, level: Level, message: str
) -> None:
    broken(well)
    found = findings(well, check)
    assert [one for one in found if one.level is level and message in one.message], found
    worse = [one for one in found if one.level in {WARNING, FAULT} and not one.fix]
    assert worse == [], "a finding has no fix"


def test_a_lease_that_looks_old_is_read_again(
    well: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    well.objects[healthy.LEASE]["spec"]["renewTime"] = stamps.micros(well.clock.now() - 60)
    (first, _) = findings(well, "lease")
    assert (first.level, "there is no leader" in first.message) == (FAULT, True)

    def renewed(seconds: float) -> None:
        well.clock.pass_by(seconds)
        late = stamps.micros(well.clock.now() - 60)
        well.objects[healthy.LEASE]["spec"]["renewTime"] = late

    monkeypatch.setattr("cli.doctor.replicas.time.sleep", renewed)
    (first, _) = findings(well, "lease")
    assert (first.level, "s behind" in first.message) == (WARNING, True), first
