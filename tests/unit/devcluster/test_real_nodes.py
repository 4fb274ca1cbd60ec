"""Settings of real nodes, and the reasons where a machine cannot run them."""

import ipaddress
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster import options
from devcluster.components import control_plane
from devcluster.credentials.certificates import Pair
from devcluster.errors import MachineError
from devcluster.local.layout import Layout
from devcluster.options import ClusterOptions, RealNodes
from devcluster.programs.versions import REAL_NODE_PROGRAMS
from devcluster.real_nodes import (
    agents,
    conditions,
    control_groups,
    images,
    kubelet_config,
    mount_points,
    network,
    node,
    services,
)
from devcluster.real_nodes.network import GATEWAY, GATEWAY_CARD, MOST_NODES, NETWORK, RealNode
from devcluster.real_nodes.readiness import reported_ready
from shared.errors import InputError
from tests.unit.devcluster.programs import write_script

GIB = 2**30
PROGRAMS = {name: Path("/bin") / name for name in REAL_NODE_PROGRAMS}


# ---- names and addresses


def test_nodes_have_names_and_numbers_of_their_own() -> None:
    nodes = RealNodes(2, first=3)
    assert nodes.names() == ("real-0003", "real-0004")
    assert list(nodes.numbers()) == [3, 4]


def test_all_nodes_and_their_pods_have_different_addresses_in_our_network() -> None:
    nodes = [RealNode(f"real-{number}", number) for number in range(MOST_NODES)]
    assert len({one.address for one in nodes} | {one.pods for one in nodes}) == 2 * MOST_NODES
    assert len({one.card for one in nodes} | {GATEWAY_CARD}) == MOST_NODES + 1
    listing = [{"addr_info": [{"local": one.address} for one in nodes]}]
    assert len(network.addresses_in_the_way(json.dumps(listing))) == MOST_NODES
    assert max(len(one.link) for one in nodes) <= 15  # the kernel's IFNAMSIZ


def test_an_address_of_our_network_on_the_machine_is_a_conflict() -> None:
    listing = [
        {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
        {"ifname": "eth0", "addr_info": [{"local": "192.0.2.2"}, {"local": "198.18.7.7"}]},
        {"ifname": "down"},
    ]
    assert network.addresses_in_the_way(json.dumps(listing)) == ("198.18.7.7",)
    assert NETWORK.startswith("198.18.")


def test_pods_get_addresses_of_their_nodes_range_and_keep_them_on_the_way_out() -> None:
    one = RealNode("real-0001", 1)
    (plugin,) = node.pod_network(one)["plugins"]
    assert plugin["ipam"]["ranges"] == [[{"subnet": "198.18.2.0/24"}]]
    assert plugin["ipMasq"] is False


def test_the_name_server_has_the_address_of_the_pods_and_listens_on_the_bridge(
    tmp_path: Path,
) -> None:
    layout = Layout(tmp_path)
    server = services.dns_component(
        Path("/bin/coredns"), layout, Path("/kubeconfig"), port=5353, ready_port=8181
    )
    service, slice_, *_ = services.dns_manifests(5353)
    pair = Pair(tmp_path / "crt", tmp_path / "key")
    kubelet = kubelet_config.config(
        RealNodes(1, cpu="0", memory="0"), authority=Path("ca"), server=pair, node_grace_seconds=20
    )
    assert kubelet["clusterDNS"] == [service["spec"]["clusterIP"]]
    network_ = ipaddress.ip_network(control_plane.SERVICE_RANGE)
    assert ipaddress.ip_address(service["spec"]["clusterIP"]) in network_
    assert slice_["endpoints"][0]["addresses"] == [GATEWAY]
    assert {port["port"] for port in slice_["ports"]} == {5353}
    assert slice_["metadata"]["labels"] == {"kubernetes.io/service-name": "kube-dns"}
    corefile = Path(server.argv[-1]).read_text()
    assert corefile.startswith("cluster.local:5353 in-addr.arpa:5353 {")
    assert f"bind {GATEWAY}\n" in corefile


def test_a_service_proxy_leaves_the_machines_limits_as_they_are() -> None:
    one = RealNode("real-0001", 1)
    config = services.proxy_config(one, Path("/kubeconfig"))
    assert config["conntrack"]["maxPerCore"] == config["conntrack"]["min"] == 0
    assert config["hostnameOverride"] == "real-0001"
    assert services.proxy_probe(one).url == f"http://{config['healthzBindAddress']}/healthz"


def test_the_api_server_listens_where_real_nodes_reach_it(tmp_path: Path) -> None:
    programs = {name: Path("/bin") / name for name in control_plane.NAMES}
    layout = Layout(tmp_path)
    plan = control_plane.plan(programs, layout, ClusterOptions(), address=GATEWAY)
    server = plan.components["kube-apiserver"]
    assert plan.server.startswith(f"https://{GATEWAY}:")
    assert f"--bind-address={GATEWAY}" in server.argv
    assert f"--advertise-address={GATEWAY}" in server.argv
    assert "--endpoint-reconciler-type=lease" in server.argv
    assert server.probe is not None
    assert server.probe.url == f"{plan.server}/readyz"


def test_a_node_is_a_process_with_all_settings_in_its_environment(tmp_path: Path) -> None:
    layout, one = Layout(tmp_path), RealNode("real-0001", 1)
    files = [Path("/images/a.tar"), Path("/images/b.tar")]
    component = node.component(layout, one, PROGRAMS, Path("/kubeconfig"), files)
    assert component.argv == ("/bin/sh", str(node.SCRIPTS / "enter.sh"))
    assert component.environ[node.NUMBER] == "1"
    assert component.environ["NODE_IMAGES"] == "/images/a.tar /images/b.tar"
    assert component.environ["NODE_DIRECTORY"] == str(tmp_path / "real" / "real-0001")


def test_the_scripts_use_only_variables_that_a_node_gets(tmp_path: Path) -> None:
    given = node.component(Layout(tmp_path), RealNode("n", 0), PROGRAMS, Path(), []).environ
    scripts = "\n".join(file.read_text() for file in node.SCRIPTS.glob("*.sh"))
    used = set(re.findall(r"\$\{?(NODE_\w+)", scripts))
    assert "NODE_GROUPS" in used
    assert used <= set(given)


# ---- what a node offers


def test_resources_that_a_node_does_not_offer_are_reserved() -> None:
    nodes = RealNodes(2, cpu="1500m", memory="4Gi")
    reserved = kubelet_config.reserved(nodes, cores=2, total_bytes=16 * GIB)
    assert reserved == {"cpu": "500m", "memory": str(12 * GIB - 100 * 2**20)}


TOO_MUCH = {
    "cores": (RealNodes(1, cpu="3"), "'3' is not within the 2 of this machine"),
    "memory": (RealNodes(1, memory="16Gi"), "'16Gi' is not within the"),
}


@pytest.mark.parametrize(("nodes", "text"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_node_cannot_offer_more_than_the_machine_has(nodes: RealNodes, text: str) -> None:
    with pytest.raises(InputError, match=text):
        kubelet_config.reserved(nodes, cores=2, total_bytes=16 * GIB)


def test_the_machines_memory_is_read_in_bytes() -> None:
    text = "MemTotal:       24689800 kB\nMemFree:        18612092 kB\n"
    assert kubelet_config.memory_bytes(text) == 24689800 * 1024


def test_a_kubelet_accepts_only_certificates_of_the_cluster(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "crt", tmp_path / "key")
    config = kubelet_config.config(
        RealNodes(1, cpu="0", memory="0"),
        authority=tmp_path / "ca.crt",
        server=pair,
        node_grace_seconds=20,
    )
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authentication"]["x509"] == {"clientCAFile": str(tmp_path / "ca.crt")}
    assert config["authorization"] == {"mode": "Webhook"}
    assert config["nodeLeaseDurationSeconds"] == 16


# ---- when a node is up


def reported(ready: str, at: str, taint: str = "") -> dict[str, Any]:
    return {
        "spec": {"taints": [{"key": taint}] if taint else None},
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": at}],
        },
    }


SINCE = 1_700_000_000.0  # 2023-11-14T22:13:20Z
REPORTS = {
    "Ready, of this life": (reported("True", "2023-11-14T22:13:20Z"), True),
    "Ready, of its last life": (reported("True", "2023-11-14T22:13:19Z"), False),
    "not Ready": (reported("False", "2023-11-14T22:13:30Z"), False),
    "Ready, and still tainted": (
        reported("True", "2023-11-14T22:13:30Z", "node.kubernetes.io/not-ready"),
        False,
    ),
    "Ready, and cordoned": (
        reported("True", "2023-11-14T22:13:30Z", "node.kubernetes.io/unschedulable"),
        True,
    ),
    "nothing reported yet": ({"spec": {}, "status": {}}, False),
}


@pytest.mark.parametrize(("object_", "up"), REPORTS.values(), ids=REPORTS)
def test_a_node_is_up_once_it_reported_ready_after_its_start(
    object_: dict[str, Any], up: bool
) -> None:
    assert reported_ready(object_, SINCE) is up


# ---- the machine

HYBRID = """proc /proc proc rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""
UNIFIED = "cgroup2 /sys/fs/cgroup cgroup2 rw,relatime 0 0\n"


def test_control_groups_are_found_at_their_mount_points() -> None:
    base = Path("/sys/fs/cgroup")
    found = control_groups.hierarchies(HYBRID)
    assert found == (base / "cpu,cpuacct", base / "systemd", base / "unified")
    assert control_groups.version_1(HYBRID)
    assert control_groups.hierarchies(UNIFIED) == (base,)
    assert not control_groups.version_1(UNIFIED)


def test_only_created_mount_points_are_removed(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    places = [tmp_path / name for name in ("there", "made", "used")]
    places[0].mkdir()
    mount_points.make(record, places)
    mount_points.make(record, places)  # the second node
    (places[2] / "file").touch()
    mount_points.remove(record)
    assert [place.exists() for place in places] == [True, False, True]


def write_dpkg(directory: Path, *installed: str) -> None:
    lines = [f"{name} installed" for name in installed] + ["runc not-installed"]
    text = "\n".join(f"echo {line}" for line in lines)
    write_script(directory / "dpkg-query", text)


def test_packages_are_missing_unless_dpkg_lists_them_as_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dpkg(
        tmp_path, *(name for name in conditions.PACKAGES if name not in {"runc", "iproute2"})
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert conditions.missing() == ("iproute2", "runc")
    monkeypatch.setenv("PATH", "/does/not/exist")
    assert conditions.missing() == conditions.PACKAGES


@pytest.fixture
def root_without_runc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A machine that lacks a package; the list gets what is installed."""
    installed: list[tuple[str, ...]] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(conditions, "missing", lambda: () if installed else ("runc",))
    monkeypatch.setattr(conditions, "install", lambda names, _report: installed.append(names))
    monkeypatch.setattr(conditions, "succeeds", lambda *_argv: True)
    monkeypatch.setattr(control_groups, "version_1", lambda: True)
    monkeypatch.setattr(conditions, "_LOOP", tmp_path)
    return installed


def test_without_root_there_are_no_real_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert conditions.why_not({}) == ("you are not root",)


def test_missing_packages_are_named_with_the_command_that_installs_them(
    root_without_runc: list[tuple[str, ...]],
) -> None:
    (reason,) = conditions.why_not({})
    assert reason == (
        "Debian packages are missing: runc (`python -m devcluster install-real-nodes` or "
        "SHUNTYARD_INSTALL_PACKAGES=1 installs them)"
    )
    with pytest.raises(MachineError, match="no real nodes here: Debian packages are missing: runc"):
        conditions.require(print)
    assert root_without_runc == []


def test_packages_are_installed_if_the_environment_allows_it(
    root_without_runc: list[tuple[str, ...]],
) -> None:
    assert conditions.why_not({conditions.VARIABLE: "1"}) == ()
    assert root_without_runc == [("runc",)]


def test_a_machine_without_control_groups_of_version_1_gets_a_reason(
    root_without_runc: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "version_1", lambda: False)
    (reason,) = conditions.why_not({conditions.VARIABLE: "1"})
    assert reason.startswith("control groups are of version 2 only")


def test_real_nodes_are_requested_like_other_nodes() -> None:
    assert options.parse_node_counts("kwok:1,real:2") == {"kwok": 1, "real": 2}


# ---- agents


def test_agents_of_real_nodes_are_those_of_deploy_with_our_image_and_volume(
    tmp_path: Path,
) -> None:
    layout = Layout(tmp_path)
    layout.pki.mkdir()
    layout.authority.write_text("PEM")
    url = f"https://{GATEWAY}:1234"
    made = agents.manifests(
        layout, urls=[url], cores=1.5, settings={"sampling": {"source": "none"}}
    )
    by_kind = {one["kind"]: one for one in made if one["kind"] != "ConfigMap"}
    texts = {one["metadata"]["name"]: one["data"] for one in made if one["kind"] == "ConfigMap"}
    assert made[0]["kind"] == "Namespace"
    assert texts["shuntyard-ca"] == {"ca.crt": "PEM"}
    assert yaml.safe_load(texts["shuntyard-agent"]["agent.yaml"]) == {
        "extender": {"urls": [url]},
        "sampling": {"cores": 1.5, "source": "none"},
        "api": {"listen_host": "0.0.0.0"},  # where the kubelet probes
    }
    spec = by_kind["DaemonSet"]["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {node.LABEL: node.LABEL_VALUE}
    assert spec["containers"][0]["image"] == images.SHUNTYARD
    claims = [one["persistentVolumeClaim"] for one in spec["volumes"]
              if "persistentVolumeClaim" in one]  # fmt: skip
    assert claims == [{"claimName": by_kind["PersistentVolumeClaim"]["metadata"]["name"]}]
    place = by_kind["PersistentVolume"]["spec"]["hostPath"]["path"]
    assert place == str(layout.volume)


def test_a_directory_has_a_volume_for_each_claim(tmp_path: Path) -> None:
    volume, claim = agents.shared_volume("team", "data", tmp_path)
    assert volume["metadata"]["name"] == claim["spec"]["volumeName"] == "team-data"
    assert volume["spec"]["claimRef"] == claim["metadata"] == {"namespace": "team", "name": "data"}
    assert volume["spec"]["storageClassName"] == claim["spec"]["storageClassName"] == ""
