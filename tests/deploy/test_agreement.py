"""Names, labels, ports and selectors of the manifests agree with each other and with the code."""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from cli import service
from devcluster.shuntyard import agents, extender_process
from extender.core.gating.decision import KEY
from extender.settings.listeners import ApiSection
from extender.settings.waiting_jobs import GatingSection
from shared import labels, signing_secret
from shared.kube.resources import OPTIONAL
from shared.model import Owner
from shared.readapi.answer import VIEWERS_ACCOUNT
from tests.deploy.rendering import (
    DEPLOY,
    SETUPS,
    Manifest,
    Setup,
    containers,
    every_setup,
    named,
    needs_kubectl,
    of_kind,
    rendered,
)

pytestmark = needs_kubectl

BUILT_IN = {
    ("ClusterRole", "system:kube-scheduler"),
    ("ClusterRole", "system:volume-scheduler"),
    ("Role", "extension-apiserver-authentication-reader"),
}
GENERATED = ("shuntyard-extender", "shuntyard-scheduler", "shuntyard-agent")
CRITICAL = {"Deployment": "system-cluster-critical", "DaemonSet": "system-node-critical"}
"""What lasts longer when a node is short of something: one for the cluster, one for its node."""


def selected(setup: Setup, namespace: str, wanted: Mapping[str, str]) -> list[Manifest]:
    """Return the workloads whose pods have these labels."""
    return [
        one
        for one in of_kind(setup, "Deployment", "DaemonSet")
        if one["metadata"]["namespace"] == namespace
        and wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items()
    ]


def port_names(workload: Manifest) -> set[str]:
    return {port["name"] for one in containers(workload).values() for port in one["ports"]}


@every_setup
def test_every_service_has_pods_behind_it_that_have_its_port(setup: Setup) -> None:
    for one in of_kind(setup, "Service"):
        if one["metadata"]["name"] == "shuntyard-scheduler":
            assert "selector" not in one["spec"], "who acts writes itself there"
            continue
        (workload,) = selected(setup, one["metadata"]["namespace"], one["spec"]["selector"])
        ports = {port["targetPort"] for port in one["spec"]["ports"]}
        assert ports <= port_names(workload)


@every_setup
def test_budgets_and_workloads_select_exactly_their_own_pods(setup: Setup) -> None:
    for one in of_kind(setup, "PodDisruptionBudget", "Deployment", "DaemonSet"):
        wanted = one["spec"]["selector"]["matchLabels"]
        (workload,) = selected(setup, one["metadata"]["namespace"], wanted)
        if one["kind"] == "PodDisruptionBudget":
            assert one["spec"]["maxUnavailable"] < workload["spec"]["replicas"]
        else:
            assert workload == one


@every_setup
def test_no_policy_closes_a_port_in_use(setup: Setup) -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(setup, "NetworkPolicy")}
    for one in of_kind(setup, "NetworkPolicy"):
        wanted = one["spec"]["podSelector"]["matchLabels"]
        (workload,) = selected(setup, one["metadata"]["namespace"], wanted)
        opened = {port["port"] for rule in one["spec"]["ingress"] for port in rule["ports"]}
        closed = {"metrics"}  # kube-scheduler's own
        assert opened == port_names(workload) - closed
    (first, *_) = policies["shuntyard-agent"]["egress"]
    (peer,) = first["to"]
    namespace = peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
    (extender,) = selected(setup, namespace, peer["podSelector"]["matchLabels"])
    ports = {one["name"]: one["containerPort"] for one in containers(extender)["extender"]["ports"]}
    assert [one["port"] for one in first["ports"]] == [ports["agents"]]
    callers = [
        rule["from"]
        for rule in policies["shuntyard-extender"]["ingress"]
        if rule["ports"] == [{"port": "agents"}]
    ]
    ((caller,),) = callers
    namespace = caller["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
    (agent,) = selected(setup, namespace, caller["podSelector"]["matchLabels"])
    assert agent["kind"] == "DaemonSet"


@every_setup
def test_probes_ask_ports_that_their_pod_has(setup: Setup) -> None:
    deployment = named(setup, "Deployment", "shuntyard-extender")
    ports = {
        port["name"]: port["containerPort"]
        for one in containers(deployment).values()
        for port in one["ports"]
    }
    for name, one in containers(deployment).items():
        own = {port["name"] for port in one["ports"]}
        asked = {probe: one[probe]["httpGet"] for probe in one if probe.endswith("Probe")}
        assert asked.keys() == {"startupProbe", "livenessProbe", "readinessProbe"}
        for probe in asked.values():
            assert probe["port"] in own or probe["port"] in ports.values()
        life = asked["livenessProbe"]
        assert life["path"] == "/livez"
        assert ports.get(life["port"], life["port"]) == ports["api"], f"{name}: the extender's life"
    for one in containers(named(setup, "DaemonSet", "shuntyard-agent")).values():
        asked = {probe: one[probe]["httpGet"] for probe in one if probe.endswith("Probe")}
        assert asked["startupProbe"] == asked["livenessProbe"] == {"path": "/livez", "port": "api"}
        assert asked["readinessProbe"] == {"path": "/readyz", "port": "api"}
        assert [port["name"] for port in one["ports"]] == ["api"]


@every_setup
def test_every_binding_gives_a_role_that_is_there_to_an_account_that_is_there(setup: Setup) -> None:
    roles = {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in of_kind(setup, "Role", "ClusterRole")
    }
    accounts = {
        (one["metadata"]["namespace"], one["metadata"]["name"])
        for one in of_kind(setup, "ServiceAccount")
    }
    bound = set()
    for one in of_kind(setup, "RoleBinding", "ClusterRoleBinding"):
        kind, name = one["roleRef"]["kind"], one["roleRef"]["name"]
        namespace = one["metadata"].get("namespace") if kind == "Role" else None
        assert (kind, namespace, name) in roles or (kind, name) in BUILT_IN
        bound.add((kind, namespace, name))
        for subject in one["subjects"]:
            if subject["kind"] == "User":
                assert subject["name"] == "system:kube-scheduler", "who runs it elsewhere"
            else:
                assert (subject["namespace"], subject["name"]) in accounts
    unbound = roles - bound
    for_users = ("shuntyard-viewer", "shuntyard-team-viewer")
    assert unbound == {("Role", "shuntyard-system", name) for name in for_users}, (
        "bound by the user"
    )


@every_setup
def test_rights_to_single_maps_and_secrets_are_to_those_that_are_shipped(setup: Setup) -> None:
    there = {
        (one["kind"].lower() + "s", one["metadata"]["namespace"], one["metadata"]["name"])
        for one in of_kind(setup, "ConfigMap", "Secret")
    }
    for role in of_kind(setup, "Role"):
        for rule in role["rules"]:
            for resource in {"configmaps", "secrets"} & set(rule["resources"]):
                for name in rule["resourceNames"]:
                    assert (resource, role["metadata"]["namespace"], name) in there


def test_the_policy_reads_what_the_extender_writes() -> None:
    trial = SETUPS["a trial"]
    settings = named(trial, "ConfigMap", "shuntyard-extender")
    section = yaml.safe_load(settings["data"]["extender.yaml"])["gating"]
    reference = named(trial, "MutatingAdmissionPolicyBinding", "shuntyard-gate")["spec"]["paramRef"]
    assert reference["name"] == section["config_map"]
    assert reference["namespace"] == GatingSection().namespace
    assert (
        named(trial, "ConfigMap", reference["name"])["metadata"]["namespace"]
        == (reference["namespace"])
    )
    policy = named(trial, "MutatingAdmissionPolicy", "shuntyard-gate")["spec"]
    expressions = [one["expression"] for one in policy["matchConditions"]]
    assert any(f'params.data["{KEY}"] != "false"' in one for one in expressions)
    assert any(labels.CHECKPOINT in one for one in expressions)


@every_setup
def test_only_pods_name_a_generated_config_map(setup: Setup) -> None:
    """kustomize puts the hash wherever a ConfigMap may be named: also into rules of Roles."""
    maps = {one["metadata"]["name"] for one in of_kind(setup, "ConfigMap")}
    hashed = {one for one in maps if re.fullmatch(f"({'|'.join(GENERATED)})-[a-z0-9]{{10}}", one)}
    assert len(hashed) == len(GENERATED) - ("overlays/attached" in setup.resources)
    rest = [one for one in rendered(setup) if one["kind"] not in {*CRITICAL, "ConfigMap"}]
    text = yaml.safe_dump_all(rest)
    assert not [name for name in hashed if name in text]


@every_setup
def test_our_pods_are_critical_and_the_extenders_are_apart(setup: Setup) -> None:
    for one in of_kind(setup, *CRITICAL):
        spec = one["spec"]["template"]["spec"]
        assert spec["priorityClassName"] == CRITICAL[one["kind"]]
    spec = named(setup, "Deployment", "shuntyard-extender")["spec"]
    apart = spec["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = apart["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == labels.HOSTNAME_LABEL
    assert term["podAffinityTerm"]["labelSelector"] == spec["selector"]
    assert spec["replicas"] == 2


@every_setup
def test_requests_of_ours_have_a_line_of_their_own_at_the_api_server(setup: Setup) -> None:
    account = {"name": extender_process.ACCOUNT, "namespace": extender_process.NAMESPACE}
    levels = {}
    for one in of_kind(setup, "FlowSchema"):
        (rule,) = one["spec"]["rules"]
        assert [subject["serviceAccount"] for subject in rule["subjects"]] == [account]
        levels[one["spec"]["priorityLevelConfiguration"]["name"]] = one["spec"][
            "matchingPrecedence"
        ]
    assert levels["leader-election"] < levels["workload-high"] < 900, "before any account's"


def test_the_command_asks_the_service_that_is_shipped() -> None:
    base = SETUPS["the base alone"]
    wanted = service.parse(service.DEFAULT_SERVICE)
    found = named(base, "Service", wanted.name)
    assert found["metadata"]["namespace"] == wanted.namespace
    assert wanted.port in {port["name"] for port in found["spec"]["ports"]}
    proxy, token = named(base, "Role", "shuntyard-viewer")["rules"]
    assert wanted.key in proxy["resourceNames"]
    assert (token["resources"], token["verbs"]) == (["serviceaccounts/token"], ["create"])
    assert token["resourceNames"] == [VIEWERS_ACCOUNT]
    assert named(base, "Role", "shuntyard-team-viewer")["rules"] == [proxy]


def test_the_viewers_account_is_there_and_no_binding_gives_it_a_right() -> None:
    """Every holder of the Role may act as it (defect A3): nor by the groups that it is in."""
    account = named(SETUPS["the base alone"], "ServiceAccount", VIEWERS_ACCOUNT)
    namespace = account["metadata"]["namespace"]
    assert account["automountServiceAccountToken"] is False
    assert f"system:serviceaccount:{namespace}:{VIEWERS_ACCOUNT}" in ApiSection().viewer_accounts
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{namespace}"}
    for setup in SETUPS.values():
        for one in (*of_kind(setup, "RoleBinding"), *of_kind(setup, "ClusterRoleBinding")):
            for subject in one.get("subjects", ()):
                assert subject["name"] not in {VIEWERS_ACCOUNT, *groups}, one["metadata"]["name"]


def test_prometheus_finds_the_service_and_may_ask() -> None:
    everything = SETUPS["everything"]
    (monitor,) = of_kind(everything, "ServiceMonitor")
    found = [
        one
        for one in of_kind(everything, "Service")
        if monitor["spec"]["selector"]["matchLabels"].items()
        <= one["metadata"].get("labels", {}).items()
    ]
    assert [one["metadata"]["name"] for one in found] == ["shuntyard-extender"]
    ports = {port["name"] for port in found[0]["spec"]["ports"]}
    assert {one["port"] for one in monitor["spec"]["endpoints"]} <= ports
    (pods,) = of_kind(everything, "PodMonitor")
    wanted = pods["spec"]["selector"]["matchLabels"]
    (workload,) = selected(everything, pods["metadata"]["namespace"], wanted)
    assert {one["port"] for one in pods["spec"]["podMetricsEndpoints"]} <= port_names(workload)


def test_the_gate_is_ours_and_for_our_scheduler() -> None:
    trial = SETUPS["a trial"]
    (policy,) = of_kind(trial, "MutatingAdmissionPolicy")
    (binding,) = of_kind(trial, "MutatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    expressions = {one["name"]: one["expression"] for one in policy["spec"]["matchConditions"]}
    assert f'"{labels.SCHEDULER_NAME}"' in expressions["names-our-scheduler"]
    (mutation,) = policy["spec"]["mutations"]
    for text in (expressions["is-not-gated-yet"], mutation["applyConfiguration"]["expression"]):
        assert f'name: "{labels.GATE}"' in text or f'name == "{labels.GATE}"' in text
    assert policy["spec"]["failurePolicy"] == "Ignore", "pods without the gate are planned, too"


def test_the_devcluster_means_the_same_names() -> None:
    base = SETUPS["the base alone"]
    daemons = named(base, "DaemonSet", agents.NAME)
    assert daemons["metadata"]["namespace"] == agents.NAMESPACE
    named(base, "ConfigMap", agents.AUTHORITY)
    account = named(base, "ServiceAccount", extender_process.ACCOUNT)
    assert account["metadata"]["namespace"] == extender_process.NAMESPACE
    deployments = [one for one in rendered(base) if one["kind"] == "Deployment"]
    spec = deployments[0]["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] == extender_process.STOP_SECONDS


def rules_of(document: str) -> Iterator[tuple[str, str]]:
    """Yield the line before each rule of a role, and the rule's first line."""
    lines = document.splitlines()
    inside = False
    for before, line in itertools.pairwise(lines):
        inside = line == "rules:" or (inside and not re.match(r"\w", line))
        if inside and line.startswith("- apiGroups:"):
            yield before, line


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("*/**/*.yaml")), ids=lambda one: one.name)
def test_every_right_says_whose_it_is(file: Path) -> None:
    """A comment on each rule, or one on a role that has a single duty."""
    for document in file.read_text().split("\n---\n"):
        if not re.search(r"^kind: (Cluster)?Role$", document, re.MULTILINE):
            continue
        if document.startswith("#"):
            continue
        bare = [line for before, line in rules_of(document) if not before.startswith("#")]
        assert bare == [], document.splitlines()[:5]


def test_the_policy_reserves_every_key_of_ours_for_the_extenders_account() -> None:
    base = SETUPS["the base alone"]
    (policy,) = of_kind(base, "ValidatingAdmissionPolicy")
    (binding,) = of_kind(base, "ValidatingAdmissionPolicyBinding")
    assert binding["spec"] == {
        "policyName": policy["metadata"]["name"],
        "validationActions": ["Deny"],
    }
    variables = {one["name"]: one["expression"] for one in policy["spec"]["variables"]}
    assert set(re.findall(r'"([^"]+)"', variables["keys"])) == labels.RESERVED
    others, changing = policy["spec"]["matchConditions"]
    account = f"{extender_process.NAMESPACE}:{extender_process.ACCOUNT}"
    assert others["name"] == "is-not-the-extender", "docs/our-keys.md patches it"
    assert others["expression"].endswith(f' != "system:serviceaccount:{account}"')
    assert set(re.findall(r'"(shuntyard.io/[^"]+)"', changing["expression"])) == labels.RESERVED
    secret = named(base, "Secret", signing_secret.NAME)
    assert "data" not in secret, "applying it again must leave the keys alone"


def test_the_policy_looks_at_every_kind_of_owner_that_is_read() -> None:
    (policy,) = of_kind(SETUPS["the base alone"], "ValidatingAdmissionPolicy")
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    looked_at = {
        f"{resource}.{group}"
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    owners = {kind.resource for kind in OPTIONAL if kind.kind == Owner.__name__}
    assert owners <= looked_at
    assert {"jobs.batch", "statefulsets.apps", "migrations.shuntyard.io"} <= looked_at
