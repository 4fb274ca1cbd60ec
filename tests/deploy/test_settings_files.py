"""Our programs accept the shipped settings, and these fit the pods beside them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from pydantic import BaseModel

from agent.settings import AgentSettings
from extender.settings.extender import ExtenderSettings
from shared.settings import load
from tests.deploy.rendering import (
    DEPLOY,
    SETUPS,
    Setup,
    containers,
    every_setup,
    named,
    needs_kubectl,
    pod_of,
)

pytestmark = needs_kubectl

REFERENCE = DEPLOY.parent / "docs/reference"
Settings = TypeVar("Settings", bound=BaseModel)


def loaded(
    model: type[Settings], setup: Setup, workload: tuple[str, str], container: str, place: Path
) -> Settings:
    """Return the settings of a container, from its file and its environment."""
    kind, name = workload
    (text,) = named(setup, "ConfigMap", name)["data"].values()
    file = place / "settings.yaml"
    file.write_text(text)
    variables = containers(named(setup, kind, name))[container].get("env", [])
    environ = {
        one["name"]: one.get("value", "192.0.2.1") for one in variables
    }  # else: the pod's address
    return load(model, file, environ)


def of_extender(setup: Setup, place: Path) -> ExtenderSettings:
    return loaded(ExtenderSettings, setup, ("Deployment", "shuntyard-extender"), "extender", place)


def of_agent(setup: Setup, place: Path) -> AgentSettings:
    return loaded(AgentSettings, setup, ("DaemonSet", "shuntyard-agent"), "agent", place)


def seconds(probe: Mapping[str, Any]) -> float:
    return float(probe["periodSeconds"] * probe["failureThreshold"])


def mounted(workload: Mapping[str, Any], container: str, path: Path) -> tuple[Path, dict[str, Any]]:
    """Return the mount point and the volume in which a path of a container is."""
    mounts = containers(workload)[container]["volumeMounts"]
    place, name = max(
        (Path(one["mountPath"]), one["name"])
        for one in mounts
        if path.is_relative_to(one["mountPath"])
    )
    return place, next(one for one in pod_of(workload)["volumes"] if one["name"] == name)


@every_setup
def test_the_extender_takes_its_file_and_listens_where_its_pod_says(
    setup: Setup, tmp_path: Path
) -> None:
    settings = of_extender(setup, tmp_path)
    extender = containers(named(setup, "Deployment", "shuntyard-extender"))["extender"]
    ports = {one["name"]: one["containerPort"] for one in extender["ports"]}
    listening = {
        name: getattr(settings, name).listen_port
        for name in ("scheduler", "api", "agents")
        if getattr(settings, name).listen_host == "0.0.0.0"
    }
    assert ports == listening
    assert ("scheduler" in listening) == (settings.scheduler.client_authority is not None)


@every_setup
def test_the_agent_listens_where_its_probes_ask(setup: Setup, tmp_path: Path) -> None:
    api = of_agent(setup, tmp_path).api
    (port,) = containers(named(setup, "DaemonSet", "shuntyard-agent"))["agent"]["ports"]
    assert (api.listen_host, api.listen_port) == ("0.0.0.0", port["containerPort"])


@every_setup
def test_a_replica_has_time_to_begin_and_to_end(setup: Setup, tmp_path: Path) -> None:
    settings = of_extender(setup, tmp_path)
    deployment = named(setup, "Deployment", "shuntyard-extender")
    assert pod_of(deployment)["terminationGracePeriodSeconds"] > settings.health.drain_seconds
    for one in containers(deployment).values():
        assert seconds(one["startupProbe"]) > settings.certificates.wait_seconds


@every_setup
def test_the_paths_that_the_extender_reads_and_writes_are_mounted(
    setup: Setup, tmp_path: Path
) -> None:
    settings = of_extender(setup, tmp_path)
    deployment = named(setup, "Deployment", "shuntyard-extender")
    log = settings.decision_log
    assert log.directory is not None
    place, volume = mounted(deployment, "extender", log.directory)
    assert place == log.directory
    assert volume["emptyDir"]["sizeLimit"] == "1Gi"
    assert log.segments * log.segment_bytes < 2**30
    assert settings.agents.certificate is not None
    place, volume = mounted(deployment, "extender", settings.agents.certificate)
    assert settings.agents.key is not None
    assert {settings.agents.certificate.parent, settings.agents.key.parent} == {place}
    if settings.certificates.managed:
        assert place == settings.certificates.directory
        assert volume["emptyDir"]["medium"] == "Memory", "keys are on no disk"
    else:
        assert volume["secret"]["secretName"] == "shuntyard-tls"


@every_setup
def test_agents_ask_for_a_name_that_the_certificate_has(setup: Setup, tmp_path: Path) -> None:
    extender, agent = of_extender(setup, tmp_path), of_agent(setup, tmp_path)
    service = named(setup, "Service", "shuntyard-agents")
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    assert agent.extender.service == f"{name}.{namespace}.svc"
    assert service["spec"]["clusterIP"] == "None"
    assert agent.extender.port == service["spec"]["ports"][0]["port"]
    names: set[str] = set(extender.certificates.names)
    if not extender.certificates.managed:
        names = set(named(setup, "Certificate", "shuntyard-extender")["spec"]["dnsNames"])
    assert agent.extender.server_name in names
    assert names == set(ExtenderSettings().certificates.names)


@every_setup
def test_an_agent_is_who_the_extender_expects(setup: Setup, tmp_path: Path) -> None:
    extender, agent = of_extender(setup, tmp_path), of_agent(setup, tmp_path)
    daemons = named(setup, "DaemonSet", "shuntyard-agent")
    account = f"{daemons['metadata']['namespace']}:{pod_of(daemons)['serviceAccountName']}"
    assert extender.agents.accounts == (f"system:serviceaccount:{account}",)
    _, volume = mounted(daemons, "agent", agent.extender.token)
    (source,) = volume["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == extender.agents.audience
    assert agent.extender.token.name == source["serviceAccountToken"]["path"]
    place, volume = mounted(daemons, "agent", agent.extender.authority)
    assert agent.extender.authority == place / "ca.crt"
    map_name = extender.certificates.authority_config_map
    assert volume["configMap"] == {"name": map_name, "optional": True}
    assert extender.certificates.authority_namespaces == (daemons["metadata"]["namespace"],)
    (rule,) = named(setup, "Role", map_name)["rules"]
    assert (rule["resourceNames"], rule["verbs"]) == ([map_name], ["get", "patch"])
    published = extender.certificates.authority
    assert (published is None) == extender.certificates.managed
    if published is not None:
        place, volume = mounted(
            named(setup, "Deployment", "shuntyard-extender"), "extender", published
        )
        assert (published, "secret" in volume) == (place / "ca.crt", True)


def test_the_lease_is_kube_schedulers_or_our_own(tmp_path: Path) -> None:
    beside = of_extender(SETUPS["the base alone"], tmp_path).lease
    config = yaml.safe_load((DEPLOY / "base/scheduler.yaml").read_text())["leaderElection"]
    assert (beside.namespace, beside.name) == (config["resourceNamespace"], config["resourceName"])
    assert not beside.hold
    alone = of_extender(SETUPS["attached"], tmp_path)
    assert alone.lease.hold
    assert (alone.lease.namespace, alone.lease.name) != (beside.namespace, beside.name)
    role = named(SETUPS["attached"], "Role", "shuntyard-lease")
    assert role["metadata"]["namespace"] == alone.lease.namespace
    assert [one.get("resourceNames") for one in role["rules"]] == [None, [alone.lease.name]]
    assert alone.endpoint.service is not None
    for kind in ("Service", "EndpointSlice"):
        found = named(SETUPS["attached"], kind, alone.endpoint.service)
        assert "selector" not in found.get("spec", {})
        port = (found.get("ports") or found["spec"]["ports"])[0]
        assert (port["name"], port["port"]) == (alone.endpoint.port_name, 10261)


FILES = {
    "base/settings/extender.yaml": "settings.md",
    "base/settings/agent.yaml": "agent-settings.md",
    "overlays/attached/settings.yaml": "settings.md",
}


@pytest.mark.parametrize(("file", "page"), FILES.items(), ids=FILES)
def test_every_setting_that_is_shipped_is_on_the_page_and_is_no_default(
    file: str, page: str, tmp_path: Path
) -> None:
    text = (DEPLOY / file).read_text()
    assert f"docs/reference/{page}" in text
    parts = re.split(r"^## (\w+)\n", (REFERENCE / page).read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    model = ExtenderSettings if page == "settings.md" else AgentSettings
    defaults = model().model_dump(mode="json")
    for section, values in yaml.safe_load(text).items():
        for key, value in values.items():
            assert f"| `{key}` |" in sections[section]
            assert value != defaults[section][key] or key == "service", (section, key)
